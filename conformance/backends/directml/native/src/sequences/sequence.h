// One sequence while it is performed: its objects, and what its calls share.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "directml_device.h"
#include "kernels.h"
#include "sequences/memory.h"
#include "sequences/objects.h"

namespace sequences {

/// Descriptors of a heap, from `first` on.
struct Descriptors {
    ID3D12DescriptorHeap* heap;
    uint32_t first;
};

/// Object 0 is the host's own device; all others are made by the calls. At the end it waits for the GPU and releases what is left.
class Sequence {
public:
    /// The device must outlive it. Throws protocol::Fault.
    Sequence(DirectMlDevice& device, Kernels& kernels);
    ~Sequence();
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    DirectMlDevice& host() { return host_; }
    D3d12Device& d3d12() { return host_.d3d12(); }

    const uint64_t serial;  // of this sequence, in this process
    Kernels& kernels;       // sees what the lists of this sequence record
    Objects objects;

    // What follows is for one thread at a time: whoever uses it holds this lock.
    SRWLOCK lock = SRWLOCK_INIT;

    Memory memory;

    /// Descriptors that no other table has, so that what was recorded with them stays valid. Throws protocol::Fault.
    Descriptors take_descriptors(uint32_t count);

    /// The recorder of the device that a dispatchable was made by: made when it is first needed, and not before, as it keeps the device alive.
    HRESULT recorder(const Object& dispatchable, dml::ICommandRecorder** found);

    /// An allocator that stays as long as the sequence: what was recorded with it may still be executed when its list is gone.
    HRESULT allocator(D3D12_COMMAND_LIST_TYPE type, ID3D12CommandAllocator** made);

    void submit(D3D12_COMMAND_LIST_TYPE type, const std::vector<ID3D12CommandList*>& lists);

    /// Waits for all that was submitted. S_OK, or why the Direct3D 12 device was removed.
    HRESULT wait();

private:
    struct Block {
        Com<ID3D12DescriptorHeap> heap;
        uint32_t size, used;
    };

    DirectMlDevice& host_;
    std::vector<Block> blocks_;
    std::map<uint32_t, Com<dml::ICommandRecorder>> recorders_;  // by the device's number
    std::vector<Com<ID3D12CommandAllocator>> allocators_;
    std::vector<ID3D12CommandQueue*> busy_;  // to which something was submitted since the last wait
};

}  // namespace sequences
