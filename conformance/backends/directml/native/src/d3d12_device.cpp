#include "d3d12_device.h"

#include <algorithm>

#include "guard.h"

namespace {

constexpr uint64_t placement = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT;
constexpr uint64_t first_heap = 16u << 20, first_mapped = 1u << 20;
constexpr uint32_t first_descriptors = 256;

uint64_t round_up(uint64_t size, uint64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

D3D12_RESOURCE_DESC buffer_desc(uint64_t size, D3D12_RESOURCE_FLAGS flags) {
    D3D12_RESOURCE_DESC desc{};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = std::max<uint64_t>(round_up(size, 4), 4);  // shaders see a buffer in units of four bytes
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    desc.Flags = flags;
    return desc;
}

std::string version_text(LARGE_INTEGER version) {
    return std::to_string(HIWORD(version.HighPart)) + "." + std::to_string(LOWORD(version.HighPart)) + "." +
           std::to_string(HIWORD(version.LowPart)) + "." + std::to_string(LOWORD(version.LowPart));
}

}  // namespace

D3d12Device::D3d12Device(const Options& options) {
    guard::doing("making the D3D12 device");
    d3d12_ = LoadLibraryW(wide(options.d3d12).c_str());
    if (!d3d12_) throw protocol::Fault(options.d3d12 + " cannot be loaded: " + last_error());
    open_adapter(options);
    auto* create = function<decltype(D3D12CreateDevice)>(d3d12_, "D3D12CreateDevice", options.d3d12);
    need(create(adapter_.get(), D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), device_.out()), "D3D12CreateDevice");
    if (!wine::version().empty()) {
        wine::answer_metacommands(device_.get());
        wine::VulkanDevice vulkan;
        if (wine::describe(d3d12_, device_.get(), vulkan)) {
            name = vulkan.name;
            driver = vulkan.driver;
            software_under_wine = vulkan.software != 0;
        }
    }

    D3D12_COMMAND_QUEUE_DESC queue{};
    queue.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
    need(device_->CreateCommandQueue(&queue, __uuidof(ID3D12CommandQueue), queue_.out()), "CreateCommandQueue");
    need(device_->CreateCommandAllocator(queue.Type, __uuidof(ID3D12CommandAllocator), allocator_.out()), "CreateCommandAllocator");
    need(device_->CreateCommandList(0, queue.Type, allocator_.get(), nullptr, __uuidof(ID3D12GraphicsCommandList), list_.out()),
         "CreateCommandList");
    need(device_->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence_.out()), "CreateFence");
    done_ = CreateEventW(nullptr, FALSE, FALSE, nullptr);
    if (!done_) throw protocol::Fault("CreateEvent failed: " + last_error());
    descriptor_size_ = device_->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
}

D3d12Device::~D3d12Device() {
    if (done_) CloseHandle(done_);
}

void D3d12Device::open_adapter(const Options& options) {
    Com<IDXGIFactory4> factory;
    need(CreateDXGIFactory1(__uuidof(IDXGIFactory4), factory.out()), "CreateDXGIFactory1");
    if (options.warp) {
        need(factory->EnumWarpAdapter(__uuidof(IDXGIAdapter1), adapter_.out()), "EnumWarpAdapter");
    } else {
        const UINT number = options.adapter.value_or(0);
        if (FAILED(factory->EnumAdapters1(number, reinterpret_cast<IDXGIAdapter1**>(adapter_.out())))) {
            throw protocol::Fault("there is no adapter " + std::to_string(number));
        }
    }
    if (!wine::version().empty()) wine::answer_interface_support(adapter_.get());
    DXGI_ADAPTER_DESC1 desc;
    need(adapter_->GetDesc1(&desc), "GetDesc1");
    name = utf8(desc.Description);
    LARGE_INTEGER version;
    if (SUCCEEDED(adapter_->CheckInterfaceSupport(__uuidof(IDXGIDevice), &version))) driver = version_text(version);
}

void D3d12Device::record_again() {
    if (recording_) list_->Close();
    recording_ = false;
    need(allocator_->Reset(), "ID3D12CommandAllocator::Reset");
    need(list_->Reset(allocator_.get(), nullptr), "ID3D12GraphicsCommandList::Reset");
    recording_ = true;
}

void D3d12Device::begin() {
    record_again();
    if (heaps_.size() > 1) {  // one of the size of all, so that requests like the last one find room in it
        uint64_t total = 0;
        for (const Heap& heap : heaps_) total += heap.size;
        heaps_.clear();
        add_heap(total);
    }
    for (Heap& heap : heaps_) heap.used = 0;
}

