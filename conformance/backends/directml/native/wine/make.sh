#!/bin/sh
# Builds all that lies beside run.sh, from the sources in SOURCES into OUT: host, vkd3dn.dll, run.sh. Needs the packages of packages.txt.
set -eu
sources=${1:?usage: make.sh SOURCES OUT}
out=${2:?usage: make.sh SOURCES OUT}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cmake -S "$sources" -B "$work" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$sources/cmake/mingw-w64.cmake" -DBUILD_TESTING=OFF
cmake --build "$work"
sh "$sources/wine/build.sh" "$out"
cp "$work/dmlcts-directml-host.exe" "$sources/wine/run.sh" "$out/"
