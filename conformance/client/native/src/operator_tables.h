// What each operator's desc struct consists of, by its DML_OPERATOR_TYPE: written from the suite's specs when this is built.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tables {

/// A field's type in the struct, or that of the elements of its array. A trailing underscore, since Windows has macros of these names.
enum class Type { UINT_, INT_, BOOL_, UINT64_, FLOAT_, SCALAR_UNION_, SIZE_2D_, SCALE_BIAS_, TENSOR_DESC_, OPERATOR_DESC_ };

struct Constant {
    uint32_t value;
    const char* name;
};

struct Enumeration {
    const Constant* constants;
    size_t count;

    /// The constant's name without the enumeration's, null if it has none of this value.
    const char* name(uint32_t value) const;
};

struct Field {
    const char* name;
    Type type;
    bool array;
    const Enumeration* enumeration;  // null for a number
    int other;  // the place of the field that counts the elements, or says which member a union has; -1 for none
};

struct Operator {
    uint32_t type;
    const char* name;
    const Field* fields;
    size_t count;
};

/// Null for a type that the suite does not know.
const Operator* find(uint32_t type);

/// DML_TENSOR_DATA_TYPE.
extern const Enumeration& data_types;

}  // namespace tables
