#include "desc_layout.h"

#include <cstring>
#include <limits>

#include "protocol.h"

namespace {

constexpr uint32_t invalid_argument = 0x80070057;  // E_INVALIDARG, and this file knows no Windows

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

float as_float(const json::Value& value, const std::string& name) {
    if (const std::string* word = value.get<std::string>()) {
        if (*word == "nan") return std::numeric_limits<float>::quiet_NaN();
        if (*word == "inf") return std::numeric_limits<float>::infinity();
        if (*word == "-inf") return -std::numeric_limits<float>::infinity();
    }
    return static_cast<float>(json::as_number(value, name));
}

uint32_t as_uint32(const json::Value& value, const std::string& name) {
    return static_cast<uint32_t>(json::as_uint(value, name, std::numeric_limits<uint32_t>::max()));
}

std::vector<uint32_t> as_uint32s(const json::Value& value, const std::string& name) {
    std::vector<uint32_t> numbers;
    for (const json::Value& entry : json::as_array(value, name)) numbers.push_back(as_uint32(entry, name));
    return numbers;
}

/// The entries of a pair, nulls where the pair is null.
std::pair<json::Value, json::Value> as_pair(const json::Value& value, const std::string& name) {
    const json::Array& entries = json::as_array(value, name);
    if (entries.size() != 2) throw json::Error(name + " must have two entries");
    return {entries[0], entries[1]};
}

/// The eight bytes of a DML_SCALAR_UNION, from 16 hexadecimal digits in memory order.
uint64_t as_union(const json::Value& value, const std::string& name) {
    const std::string& digits = json::as_string(value, name);
    if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
        throw json::Error(name + " must be 16 hexadecimal digits");
    }
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
    uint64_t number;
    std::memcpy(&number, bytes, sizeof number);
    return number;
}

}  // namespace

/// The bytes of a struct. Every field begins at the next multiple of its alignment, which is its size here.
class OperatorDesc::Struct {
public:
    template <class T> void put(T value) {
        bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
        const auto* raw = reinterpret_cast<const unsigned char*>(&value);
        bytes.insert(bytes.end(), raw, raw + sizeof value);
    }

    std::vector<unsigned char> bytes;
    std::string count_name;  // of the field that says how long the arrays after it are
    uint64_t count = 0;
};

const void* OperatorDesc::keep(const void* data, size_t size) {
    kept_.push_back(std::make_unique<uint64_t[]>(size / sizeof(uint64_t) + 1));  // zeroed, and never empty
    if (size) std::memcpy(kept_.back().get(), data, size);
    return kept_.back().get();
}

dml::TypedDesc OperatorDesc::lay_out(const json::Value& source, bool top) {
    const uint32_t type = as_uint32(json::at(source, "operator_type"), "operator_type");
    Struct fields;
    for (const json::Value& field : json::as_array(json::at(source, "fields"), "fields")) lay_out_field(fields, field, top);
    return {type, keep(fields.bytes.data(), fields.bytes.size())};
}

void OperatorDesc::lay_out_field(Struct& into, const json::Value& field, bool top) {
    const std::string& name = json::as_string(json::at(field, "name"), "a field's name");
    const std::string& kind = json::as_string(json::at(field, "kind"), "a field's kind");
    const std::string& type = json::as_string(json::at(field, "type"), "a field's type");
    const json::Value& value = json::at(field, "value");
    const bool null = value.is_null();

    if (type == "UINT") {
        const uint32_t number = null ? 0 : as_uint32(value, name);
        into.put(number);
        if (ends_with(name, "Count")) into.count_name = name, into.count = number;
    } else if (type == "INT") {
        into.put(null ? 0 : json::as_int32(value, name));
    } else if (type == "BOOL") {
        into.put(null ? 0u : static_cast<uint32_t>(json::as_uint(value, name, 1)));
    } else if (type == "UINT64") {
        into.put(null ? uint64_t{0} : json::as_uint(value, name));
    } else if (type == "FLOAT") {
        into.put(null ? 0.0f : as_float(value, name));
    } else if (type == "SCALAR_UNION") {
        into.put(null ? uint64_t{0} : as_union(value, name));
    } else if (type == "SIZE_2D") {
        const auto [width, height] = null ? std::pair<json::Value, json::Value>(0, 0) : as_pair(value, name);
        into.put(as_uint32(width, name));
        into.put(as_uint32(height, name));
    } else if (type == "SCALE_BIAS") {
        const void* kept = nullptr;
        if (!null) {
            const auto [scale, bias] = as_pair(value, name);
            const float both[2] = {as_float(scale, name), as_float(bias, name)};
            kept = keep(both, sizeof both);
        }
        into.put(kept);
    } else if (type == "TENSOR_DESC") {
        const dml::TypedDesc desc = tensor(value, name);
        into.put(null ? nullptr : keep(&desc, sizeof desc));
    } else if (type == "OPERATOR_DESC") {
        const dml::TypedDesc desc = null ? dml::TypedDesc{} : lay_out(value, false);
        into.put(null ? nullptr : keep(&desc, sizeof desc));
    } else if (ends_with(type, "_ARRAY")) {
        // DirectML reads as many elements as the count says; were the array shorter, it would read what is not its own.
        if (!null && json::as_array(value, name).size() != into.count) {
            throw protocol::Rejected{"create", invalid_argument,
                                     name + " has " + std::to_string(json::as_array(value, name).size()) + " elements, and " +
                                         (into.count_name.empty() ? "no field" : into.count_name) + " says " + std::to_string(into.count)};
        }
        into.put(null ? nullptr : array(value, type.substr(0, type.size() - 6), name));
    } else {
        throw json::Error(name + " has the unknown type " + type);
    }
    // The tensors of an operator inside another one, such as a fused activation, are null and take no part in binding.
    if (top && type.rfind("TENSOR_DESC", 0) == 0) add_slots(value, name, kind, ends_with(type, "_ARRAY"));
}

