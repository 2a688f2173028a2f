#!/bin/sh
# Builds vkd3dn.dll into the folder OUT: OUT/vkd3dn.dll, which Wine looks for, and OUT/x86_64-unix/vkd3dn.dll.so, which it then loads
# if WINEDLLPATH names OUT. Needs gcc, wine64-tools, libwine-dev, libvkd3d-dev and libvulkan-dev.
set -eu
out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/x86_64-unix"
gcc -O2 -fPIC -Wall -Wextra -Wno-unused-parameter -I/usr/include/vkd3d -c "$here/vkd3dn.c" -o "$work/vkd3dn.o"
winegcc -m64 -shared "$here/vkd3dn.spec" "$work/vkd3dn.o" -o "$out/x86_64-unix/vkd3dn.dll.so" -lvkd3d -lvulkan -lkernel32
winebuild -m64 --fake-module --dll -E "$here/vkd3dn.spec" -F vkd3dn.dll -o "$out/vkd3dn.dll"
