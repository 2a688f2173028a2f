// One D3D12 device with what a request needs of it: a command list, memory, a descriptor heap. All of it is used again by the
// next request, since creating it costs more than a small operator does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"
#include "wine.h"

class D3d12Device {
public:
    /// Throws protocol::Fault, whose message says what is missing.
    explicit D3d12Device(const Options& options);
    ~D3d12Device();

    ID3D12Device* get() const { return device_.get(); }
    ID3D12GraphicsCommandList* list() const { return list_.get(); }

    /// S_OK, or why the device was removed.
    HRESULT removed_reason() const { return device_->GetDeviceRemovedReason(); }

    /// Throws away what was recorded, and gives back all of the memory that buffers were placed in: they must be gone.
    void begin();

    /// Executes what was recorded, and waits until it is done. Throws protocol::Fault, also where the device is lost.
    void submit();

    /// After `submit`: what follows is recorded into the list again.
    void record_again();

    /// The queue for lists of this type; that of COMPUTE lists is made when it is first asked for. Throws protocol::Fault.
    ID3D12CommandQueue* queue(D3D12_COMMAND_LIST_TYPE type);

    /// Waits until all that was submitted to a queue is done. Returns why the device was removed, S_OK if it was not. Throws protocol::Fault.
    HRESULT finish(ID3D12CommandQueue* queue);

    /// A buffer in GPU memory of exactly `size` bytes, but of a multiple of four and not of none.
    /// It begins its life in the common state, from which the first use of it changes it to what is needed.
    Com<ID3D12Resource> buffer(uint64_t size);

    /// A buffer in a heap of its own: UPLOAD, READBACK, CUSTOM, which the CPU writes and shaders may, too, or DEFAULT, which shaders may not.
    Com<ID3D12Resource> committed(uint64_t size, D3D12_HEAP_TYPE type);

    /// A buffer that stays mapped.
    struct Mapped {
        Com<ID3D12Resource> buffer;
        uint8_t* bytes = nullptr;
        uint64_t size = 0;
    };

    /// One for writing by the CPU, one for reading, of at least `size` bytes each. The contents of a former call are lost.
    Mapped& upload(uint64_t size) { return grown(upload_, size, D3D12_HEAP_TYPE_UPLOAD); }
    Mapped& readback(uint64_t size) { return grown(readback_, size, D3D12_HEAP_TYPE_READBACK); }

    /// The shader visible descriptor heap, of at least `count` descriptors.
    ID3D12DescriptorHeap* descriptors(uint32_t count);
    uint32_t descriptor_size() const { return descriptor_size_; }

    /// What DXGI and, under Wine, Vulkan say of it.
    std::string name, driver;
    bool software_under_wine = false;

private:
    struct Heap {
        Com<ID3D12Heap> heap;
        uint64_t size, used;
    };

    void open_adapter(const Options& options);
    void add_heap(uint64_t size);
    Mapped& grown(Mapped& mapped, uint64_t size, D3D12_HEAP_TYPE type);

    HMODULE d3d12_ = nullptr;
    Com<IDXGIAdapter1> adapter_;
    Com<ID3D12Device> device_;
    Com<ID3D12CommandQueue> queue_, compute_queue_;
    Com<ID3D12CommandAllocator> allocator_;
    Com<ID3D12GraphicsCommandList> list_;
    Com<ID3D12Fence> fence_;
    uint64_t fence_value_ = 0;
    HANDLE done_ = nullptr;
    bool recording_ = true;
    std::vector<Heap> heaps_;
    Mapped upload_, readback_;
    Com<ID3D12DescriptorHeap> descriptors_;
    uint32_t descriptor_count_ = 0, descriptor_size_ = 0;
};