const void* OperatorDesc::array(const json::Value& value, const std::string& element, const std::string& name) {
    Struct entries;
    for (const json::Value& entry : json::as_array(value, name)) {
        if (element == "UINT") entries.put(as_uint32(entry, name));
        else if (element == "INT") entries.put(json::as_int32(entry, name));
        else if (element == "FLOAT") entries.put(as_float(entry, name));
        else if (element == "TENSOR_DESC" || element == "OPERATOR_DESC") {
            const bool is_tensor = element == "TENSOR_DESC";
            const dml::TypedDesc desc = is_tensor ? tensor(entry, name) : entry.is_null() ? dml::TypedDesc{} : lay_out(entry, false);
            entries.put(uint64_t{desc.type});
            entries.put(desc.desc);
        } else throw json::Error(name + " has the unknown type " + element + "_ARRAY");
    }
    return keep(entries.bytes.data(), entries.bytes.size());
}

dml::TypedDesc OperatorDesc::tensor(const json::Value& value, const std::string& name) {
    if (value.is_null()) return {};
    const std::vector<uint32_t> sizes = as_uint32s(json::at(value, "sizes"), name + ".sizes");
    dml::BufferTensorDesc desc{};
    if (const json::Value& given = json::at(value, "strides"); !given.is_null()) {
        const std::vector<uint32_t> strides = as_uint32s(given, name + ".strides");
        if (strides.size() != sizes.size()) {  // one DimensionCount counts both
            throw protocol::Rejected{"create", invalid_argument, name + " has " + std::to_string(sizes.size()) + " sizes and " +
                                                                     std::to_string(strides.size()) + " strides"};
        }
        desc.strides = static_cast<const uint32_t*>(keep(strides.data(), strides.size() * sizeof(uint32_t)));
    }
    desc.data_type = as_uint32(json::at(value, "data_type"), name + ".data_type");
    desc.flags = as_uint32(json::at(value, "flags"), name + ".flags");
    desc.dimension_count = static_cast<uint32_t>(sizes.size());
    desc.sizes = static_cast<const uint32_t*>(keep(sizes.data(), sizes.size() * sizeof(uint32_t)));
    desc.total_tensor_size_in_bytes = json::as_uint(json::at(value, "total_size"), name + ".total_size");
    desc.guaranteed_base_offset_alignment = as_uint32(json::at(value, "alignment"), name + ".alignment");
    return {dml::tensor_type_buffer, keep(&desc, sizeof desc)};
}

void OperatorDesc::add_slots(const json::Value& value, const std::string& name, const std::string& kind, bool is_array) {
    if (kind != "input" && kind != "output") throw json::Error(name + " is a tensor of the kind " + kind);
    const auto add = [&](const json::Value& desc, const std::string& slot) {
        const bool owned = !desc.is_null() && (as_uint32(json::at(desc, "flags"), slot) & dml::tensor_flag_owned_by_dml);
        slots_.push_back({slot, kind == "output", !desc.is_null(), owned});
    };
    if (!is_array) {
        add(value, name);
    } else if (!value.is_null()) {
        const json::Array& entries = json::as_array(value, name);
        for (size_t i = 0; i < entries.size(); ++i) add(entries[i], name + "[" + std::to_string(i) + "]");
    }
}
