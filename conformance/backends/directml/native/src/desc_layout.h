// Lays out any operator's desc struct from the ordered fields of a request: a field's type says what it is in memory, so that no
// table of operators is needed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "directml_types.h"
#include "json.h"

/// A place in the binding tables: every tensor field has one, and every element of a tensor array.
struct TensorSlot {
    std::string name;
    bool output;
    bool present;  // has a desc
    bool owned;    // OWNED_BY_DML: bound when the operator is initialized, not when it is executed
};

/// An operator desc in memory, and everything that its pointers point to.
class OperatorDesc {
public:
    /// `source` has `operator_type` and `fields`.
    /// Throws json::Error for what is not as the protocol says, and protocol::Rejected for a desc that no struct can hold.
    explicit OperatorDesc(const json::Value& source) : desc_(lay_out(source, true)) {}

    const dml::TypedDesc& get() const { return desc_; }

    /// In the order of the struct, inputs and outputs mixed.
    const std::vector<TensorSlot>& slots() const { return slots_; }

private:
    class Struct;

    const void* keep(const void* data, size_t size);
    dml::TypedDesc lay_out(const json::Value& source, bool top);
    void lay_out_field(Struct& into, const json::Value& field, bool top);
    const void* array(const json::Value& value, const std::string& element, const std::string& name);
    dml::TypedDesc tensor(const json::Value& value, const std::string& name);
    void add_slots(const json::Value& value, const std::string& name, const std::string& kind, bool is_array);

    std::vector<std::unique_ptr<uint64_t[]>> kept_;  // of uint64_t, for the alignment
    std::vector<TensorSlot> slots_;
    dml::TypedDesc desc_;  // last: laying out needs the others
};
