#include "bytecode.h"

#include <cstring>

namespace bytecode {

namespace {

template <class T> std::optional<T> at(const void* data, uint64_t size, uint64_t offset) {
    if (offset > size || size - offset < sizeof(T)) return std::nullopt;
    T found;
    std::memcpy(&found, static_cast<const char*>(data) + offset, sizeof found);
    return found;
}

constexpr uint32_t four(const char (&letters)[5]) {
    uint32_t number = 0;
    for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(letters[i]);
    return number;
}

// A container: its name, 16 bytes of a hash, a version, its size, then how many parts there are, and where each begins.
constexpr uint64_t part_count = 28, part_offsets = 32;

// D3D12_PIPELINE_STATE_SUBOBJECT_TYPE, and the bytes of each part behind its type, both on a multiple of eight or close together.
enum : uint32_t { root_signature = 0, compute_shader = 6, node_mask = 18, cached_state = 19, flags = 20 };

}  // namespace

const char* kind(const void* data, uint64_t size) {
    if (at<uint32_t>(data, size, 0) != four("DXBC")) return "dxbc";
    const uint32_t parts = at<uint32_t>(data, size, part_count).value_or(0);
    for (uint32_t i = 0; i < parts; ++i) {
        const std::optional<uint32_t> start = at<uint32_t>(data, size, part_offsets + 4 * uint64_t{i});
        if (!start) break;
        const std::optional<uint32_t> name = at<uint32_t>(data, size, *start);
        if (name == four("DXIL")) return "dxil";
    }
    return "dxbc";
}

std::optional<ComputeStream> compute_stream(const void* stream, uint64_t size) {
    std::optional<ComputeStream> found;
    std::optional<uint64_t> cached;
    // Each part is a struct of its type and its data, aligned as a pointer is: data of four bytes follows the type at once.
    for (uint64_t offset = 0; offset < size;) {
        const std::optional<uint32_t> type = at<uint32_t>(stream, size, offset);
        if (!type) return std::nullopt;
        switch (*type) {
            case root_signature: offset += 16; break;
            case compute_shader:
                found = ComputeStream{offset + 8, {}};
                offset += 24;
                break;
            case cached_state:
                cached = offset + 8;
                offset += 24;
                break;
            case node_mask:
            case flags: offset += 8; break;
            default: return std::nullopt;
        }
        if (offset > size) return std::nullopt;
    }
    if (found) found->cached_state = cached;
    return found;
}

}  // namespace bytecode
