#include "operator_tables.h"

#include <algorithm>
#include <iterator>

namespace tables {

namespace {

#include "operator_tables.inc"

}  // namespace

const Enumeration& data_types = DML_TENSOR_DATA_TYPE;

const char* Enumeration::name(uint32_t value) const {
    const Constant* found = std::find_if(constants, constants + count, [&](const Constant& constant) { return constant.value == value; });
    return found == constants + count ? nullptr : found->name;
}

const Operator* find(uint32_t type) {
    const auto before = [](const Operator& entry, uint32_t wanted) { return entry.type < wanted; };
    const Operator* found = std::lower_bound(std::begin(operators), std::end(operators), type, before);
    return found == std::end(operators) || found->type != type ? nullptr : found;
}

}  // namespace tables
