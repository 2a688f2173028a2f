// JSON as the protocol uses it: a strict reader with bounded depth, and a writer. Integers stay integers, up to 2^64-1.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace json {

/// The text is no JSON, or a value is not what the protocol says. The message says which.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Value;
struct Member;
using Array = std::vector<Value>;
using Object = std::vector<Member>;

/// One JSON value. A number without fraction and exponent is an integer: uint64_t, or int64_t where it is negative.
class Value {
public:
    Value() = default;
    Value(std::nullptr_t) {}
    Value(bool value) : data_(value) {}
    Value(int value) : Value(static_cast<int64_t>(value)) {}
    Value(int64_t value) { value < 0 ? void(data_ = value) : void(data_ = static_cast<uint64_t>(value)); }
    Value(uint32_t value) : data_(static_cast<uint64_t>(value)) {}
    Value(uint64_t value) : data_(value) {}
    Value(double value) : data_(value) {}
    Value(const char* value) : data_(std::string(value)) {}
    Value(std::string value) : data_(std::move(value)) {}
    Value(Array value) : data_(std::move(value)) {}
    Value(Object value) : data_(std::move(value)) {}

    bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
    template <class T> const T* get() const { return std::get_if<T>(&data_); }

private:
    std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> data_;
};

struct Member {
    std::string name;
    Value value;
};

// What a value must be. `what` names it in the message of the Error that is thrown if it is something else.

/// The member called `name`, or null if there is none. A name that stands twice would leave open which one counts.
inline const Value* find(const Value& object, std::string_view name) {
    const Object* members = object.get<Object>();
    if (!members) throw Error("an object with '" + std::string(name) + "' was expected");
    const Value* found = nullptr;
    for (const Member& member : *members) {
        if (member.name != name) continue;
        if (found) throw Error("'" + std::string(name) + "' stands twice in one object");
        found = &member.value;
    }
    return found;
}

inline const Value& at(const Value& object, std::string_view name) {
    if (const Value* found = find(object, name)) return *found;
    throw Error("'" + std::string(name) + "' is missing");
}

template <class T> const T& as(const Value& value, std::string_view what, const char* kind) {
    if (const T* found = value.get<T>()) return *found;
    throw Error(std::string(what) + " must be " + kind);
}

inline const Array& as_array(const Value& value, std::string_view what) { return as<Array>(value, what, "an array"); }
inline const std::string& as_string(const Value& value, std::string_view what) { return as<std::string>(value, what, "a string"); }

inline uint64_t as_uint(const Value& value, std::string_view what, uint64_t most = std::numeric_limits<uint64_t>::max()) {
    const uint64_t* number = value.get<uint64_t>();
    if (!number || *number > most) throw Error(std::string(what) + " must be an integer from 0 to " + std::to_string(most));
    return *number;
}

inline int32_t as_int32(const Value& value, std::string_view what) {
    if (const int64_t* negative = value.get<int64_t>(); negative && *negative >= std::numeric_limits<int32_t>::min()) {
        return static_cast<int32_t>(*negative);
    }
    return static_cast<int32_t>(as_uint(value, what, std::numeric_limits<int32_t>::max()));
}

inline double as_number(const Value& value, std::string_view what) {
    if (const double* number = value.get<double>()) return *number;
    if (const uint64_t* number = value.get<uint64_t>()) return static_cast<double>(*number);
    return static_cast<double>(as<int64_t>(value, what, "a number"));
}

/// Reads one text. Values may stand `max_depth` deep in each other: a reader that calls itself must not run out of stack.
class Reader {
public:
    static constexpr int max_depth = 32;

    static Value read(std::string_view text) {
        Reader reader(text);
        Value value = reader.value(0);
        reader.space();
        if (reader.at_ != text.size()) reader.fail("something follows the value");
        return value;
    }

private:
    explicit Reader(std::string_view text) : text_(text) {}

