#include "copies.h"

#include <algorithm>

#include "barriers.h"

namespace copies {

namespace {

constexpr uint64_t alignment = 16;

uint64_t round_up(uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

Com<ID3D12Resource> readback_buffer(ID3D12Device* device, uint64_t size) {
    D3D12_HEAP_PROPERTIES heap{};
    heap.Type = D3D12_HEAP_TYPE_READBACK;
    D3D12_RESOURCE_DESC desc{};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = size;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    Com<ID3D12Resource> made;
    device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COPY_DEST, nullptr, __uuidof(ID3D12Resource),
                                    made.out());
    return made;
}

bool is_within(const dml::BufferBinding& part) {
    const uint64_t width = part.buffer->GetDesc().Width;
    return part.size_in_bytes && part.offset <= width && part.size_in_bytes <= width - part.offset;
}

}  // namespace

uint64_t size_of(const std::vector<Bound>& bound) {
    uint64_t total = 0;
    for (const Bound& one : bound) {
        for (const dml::BufferBinding& part : one.parts) total += part.buffer ? round_up(part.size_in_bytes) : 0;
    }
    return total;
}

std::shared_ptr<Snapshot> record(ID3D12GraphicsCommandList* list, const std::vector<Bound>& bound, Where where) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->bound = bound;
    std::vector<ID3D12Resource*> buffers;
    uint64_t total = 0;
    for (const Bound& one : bound) {
        snapshot->places.emplace_back();
        for (const dml::BufferBinding& part : one.parts) {
            const bool copied = part.buffer && is_within(part);
            snapshot->places.back().push_back({total, part.size_in_bytes, copied});
            if (!copied) continue;
            total += round_up(part.size_in_bytes);
            if (std::find(buffers.begin(), buffers.end(), part.buffer) == buffers.end()) buffers.push_back(part.buffer);
        }
    }
    Com<ID3D12Device> device;
    if (!total || FAILED(list->GetDevice(__uuidof(ID3D12Device), device.out()))) return nullptr;
    snapshot->buffer = readback_buffer(device.get(), total);
    if (!snapshot->buffer) return nullptr;

    constexpr D3D12_RESOURCE_STATES used = D3D12_RESOURCE_STATE_UNORDERED_ACCESS, copied = D3D12_RESOURCE_STATE_COPY_SOURCE;
    await_writes(list);
    if (where == Where::within_a_list) transition(list, buffers, used, copied);
    for (size_t i = 0; i < bound.size(); ++i) {
        for (size_t k = 0; k < bound[i].parts.size(); ++k) {
            const dml::BufferBinding& part = bound[i].parts[k];
            const Snapshot::Place& place = snapshot->places[i][k];
            if (place.copied) list->CopyBufferRegion(snapshot->buffer.get(), place.offset, part.buffer, part.offset, place.size);
        }
    }
    if (where == Where::within_a_list) transition(list, buffers, copied, used);
    return snapshot;
}

OwnList make_list(ID3D12CommandQueue* queue) {
    OwnList made;
    const D3D12_COMMAND_LIST_TYPE type = queue->GetDesc().Type;
    Com<ID3D12Device> device;
    if (FAILED(queue->GetDevice(__uuidof(ID3D12Device), device.out())) ||
        FAILED(device->CreateCommandAllocator(type, __uuidof(ID3D12CommandAllocator), made.allocator.out())) ||
        FAILED(device->CreateCommandList(0, type, made.allocator.get(), nullptr, __uuidof(ID3D12GraphicsCommandList), made.list.out()))) {
        made.list.reset();
    }
    return made;
}

Com<ID3D12Fence> signal_after(ID3D12CommandQueue* queue) {
    Com<ID3D12Device> device;
    Com<ID3D12Fence> fence;
    if (FAILED(queue->GetDevice(__uuidof(ID3D12Device), device.out())) ||
        FAILED(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.out())) || FAILED(queue->Signal(fence.get(), 1))) {
        fence.reset();
    }
    return fence;
}

bool wait(ID3D12Fence* fence, unsigned milliseconds) {
    const ULONGLONG end = GetTickCount64() + milliseconds;
    while (fence->GetCompletedValue() < 1) {
        if (GetTickCount64() >= end) return false;
        Sleep(1);
    }
    return true;
}

}  // namespace copies
