#include "wine.h"

#include "d3d12_slots.h"

namespace wine {

namespace {

/// Puts another function into an object's vtable, which all objects of its class share.
void replace_method(void* object, size_t slot, void* method) {
    void** entry = *static_cast<void***>(object) + slot;
    DWORD before;
    if (!VirtualProtect(entry, sizeof *entry, PAGE_READWRITE, &before)) {
        throw protocol::Fault("a method cannot be replaced: " + last_error());
    }
    *entry = method;
    VirtualProtect(entry, sizeof *entry, before, &before);
}

HRESULT STDMETHODCALLTYPE interface_is_supported(IDXGIAdapter*, REFGUID, LARGE_INTEGER* driver_version) {
    if (driver_version) driver_version->QuadPart = 0x0020'0000'0001'0001;  // 32.0.1.1: some driver of the year 2024
    return S_OK;
}

HRESULT STDMETHODCALLTYPE no_metacommands(ID3D12Device5*, UINT* count, D3D12_META_COMMAND_DESC*) {
    if (count) *count = 0;
    return S_OK;
}

// A place in the vtable of IDXGIAdapter: the methods of what it inherits from come first.
constexpr size_t check_interface_support = 9;

}  // namespace

std::string version() {
    using GetVersion = const char* __cdecl();
    const FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version");
    return found ? reinterpret_cast<GetVersion*>(reinterpret_cast<void*>(found))() : "";
}

void answer_interface_support(IDXGIAdapter1* adapter) {
    LARGE_INTEGER driver_version;
    if (FAILED(adapter->CheckInterfaceSupport(__uuidof(IDXGIDevice), &driver_version))) {
        replace_method(adapter, check_interface_support, reinterpret_cast<void*>(interface_is_supported));
    }
}

void answer_metacommands(ID3D12Device* device) {
    Com<ID3D12Device5> newer;
    UINT count = 0;
    if (FAILED(device->QueryInterface(__uuidof(ID3D12Device5), newer.out()))) return;
    if (FAILED(newer->EnumerateMetaCommands(&count, nullptr))) {
        replace_method(newer.get(), slot_enumerate_metacommands, reinterpret_cast<void*>(no_metacommands));
    }
}

bool describe(HMODULE d3d12, ID3D12Device* device, VulkanDevice& out) {
    using Describe = void WINAPI(ID3D12Device*, VulkanDevice*);
    const FARPROC found = GetProcAddress(d3d12, "DescribeVulkanDevice");
    if (!found) return false;
    reinterpret_cast<Describe*>(reinterpret_cast<void*>(found))(device, &out);
    return true;
}

}  // namespace wine
