// The buffers of a sequence: what they hold at first, what is written to them and read back.
#pragma once

#include <cstdint>
#include <vector>

#include "d3d12_device.h"
#include "sequences/objects.h"

namespace sequences {

/// Copies are recorded one after another, and executed when somebody could see the difference: before any work of the sequence's own, and
/// when bytes are read. A submission for each would cost most of the time that a sequence takes.
///
/// Outside of a command list every buffer is in the common state, from which its first use in a list changes it to what is needed, and to
/// which it returns at the list's end. So no call needs to know what the others do.
///
/// All methods throw protocol::Fault. Used by one thread at a time.
class Memory {
public:
    explicit Memory(D3d12Device& d3d12);

    /// A buffer that holds `fill` in every byte; one of no bytes has no resource.
    Object make(uint64_t size, uint8_t fill, D3D12_HEAP_TYPE heap);

    /// Both throw json::Error where the buffer has no such bytes.
    void write(const Object& buffer, uint64_t offset, const uint8_t* bytes, uint64_t size);
    std::vector<uint8_t> read(const Object& buffer, uint64_t offset, uint64_t size);

    /// Executes what was recorded.
    void flush();

private:
    /// Bytes for upload, and where they lie in the staging buffer.
    uint64_t stage(const uint8_t* bytes, uint64_t size);
    void copy_in(ID3D12Resource* buffer, uint64_t offset, uint64_t staged, uint64_t size);
    void fill(const Object& buffer, uint8_t byte);

    D3d12Device& d3d12_;
    uint64_t staged_ = 0;  // bytes of the staging buffer that are in use
    bool recorded_ = false;
};

}  // namespace sequences
