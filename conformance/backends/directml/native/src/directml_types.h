// The plain structs of DirectML's ABI that a desc is made of, on a 64-bit target. Own declarations: mingw-w64 has no DirectML.h,
// and the layout of operator descs can be tested where there is no Windows.
#pragma once

#include <cstdint>

namespace dml {

struct BufferTensorDesc {
    uint32_t data_type;
    uint32_t flags;
    uint32_t dimension_count;
    const uint32_t* sizes;
    const uint32_t* strides;
    uint64_t total_tensor_size_in_bytes;
    uint32_t guaranteed_base_offset_alignment;
};

/// DML_TENSOR_DESC, DML_OPERATOR_DESC, DML_BINDING_DESC, DML_GRAPH_NODE_DESC and DML_GRAPH_EDGE_DESC are all of this shape.
struct TypedDesc {
    uint32_t type;
    const void* desc;
};

constexpr uint32_t tensor_type_buffer = 1;
constexpr uint32_t tensor_flag_owned_by_dml = 1;

static_assert(sizeof(void*) != 8 || (sizeof(BufferTensorDesc) == 48 && sizeof(TypedDesc) == 16), "the ABI's sizes");

}  // namespace dml
