#!/bin/sh
# Runs the host, or the program that DMLCTS_PROGRAM names, under Wine, headless, on Mesa's software adapter. Host, vkd3dn.dll with its x86_64-unix folder, and DirectML.dll lie beside
# this script, where they are put by the build. Arguments go to the host.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export WINEPREFIX="${WINEPREFIX:-${HOME:?}/.wine-dmlcts}" WINEDLLPATH="$here" WINEDEBUG="${WINEDEBUG:--all}"
export WINEDLLOVERRIDES="mscoree,mshtml,winedbg.exe=" VKD3D_DEBUG="${VKD3D_DEBUG:-none}" VKD3D_SHADER_DEBUG="${VKD3D_SHADER_DEBUG:-none}"
if [ -z "${VK_DRIVER_FILES:-}" ]; then
    for driver in /usr/share/vulkan/icd.d/lvp_icd*.json; do export VK_DRIVER_FILES="$driver"; done
fi
unset DISPLAY WAYLAND_DISPLAY
if [ ! -e "$WINEPREFIX/dmlcts-ready" ]; then
    # Neither a window system nor Wine's own Direct3D is wanted. Standard output is for frames: nobody else may write to it.
    {
        wineboot -i
        wine reg add 'HKCU\Software\Wine\Drivers' /v Graphics /d null /f
        wine reg add 'HKCU\Software\Wine\Direct3D' /v renderer /d no3d /f
        # Until all of it is on disk. Debian keeps wineserver where no PATH leads.
        PATH="$PATH:/usr/lib/x86_64-linux-gnu/wine:/usr/lib/wine" wineserver -w || sleep 5
    } </dev/null >&2
    : >"$WINEPREFIX/dmlcts-ready"
fi
exec wine "${DMLCTS_PROGRAM:-$here/dmlcts-directml-host.exe}" "$@"
