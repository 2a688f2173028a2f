#include "sequences/memory.h"

#include <algorithm>
#include <cstring>

#include "barriers.h"

namespace sequences {

namespace {

constexpr uint64_t staging = 4u << 20;  // bytes that are copied with one submission
constexpr uint64_t unit = 4;            // what staged bytes are aligned to

/// Memory that the CPU writes and reads by itself.
bool is_mapped(const Object& buffer) {
    return buffer.heap_type == D3D12_HEAP_TYPE_UPLOAD || buffer.heap_type == D3D12_HEAP_TYPE_CUSTOM;
}

/// The bytes of a buffer while it is mapped.
class View {
public:
    explicit View(const Object& buffer) : buffer_(buffer.as<ID3D12Resource>()) {
        need(buffer_->Map(0, nullptr, reinterpret_cast<void**>(&bytes)), "ID3D12Resource::Map");
    }
    ~View() { buffer_->Unmap(0, nullptr); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    uint8_t* bytes = nullptr;

private:
    ID3D12Resource* buffer_;
};

void check(const Object& buffer, uint64_t offset, uint64_t size) {
    if (offset > buffer.size || size > buffer.size - offset) {
        throw json::Error(std::to_string(size) + " bytes from " + std::to_string(offset) + " on are not in a resource of " +
                          std::to_string(buffer.size));
    }
}

}  // namespace

Memory::Memory(D3d12Device& d3d12) : d3d12_(d3d12) { d3d12_.begin(); }

Object Memory::make(uint64_t size, uint8_t byte, D3D12_HEAP_TYPE heap) {
    Object made{Kind::resource, nullptr};
    made.size = size;
    made.heap_type = heap;
    if (!size) return made;
    Com<ID3D12Resource> buffer = heap == D3D12_HEAP_TYPE_DEFAULT ? d3d12_.buffer(size) : d3d12_.committed(size, heap);
    made.face = buffer.detach();
    fill(made, byte);
    return made;
}

uint64_t Memory::stage(const uint8_t* bytes, uint64_t size) {
    if (staged_ + size > std::max(staging, size)) flush();
    D3d12Device::Mapped& mapped = d3d12_.upload(std::max(staging, size));
    const uint64_t at = staged_;
    std::memcpy(mapped.bytes + at, bytes, static_cast<size_t>(size));
    staged_ += (size + unit - 1) / unit * unit;
    return at;
}

void Memory::copy_in(ID3D12Resource* buffer, uint64_t offset, uint64_t staged, uint64_t size) {
    d3d12_.list()->CopyBufferRegion(buffer, offset, d3d12_.upload(0).buffer.get(), staged, size);
    recorded_ = true;
}

void Memory::fill(const Object& buffer, uint8_t byte) {
    if (is_mapped(buffer)) {
        std::memset(View(buffer).bytes, byte, static_cast<size_t>(buffer.size));
        return;
    }
    const std::vector<uint8_t> pattern(static_cast<size_t>(std::min(buffer.size, staging / 4)), byte);
    const uint64_t staged = stage(pattern.data(), pattern.size());
    for (uint64_t offset = 0; offset < buffer.size; offset += pattern.size()) {
        copy_in(buffer.as<ID3D12Resource>(), offset, staged, std::min<uint64_t>(pattern.size(), buffer.size - offset));
    }
    if (buffer.heap_type == D3D12_HEAP_TYPE_DEFAULT) {
        transition(d3d12_.list(), {buffer.as<ID3D12Resource>()}, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COMMON);
    }
}

void Memory::write(const Object& buffer, uint64_t offset, const uint8_t* bytes, uint64_t size) {
    check(buffer, offset, size);
    if (!size) return;
    if (is_mapped(buffer)) {
        std::memcpy(View(buffer).bytes + offset, bytes, static_cast<size_t>(size));
        return;
    }
    copy_in(buffer.as<ID3D12Resource>(), offset, stage(bytes, size), size);
    if (buffer.heap_type == D3D12_HEAP_TYPE_DEFAULT) {
        transition(d3d12_.list(), {buffer.as<ID3D12Resource>()}, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COMMON);
    }
}

std::vector<uint8_t> Memory::read(const Object& buffer, uint64_t offset, uint64_t size) {
    check(buffer, offset, size);
    std::vector<uint8_t> found(static_cast<size_t>(size));
    if (!size) return found;
    if (buffer.heap_type != D3D12_HEAP_TYPE_DEFAULT) {
        flush();
        std::memcpy(found.data(), View(buffer).bytes + offset, found.size());
        return found;
    }
    D3d12Device::Mapped& mapped = d3d12_.readback(size);
    d3d12_.list()->CopyBufferRegion(mapped.buffer.get(), 0, buffer.as<ID3D12Resource>(), offset, size);
    transition(d3d12_.list(), {buffer.as<ID3D12Resource>()}, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
    recorded_ = true;
    flush();
    std::memcpy(found.data(), mapped.bytes, found.size());
    return found;
}

void Memory::flush() {
    if (!recorded_) return;
    recorded_ = false;
    staged_ = 0;
    d3d12_.submit();
    d3d12_.record_again();
}

}  // namespace sequences
