#include "desc_json.h"

#include <cstring>

#include "operator_tables.h"

namespace {

using tables::Field;
using tables::Type;

/// The most of what a valid desc can have: dimensions, and elements of an array.
constexpr uint32_t most_dimensions = 16, most_elements = 1u << 16;

/// Operators inside operators: an activation is one deep.
constexpr int deepest = 4;

/// JSON has no numbers for NaN and the infinities.
json::Value number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                                         : std::ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

json::Value constant_or_number(const tables::Enumeration* enumeration, uint32_t value) {
    const char* name = enumeration ? enumeration->name(value) : nullptr;
    return name ? json::Value(name) : json::Value(value);
}

template <class T> T bits_as(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);  // little endian, as every target is
    return value;
}

/// A DML_SCALAR_UNION, by the name of its data type.
json::Value union_json(uint64_t bits, const std::string& type) {
    if (type == "FLOAT16") return number(half(bits_as<uint16_t>(bits)));
    if (type == "FLOAT64") return number(bits_as<double>(bits));
    if (type == "UINT8" || type == "UINT4") return uint32_t{bits_as<uint8_t>(bits)};
    if (type == "UINT16") return uint32_t{bits_as<uint16_t>(bits)};
    if (type == "UINT32") return bits_as<uint32_t>(bits);
    if (type == "UINT64") return bits;
    if (type == "INT8" || type == "INT4") return int64_t{bits_as<int8_t>(bits)};
    if (type == "INT16") return int64_t{bits_as<int16_t>(bits)};
    if (type == "INT32") return int64_t{bits_as<int32_t>(bits)};
    if (type == "INT64") return bits_as<int64_t>(bits);
    return number(bits_as<float>(bits));
}

/// Takes one value after the other, each at the next multiple of its alignment.
class Cursor {
public:
    Cursor(const void* start, ReadMemory read) : at_(reinterpret_cast<uintptr_t>(start)), read_(read) {}

    template <class T> T take() {
        at_ = (at_ + alignof(T) - 1) / alignof(T) * alignof(T);
        T value{};
        if (!at_ || !read_(&value, reinterpret_cast<const void*>(at_), sizeof value)) throw Unreadable("it points where no memory is");
        at_ += sizeof value;
        return value;
    }

private:
    uintptr_t at_;
    ReadMemory read_;
};

class Writer {
public:
    explicit Writer(ReadMemory read) : read_(read) {}

    json::Value op(const dml::TypedDesc& desc, int depth) const {
        const tables::Operator* known = tables::find(desc.type);
        if (!known) throw Unreadable("the operator type " + std::to_string(desc.type) + " is not known");
        if (depth > deepest) throw Unreadable("operators stand too deep in each other");
        json::Object fields;
        std::vector<uint32_t> integers(known->count);  // of the fields so far: counts, and data types of unions
        Cursor cursor(desc.desc, read_);
        bool has_type = false;
        for (size_t i = 0; i < known->count; ++i) {
            const Field& field = known->fields[i];
            json::Value value = field.array ? array(field, cursor.take<const void*>(), integers, depth) : one(field, cursor, integers, i, depth);
            has_type = has_type || !std::strcmp(field.name, "Type");
            if (!value.is_null()) fields.push_back({field.name, std::move(value)});
        }
        json::Object whole{{"Type", known->name}};
        if (has_type) whole.push_back({"Desc", std::move(fields)});
        else for (json::Member& member : fields) whole.push_back(std::move(member));
        return whole;
    }

private:
    json::Value one(const Field& field, Cursor& cursor, std::vector<uint32_t>& integers, size_t place, int depth) const {
        switch (field.type) {
            case Type::UINT_: return constant_or_number(field.enumeration, integers[place] = cursor.take<uint32_t>());
            case Type::BOOL_: return cursor.take<uint32_t>();
            case Type::INT_: return int64_t{cursor.take<int32_t>()};
            case Type::UINT64_: return cursor.take<uint64_t>();
            case Type::FLOAT_: return number(cursor.take<float>());
            case Type::SCALAR_UNION_: {
                const char* type = field.other < 0 ? nullptr : tables::data_types.name(integers[static_cast<size_t>(field.other)]);
                return union_json(cursor.take<uint64_t>(), type ? type : "");
            }
            case Type::SIZE_2D_: {
                const uint32_t width = cursor.take<uint32_t>(), height = cursor.take<uint32_t>();
                return json::Object{{"Width", width}, {"Height", height}};
            }
            case Type::SCALE_BIAS_: {
                const void* pointed = cursor.take<const void*>();
                if (!pointed) return nullptr;
                Cursor pair(pointed, read_);
                const float scale = pair.take<float>(), bias = pair.take<float>();
                return json::Object{{"Scale", number(scale)}, {"Bias", number(bias)}};
            }
            case Type::TENSOR_DESC_: {
                const void* pointed = cursor.take<const void*>();
                return pointed ? tensor(Cursor(pointed, read_).take<dml::TypedDesc>()) : json::Value();
            }
            case Type::OPERATOR_DESC_: {
                const void* pointed = cursor.take<const void*>();
                return pointed ? op(Cursor(pointed, read_).take<dml::TypedDesc>(), depth + 1) : json::Value();
            }
        }
        return nullptr;
    }

