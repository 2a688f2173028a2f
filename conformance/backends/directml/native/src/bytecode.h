// What a shader's bytecode says of itself, and compute pipelines described as a stream: plain bytes, which are the same on every platform.
#pragma once

#include <cstdint>
#include <optional>

namespace bytecode {

/// "dxil" for a container that has a part of DXIL, "dxbc" for any other bytecode. Reads nothing beyond `size`.
const char* kind(const void* data, uint64_t size);

/// Where the parts of a compute pipeline lie in a D3D12_PIPELINE_STATE_STREAM_DESC, in bytes from its start.
struct ComputeStream {
    uint64_t shader = 0;                   // D3D12_SHADER_BYTECODE
    std::optional<uint64_t> cached_state;  // D3D12_CACHED_PIPELINE_STATE
};

/// Empty where the stream has no compute shader, or a part that no compute pipeline has: how long such a part is, is not known here.
std::optional<ComputeStream> compute_stream(const void* stream, uint64_t size);

}  // namespace bytecode
