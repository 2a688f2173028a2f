// A D3D12 whose buffers are memory of the process, and whose lists copy between them and do what a fake DirectML records (computing.cpp), in the same DLL as the fake DirectML: for tests of what the host sees of
// a device and a command list. Objects are tables of functions by their places, so that no header has to know the newer interfaces.
#pragma once

#include <functional>
#include <vector>

#include "windows_api.h"

namespace fake_d3d12 {

/// Does with the device and the list what a text of letters says:
///
/// | letters | what it does |
/// |---|---|
/// | `A` to `F` | sets this kernel's pipeline, which CreateComputePipelineState makes at first and which stays: its bytecode is "bytecode of A" |
/// | `sA`, `nA`, `tA` | makes a new one by CreatePipelineState of a stream; by the device's newest interface; on another thread; and sets it |
/// | `lA` | makes a new one as a pipeline library would, in a way that the host does not see, and sets it |
/// | `rA` | releases this kernel's pipeline; the next one that is made has its address |
/// | `2A` | sets it on the list of a second device that has made it, and dispatches it there |
/// | `!A` | fails to make it |
/// | `.` `:` `*` | Dispatch of 3 x 2 x 1 groups; the same by the list's newest interface; ExecuteIndirect |
/// | `#` | 3,000 dispatches |
/// | `m` | makes a metacommand at first, and executes it |
/// | `0` | ClearState without a pipeline |
/// | `x` | the device is removed |
void perform(const char* letters, size_t count, ID3D12Device* device, ID3D12GraphicsCommandList* list);

/// Whether `x` was performed.
bool removed();

/// The bytes of a buffer.
std::vector<char>& bytes_of(ID3D12Resource* buffer);

/// What a list is to do, after all that was recorded, whenever it is executed.
void record(ID3D12CommandList* list, std::function<void()> work);

}  // namespace fake_d3d12
