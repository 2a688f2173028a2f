#!/bin/sh
# Builds the client and the capture DLL with mingw-w64, on a system that has the packages of the host's packages.txt.
set -eu
sources=${1:?usage: make.sh SOURCES HOST TABLES OUT}
host=${2:?usage: make.sh SOURCES HOST TABLES OUT}
tables=${3:?usage: make.sh SOURCES HOST TABLES OUT}
out=${4:?usage: make.sh SOURCES HOST TABLES OUT}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$sources" -B "$work" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$host/cmake/mingw-w64.cmake" -DHOST="$host" -DTABLES="$tables"
cmake --build "$work"
cmake --install "$work" --prefix "$out" --strip
