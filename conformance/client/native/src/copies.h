// Copies of the bytes that bindings point to, by the GPU, into memory that the CPU reads when the GPU is done.
#pragma once

#include <memory>
#include <vector>

#include "directml_api.h"

/// A binding: nothing, a part of a buffer, or an array of those. Buffers are not kept alive.
struct Bound {
    uint32_t type = dml::binding_none;
    std::vector<dml::BufferBinding> parts;
};

/// Where the bytes of bindings will be, in a buffer of ours: each part's place, none where it has no copy.
struct Snapshot {
    struct Place {
        uint64_t offset, size;
        bool copied;
    };

    std::vector<Bound> bound;
    std::vector<std::vector<Place>> places;  // in the form of `bound`
    Com<ID3D12Resource> buffer;
};

namespace copies {

/// Bytes that a snapshot takes.
uint64_t size_of(const std::vector<Bound>& bound);

/// Within a list of the client's, where DirectML has the buffers as unordered access: they are as they were after it.
/// At the start of a list of ours, buffers are in the common state, from which a copy changes them by itself. Null if there is nothing to copy,
/// or no memory.
enum class Where { within_a_list, in_a_list_of_ours };
std::shared_ptr<Snapshot> record(ID3D12GraphicsCommandList* list, const std::vector<Bound>& bound, Where where);

/// A list of ours for a queue, open for recording, and what it needs to live until it was executed.
struct OwnList {
    Com<ID3D12CommandAllocator> allocator;
    Com<ID3D12GraphicsCommandList> list;
};
OwnList make_list(ID3D12CommandQueue* queue);

/// A fence that a queue signals after all that it was given so far. Null if it cannot be made.
Com<ID3D12Fence> signal_after(ID3D12CommandQueue* queue);

/// Waits until a fence was signalled, but for some seconds at most: the client may have to do something for it first.
bool wait(ID3D12Fence* fence, unsigned milliseconds);

}  // namespace copies