    [[noreturn]] void fail(const char* why) const {
        throw Error("no JSON at byte " + std::to_string(at_) + ": " + why);
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool digit() const { return peek() >= '0' && peek() <= '9'; }

    void space() {
        while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
    }

    bool take(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    Value value(int depth) {
        if (depth >= max_depth) fail("values stand too deep in each other");
        space();
        if (peek() == '{') return object(depth);
        if (peek() == '[') return array(depth);
        if (peek() == '"') return string();
        if (take("null")) return nullptr;
        if (take("true")) return true;
        if (take("false")) return false;
        if (peek() == '-' || digit()) return number();
        fail("a value was expected");
    }

    /// After an entry: true if another one follows, false if `end` does.
    bool more(char end) {
        space();
        if (take(",")) return true;
        if (peek() != end) fail("a comma or the end was expected");
        ++at_;
        return false;
    }

    Value array(int depth) {
        Array entries;
        ++at_;
        space();
        if (take("]")) return entries;
        do entries.push_back(value(depth + 1));
        while (more(']'));
        return entries;
    }

    Value object(int depth) {
        Object members;
        ++at_;
        space();
        if (take("}")) return members;
        do {
            space();
            if (peek() != '"') fail("a name was expected");
            std::string name = string();
            space();
            if (!take(":")) fail("a colon was expected");
            members.push_back({std::move(name), value(depth + 1)});
        } while (more('}'));
        return members;
    }

    Value number() {
        const size_t start = at_;
        take("-");
        if (!take("0")) digits();
        bool integer = true;
        if (take(".")) integer = false, digits();
        if (take("e") || take("E")) {
            integer = false;
            if (!take("+")) take("-");
            digits();
        }
        const char *first = text_.data() + start, *last = text_.data() + at_;
        if (!integer) return parsed<double>(first, last);
        if (*first == '-') return parsed<int64_t>(first, last);
        return parsed<uint64_t>(first, last);
    }

    void digits() {
        if (!digit()) fail("a digit was expected");
        while (digit()) ++at_;
    }

    template <class T> T parsed(const char* first, const char* last) const {
        T number{};
        const auto result = std::from_chars(first, last, number);
        if (result.ec != std::errc() || result.ptr != last) fail("a number is out of range");
        return number;
    }

    std::string string() {
        std::string out;
        for (++at_;;) {
            if (at_ >= text_.size()) fail("a string has no end");
            const unsigned char byte = static_cast<unsigned char>(text_[at_]);
            if (byte == '"') return ++at_, out;
            if (byte < 0x20) fail("a control character stands in a string");
            if (byte == '\\') ++at_, escape(out);
            else if (byte < 0x80) out += text_[at_++];
            else utf8(out);
        }
    }

    void escape(std::string& out) {
        constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        const char name = peek();
        if (const size_t which = names.find(name); name && which != names.npos) {
            out += meant[which];
            ++at_;
            return;
        }
        if (!take("u")) fail("an unknown escape");
        uint32_t code = hex4();
        if (code >= 0xD800 && code < 0xDC00 && take("\\u")) {
            const uint32_t low = hex4();
            if (low < 0xDC00 || low > 0xDFFF) fail("half a surrogate pair");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code >= 0xD800 && code <= 0xDFFF) {
            fail("half a surrogate pair");
        }
        if (code < 0x80) {
            out += static_cast<char>(code);
            return;
        }
        const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
        out += static_cast<char>(lead[extra] | (code >> (6 * extra)));
        for (int i = extra - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
    }

    uint32_t hex4() {
        uint32_t code = 0;
        const std::string_view word = text_.substr(at_, 4);
        const auto result = std::from_chars(word.data(), word.data() + word.size(), code, 16);
        if (word.size() != 4 || result.ec != std::errc() || result.ptr != word.data() + 4) fail("four hexadecimal digits were expected");
        at_ += 4;
        return code;
    }

    /// Copies one character of several bytes; refuses overlong forms, surrogates and what lies beyond U+10FFFF.
    void utf8(std::string& out) {
        const auto byte = [&](size_t i) { return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0u; };
        const unsigned lead = byte(0);
        const size_t extra = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        uint32_t code = lead & (0x3Fu >> extra);
        bool good = lead >= 0xC2 && lead <= 0xF4;
        for (size_t i = 1; i <= extra; ++i) good = good && (byte(i) & 0xC0) == 0x80, code = code << 6 | (byte(i) & 0x3F);
        constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (!good || code < least[extra] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) fail("no UTF-8");
        out += text_.substr(at_, extra + 1);
        at_ += extra + 1;
    }

    std::string_view text_;
    size_t at_ = 0;
};

inline Value read(std::string_view text) { return Reader::read(text); }

inline void write_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        char escaped[8];
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (static_cast<unsigned char>(c) >= 0x20) out += c;
        else out.append(escaped, static_cast<size_t>(std::snprintf(escaped, sizeof escaped, "\\u%04x", c)));
    }
    out += '"';
}

template <class Entries, class Each> void write_entries(std::string& out, char open, char close, const Entries& entries, Each each) {
    out += open;
    for (size_t i = 0; i < entries.size(); ++i) {
        if (i) out += ',';
        each(entries[i]);
    }
    out += close;
}

inline void write(std::string& out, const Value& value) {
    if (const bool* flag = value.get<bool>()) out += *flag ? "true" : "false";
    else if (const uint64_t* natural = value.get<uint64_t>()) out += std::to_string(*natural);
    else if (const int64_t* negative = value.get<int64_t>()) out += std::to_string(*negative);
    else if (const std::string* text = value.get<std::string>()) write_string(out, *text);
    else if (const Array* array = value.get<Array>()) write_entries(out, '[', ']', *array, [&](const Value& v) { write(out, v); });
    else if (const Object* object = value.get<Object>()) {
        write_entries(out, '{', '}', *object, [&](const Member& m) { write_string(out, m.name), out += ':', write(out, m.value); });
    } else if (const double* number = value.get<double>(); number && std::isfinite(*number)) {
        char digits[32];
        out.append(digits, std::to_chars(digits, digits + sizeof digits, *number).ptr);
    } else out += "null";  // JSON has no number for NaN and the infinities
}

inline std::string write(const Value& value) {
    std::string out;
    write(out, value);
    return out;
}

}  // namespace json
