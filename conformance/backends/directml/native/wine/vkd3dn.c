/* vkd3dn.dll: native libvkd3d as a d3d12.dll for programs under Wine. A winelib DLL.
 *
 * Wine's own d3d12.dll has a vkd3d without DXIL, which DirectML's shaders need. Native libvkd3d's COM methods have the calling
 * convention of Windows, so that a Windows program can call them as they are: only functions have to be exported here, and what the
 * library wants from its surroundings (threads, events) has to be Wine's.
 *
 * Wine's headers and vkd3d's define the same names: what is needed of Wine is declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vkd3d.h>

#define WINDOWS __attribute__((ms_abi))
#define EXPORT __attribute__((visibility("default"))) WINDOWS

/* kernel32 */
extern WINDOWS void *CreateThread(void *security, size_t stack, WINDOWS uint32_t (*start)(void *), void *data, uint32_t flags,
                                  uint32_t *id);
extern WINDOWS uint32_t WaitForSingleObject(void *handle, uint32_t milliseconds);
extern WINDOWS int CloseHandle(void *handle);
extern WINDOWS int SetEvent(void *event);
extern WINDOWS void *GetProcessHeap(void);
extern WINDOWS void *HeapAlloc(void *heap, uint32_t flags, size_t size);
extern WINDOWS int HeapFree(void *heap, uint32_t flags, void *memory);

static HRESULT signal_event(HANDLE event)
{
    return SetEvent(event) ? S_OK : E_FAIL;
}

struct thread
{
    PFN_vkd3d_thread main;
    void *data;
    void *handle;
};

static WINDOWS uint32_t run_thread(void *data)
{
    struct thread *thread = data;

    thread->main(thread->data);
    return 0;
}

/* A thread of Wine's, since vkd3d signals events on it and only such a thread can call Wine. */
static void *create_thread(PFN_vkd3d_thread main, void *data)
{
    struct thread *thread = HeapAlloc(GetProcessHeap(), 0, sizeof(*thread));

    if (!thread)
        return NULL;
    thread->main = main;
    thread->data = data;
    thread->handle = CreateThread(NULL, 8u << 20, run_thread, thread, 0, NULL);
    if (thread->handle)
        return thread;
    HeapFree(GetProcessHeap(), 0, thread);
    return NULL;
}

static HRESULT join_thread(void *handle)
{
    struct thread *thread = handle;

    WaitForSingleObject(thread->handle, 0xffffffff);
    CloseHandle(thread->handle);
    HeapFree(GetProcessHeap(), 0, thread);
    return S_OK;
}

/* The device has to have the adapter's LUID, by which DirectML looks for the adapter. DXGI_ADAPTER_DESC: 128 WCHARs, four UINTs,
 * three SIZE_Ts, the LUID. */
static LUID adapter_luid(void *adapter)
{
    typedef WINDOWS HRESULT (*get_desc)(void *adapter, void *desc);
    struct
    {
        uint16_t description[128];
        uint32_t ids[4];
        uint64_t memory[3];
        LUID luid;
    } desc;
    void **vtable = adapter ? *(void ***)adapter : NULL;

    memset(&desc, 0, sizeof(desc));
    if (vtable)
        ((get_desc)vtable[8])(adapter, &desc);
    return desc.luid;
}

static HRESULT STDMETHODCALLTYPE no_metacommands(ID3D12Device9 *device, UINT *count, D3D12_META_COMMAND_DESC *descs)
{
    (void)device;
    (void)descs;
    if (count)
        *count = 0;
    return S_OK;
}

/* Puts another method into a vtable. vkd3d's are constant: the page has to be made writable, and Windows' VirtualProtect knows nothing of
 * native memory. Zero if that fails. Exported for whoever wants to see what a program does with its objects. */
EXPORT int replace_method(void **entry, void *method)
{
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)entry & ~(page - 1));

    if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return 0;
    *entry = method;
    return 1;
}

/* DirectML gives up on a device that cannot enumerate metacommands, and vkd3d has not implemented that. */
static void answer_metacommands(ID3D12Device9 *device)
{
    if (!replace_method((void **)&device->lpVtbl->EnumerateMetaCommands, no_metacommands))
        fprintf(stderr, "vkd3dn: the vtable cannot be made writable\n");
}

EXPORT HRESULT create_device(void *adapter, D3D_FEATURE_LEVEL minimum, const GUID *iid, void **device)
{
    const struct vkd3d_instance_create_info instance =
    {
        .type = VKD3D_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pfn_signal_event = signal_event,
        .pfn_create_thread = create_thread,
        .pfn_join_thread = join_thread,
        .wchar_size = 2, /* Windows' WCHAR, not Linux's */
    };
    const struct vkd3d_device_create_info info =
    {
        .type = VKD3D_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .minimum_feature_level = minimum,
        .instance_create_info = &instance,
        .adapter_luid = adapter_luid(adapter),
    };
    HRESULT hr = vkd3d_create_device(&info, iid, device);

    if (SUCCEEDED(hr) && device && *device)
        answer_metacommands(*device);
    return hr;
}

/* What runs behind the device, which DXGI cannot know. */
struct vulkan_device
{
    char name[256];
    char driver[512];
    int software;
};

EXPORT void describe_vulkan_device(ID3D12Device *device, struct vulkan_device *out)
{
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};

    vkGetPhysicalDeviceProperties2(vkd3d_get_vk_physical_device(device), &properties);
    snprintf(out->name, sizeof(out->name), "%s", properties.properties.deviceName);
    snprintf(out->driver, sizeof(out->driver), "%s %s", driver.driverName, driver.driverInfo);
    out->software = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}
