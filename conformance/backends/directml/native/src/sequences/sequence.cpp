#include "sequences/sequence.h"

#include <algorithm>

#include "guard.h"

namespace sequences {

namespace {

constexpr uint32_t block_size = 1024;  // descriptors

uint64_t begun = 0;

}  // namespace

Sequence::Sequence(DirectMlDevice& device, Kernels& seen) : serial(++begun), kernels(seen), memory(device.d3d12()), host_(device) {
    // The host's own heap first: a new one costs a hundred milliseconds under vkd3d.
    ID3D12DescriptorHeap* own = d3d12().descriptors(block_size);
    own->AddRef();
    blocks_.push_back({Com<ID3D12DescriptorHeap>(own), block_size, 0});
    device.get()->AddRef();
    objects.add(0, {Kind::device, device.get()});
}

Sequence::~Sequence() {
    guard::doing("the end of a sequence");
    try {
        wait();
    } catch (const protocol::Fault&) {  // the device is lost, as the next request will find
    }
    recorders_.clear();
    objects.release_all();
}

Descriptors Sequence::take_descriptors(uint32_t count) {
    const auto fits = [&](const Block& block) { return block.size - block.used >= count; };
    auto block = std::find_if(blocks_.begin(), blocks_.end(), fits);
    if (block == blocks_.end()) {
        D3D12_DESCRIPTOR_HEAP_DESC desc{};
        desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        desc.Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
        desc.NumDescriptors = std::max(count, block_size);
        Block made{{}, desc.NumDescriptors, 0};
        need(d3d12().get()->CreateDescriptorHeap(&desc, __uuidof(ID3D12DescriptorHeap), made.heap.out()), "CreateDescriptorHeap");
        blocks_.push_back(std::move(made));
        block = blocks_.end() - 1;
    }
    const Descriptors found{block->heap.get(), block->used};
    block->used += count;
    return found;
}

HRESULT Sequence::recorder(const Object& dispatchable, dml::ICommandRecorder** found) {
    *found = host_.recorder();
    if (!dispatchable.device) return S_OK;
    Com<dml::ICommandRecorder>& known = recorders_[dispatchable.device];
    if (!known) {
        Com<dml::IDevice> device;
        HRESULT code = dispatchable.as<dml::IDispatchable>()->GetDevice(dml::IDevice::iid, device.out());
        if (SUCCEEDED(code)) code = device->CreateCommandRecorder(dml::ICommandRecorder::iid, known.out());
        if (FAILED(code)) return code;
    }
    *found = known.get();
    return S_OK;
}

HRESULT Sequence::allocator(D3D12_COMMAND_LIST_TYPE type, ID3D12CommandAllocator** made) {
    Com<ID3D12CommandAllocator> allocator;
    const HRESULT code = d3d12().get()->CreateCommandAllocator(type, __uuidof(ID3D12CommandAllocator), allocator.out());
    if (FAILED(code)) return code;
    *made = allocator.get();
    allocators_.push_back(std::move(allocator));
    return S_OK;
}

void Sequence::submit(D3D12_COMMAND_LIST_TYPE type, const std::vector<ID3D12CommandList*>& lists) {
    memory.flush();
    ID3D12CommandQueue* queue = d3d12().queue(type);
    if (std::find(busy_.begin(), busy_.end(), queue) == busy_.end()) busy_.push_back(queue);
    queue->ExecuteCommandLists(static_cast<UINT>(lists.size()), lists.data());
}

HRESULT Sequence::wait() {
    HRESULT reason = d3d12().removed_reason();
    for (ID3D12CommandQueue* queue : std::exchange(busy_, {})) {
        if (SUCCEEDED(reason)) reason = d3d12().finish(queue);
    }
    return reason;
}

}  // namespace sequences