void D3d12Device::submit() {
    recording_ = false;
    guard::doing("execution");
    need(list_->Close(), "ID3D12GraphicsCommandList::Close");
    ID3D12CommandList* lists[] = {list_.get()};
    queue_->ExecuteCommandLists(1, lists);
    need(finish(queue_.get()), "execution: the device was removed, which");
}

ID3D12CommandQueue* D3d12Device::queue(D3D12_COMMAND_LIST_TYPE type) {
    if (type == D3D12_COMMAND_LIST_TYPE_DIRECT) return queue_.get();
    if (!compute_queue_) {
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = type;
        need(device_->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), compute_queue_.out()), "CreateCommandQueue");
    }
    return compute_queue_.get();
}

HRESULT D3d12Device::finish(ID3D12CommandQueue* queue) {
    need(queue->Signal(fence_.get(), ++fence_value_), "ID3D12CommandQueue::Signal");
    HRESULT reason = removed_reason();
    while (SUCCEEDED(reason) && fence_->GetCompletedValue() < fence_value_) {
        need(fence_->SetEventOnCompletion(fence_value_, done_), "SetEventOnCompletion");
        WaitForSingleObject(done_, 1000);  // not for ever: a device that is removed need not signal
        reason = removed_reason();
    }
    return SUCCEEDED(reason) ? removed_reason() : reason;
}

void D3d12Device::add_heap(uint64_t size) {
    D3D12_HEAP_DESC desc{};
    desc.SizeInBytes = std::max(round_up(size, placement), first_heap);
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    Heap heap{{}, desc.SizeInBytes, 0};
    need(device_->CreateHeap(&desc, __uuidof(ID3D12Heap), heap.heap.out()), "CreateHeap");
    heaps_.push_back(std::move(heap));
}

Com<ID3D12Resource> D3d12Device::buffer(uint64_t size) {
    // Placed, because a buffer's own size is what a binding is checked against: a larger one could not stand in for it.
    const D3D12_RESOURCE_DESC desc = buffer_desc(size, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    const uint64_t taken = round_up(desc.Width, placement);
    const auto fits = [&](const Heap& heap) { return heap.size - heap.used >= taken; };
    auto heap = std::find_if(heaps_.begin(), heaps_.end(), fits);
    if (heap == heaps_.end()) {
        add_heap(taken);
        heap = heaps_.end() - 1;
    }
    Com<ID3D12Resource> made;
    need(device_->CreatePlacedResource(heap->heap.get(), heap->used, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                       __uuidof(ID3D12Resource), made.out()),
         "CreatePlacedResource");
    heap->used += taken;
    return made;
}

Com<ID3D12Resource> D3d12Device::committed(uint64_t size, D3D12_HEAP_TYPE type) {
    const bool custom = type == D3D12_HEAP_TYPE_CUSTOM;
    D3D12_HEAP_PROPERTIES properties{};
    properties.Type = type;
    if (custom) {
        properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE;
        properties.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
    }
    const auto state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                       : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                          : D3D12_RESOURCE_STATE_COMMON;
    const D3D12_RESOURCE_DESC desc =
        buffer_desc(size, custom ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE);
    Com<ID3D12Resource> made;
    need(device_->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, __uuidof(ID3D12Resource), made.out()),
         "CreateCommittedResource");
    return made;
}

D3d12Device::Mapped& D3d12Device::grown(Mapped& mapped, uint64_t size, D3D12_HEAP_TYPE type) {
    if (size <= mapped.size) return mapped;
    Mapped larger;
    larger.size = std::max({size, first_mapped, mapped.size * 2});
    mapped = Mapped{};  // first give back, then take
    larger.buffer = committed(larger.size, type);
    need(larger.buffer->Map(0, nullptr, reinterpret_cast<void**>(&larger.bytes)), "ID3D12Resource::Map");
    mapped = std::move(larger);
    return mapped;
}

ID3D12DescriptorHeap* D3d12Device::descriptors(uint32_t count) {
    if (count > descriptor_count_) {
        D3D12_DESCRIPTOR_HEAP_DESC desc{};
        desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        desc.Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
        desc.NumDescriptors = std::max({count, first_descriptors, descriptor_count_ * 2});
        descriptor_count_ = 0;
        need(device_->CreateDescriptorHeap(&desc, __uuidof(ID3D12DescriptorHeap), descriptors_.out()), "CreateDescriptorHeap");
        descriptor_count_ = desc.NumDescriptors;
    }
    return descriptors_.get();
}
