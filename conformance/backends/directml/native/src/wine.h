// What has to be worked around under Wine, and only there.
#pragma once

#include "windows_api.h"

namespace wine {

/// Wine's version, empty on Windows.
std::string version();

/// DirectML asks an adapter for the version of its driver (CheckInterfaceSupport), and Wine's null graphics driver refuses to say.
void answer_interface_support(IDXGIAdapter1* adapter);

/// DirectML gives up on a device that cannot enumerate metacommands. vkd3d's says that it does not implement that; here it says
/// that there are none.
void answer_metacommands(ID3D12Device* device);

/// What the DLL that stands in for d3d12.dll says of the Vulkan device behind it.
struct VulkanDevice {
    char name[256];
    char driver[512];
    int software;
};

/// False where the DLL says nothing, as any other d3d12.dll.
bool describe(HMODULE d3d12, ID3D12Device* device, VulkanDevice& out);

}  // namespace wine