    json::Value array(const Field& field, const void* start, const std::vector<uint32_t>& integers, int depth) const {
        if (!start) return nullptr;
        const uint32_t count = field.other < 0 ? 0 : integers[static_cast<size_t>(field.other)];
        if (count > most_elements) throw Unreadable(std::string(field.name) + " has " + std::to_string(count) + " elements");
        json::Array entries;
        Cursor cursor(start, read_);
        for (uint32_t i = 0; i < count; ++i) {
            switch (field.type) {
                case Type::TENSOR_DESC_: entries.push_back(tensor(cursor.take<dml::TypedDesc>())); break;
                case Type::OPERATOR_DESC_: {
                    const dml::TypedDesc inner = cursor.take<dml::TypedDesc>();
                    entries.push_back(inner.desc ? op(inner, depth + 1) : json::Value());
                    break;
                }
                case Type::INT_: entries.push_back(int64_t{cursor.take<int32_t>()}); break;
                case Type::FLOAT_: entries.push_back(number(cursor.take<float>())); break;
                default: entries.push_back(constant_or_number(field.enumeration, cursor.take<uint32_t>()));
            }
        }
        return entries;
    }

    json::Value tensor(const dml::TypedDesc& desc) const {
        if (!desc.desc) return nullptr;
        if (desc.type != dml::tensor_type_buffer) throw Unreadable("a tensor desc has the type " + std::to_string(desc.type));
        const auto buffer = Cursor(desc.desc, read_).take<dml::BufferTensorDesc>();
        if (buffer.dimension_count > most_dimensions) throw Unreadable("a tensor has " + std::to_string(buffer.dimension_count) + " dimensions");
        json::Object found{{"DataType", constant_or_number(&tables::data_types, buffer.data_type)},
                           {"Sizes", numbers(buffer.sizes, buffer.dimension_count)}};
        if (buffer.strides) found.push_back({"Strides", numbers(buffer.strides, buffer.dimension_count)});
        if (buffer.flags == dml::tensor_flag_owned_by_dml) found.push_back({"Flags", "OWNED_BY_DML"});
        else if (buffer.flags) found.push_back({"Flags", buffer.flags});
        found.push_back({"TotalTensorSizeInBytes", buffer.total_tensor_size_in_bytes});
        if (buffer.guaranteed_base_offset_alignment) {
            found.push_back({"GuaranteedBaseOffsetAlignment", buffer.guaranteed_base_offset_alignment});
        }
        return found;
    }

    json::Value numbers(const uint32_t* start, uint32_t count) const {
        json::Array entries;
        Cursor cursor(start, read_);
        for (uint32_t i = 0; i < count; ++i) entries.push_back(cursor.take<uint32_t>());
        return entries;
    }

    ReadMemory read_;
};

}  // namespace

json::Value desc_json(const dml::TypedDesc& desc, ReadMemory read) { return Writer(read).op(desc, 0); }
