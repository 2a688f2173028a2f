// Tests of what needs no Windows: the JSON reader and writer, the layout of descs, the request's bindings, bytecode, the options.
#include <cstdio>
#include <cstring>
#include <string>

#include "bytecode.h"
#include "desc_layout.h"
#include "options.h"
#include "protocol.h"

namespace {

int failures = 0;

void check(bool good, const char* what, int line) {
    if (good) return;
    ++failures;
    std::fprintf(stderr, "line %d: %s\n", line, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

template <class Error, class Action> bool throws(Action action) {
    try {
        action();
    } catch (const Error&) {
        return true;
    }
    return false;
}

bool refused(const std::string& text) {
    return throws<json::Error>([&] { json::read(text); });
}

void json_reader() {
    CHECK(json::write(json::read(R"( {"a" : [1, -2, 1.5, true, false, null, "x"] , "b":{}} )")) ==
          R"({"a":[1,-2,1.5,true,false,null,"x"],"b":{}})");
    CHECK(json::as_uint(json::read("18446744073709551615"), "n") == UINT64_MAX);
    CHECK(json::as_int32(json::read("-2147483648"), "n") == INT32_MIN);
    CHECK(json::as_number(json::read("-1e-3"), "n") == -1e-3);
    CHECK(json::as_string(json::read(R"("\u00e4\ud83d\ude00\n\/")"), "s") == "\xC3\xA4\xF0\x9F\x98\x80\n/");
    CHECK(json::as_string(json::read("\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""), "s") == "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    CHECK(json::write(json::Value("\"\\\n")) == R"("\"\\\u000a")");
    for (const char* wrong : {"", "{", "[1,]", "[1 2]", "{\"a\":1,}", "{a:1}", "01", "1.", "+1", "-", ".5", "1e", "NaN", "Infinity", "nul",
                              "1 1", "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\t\"", "\"\xC0\x80\"",
                              "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"", "\"\x80\"", "\"\xE2\x82\"", "18446744073709551616",
                              "-9223372036854775809", "1e999", "[1]]"}) {
        if (!refused(wrong)) check(false, wrong, __LINE__);
    }
    CHECK(refused(std::string(100000, '[')));
    CHECK(!refused(std::string(31, '[') + std::string(31, ']')));
    CHECK(refused(std::string(33, '[') + std::string(33, ']')));
    CHECK(throws<json::Error>([] { json::at(json::read(R"({"a":1,"a":2})"), "a"); }));
    CHECK(throws<json::Error>([] { json::at(json::read(R"({"a":1})"), "b"); }));
    CHECK(throws<json::Error>([] { json::at(json::read("[]"), "b"); }));
    CHECK(throws<json::Error>([] { json::as_uint(json::read("-1"), "n"); }));
    CHECK(throws<json::Error>([] { json::as_uint(json::read("1.0"), "n"); }));
    CHECK(throws<json::Error>([] { json::as_uint(json::read("256"), "n", 255); }));
}

std::string field(const std::string& name, const std::string& type, const std::string& value, const std::string& kind = "attribute") {
    return R"({"name":")" + name + R"(","kind":")" + kind + R"(","type":")" + type + R"(","value":)" + value + "}";
}

OperatorDesc desc(const std::string& fields) { return OperatorDesc(json::read(R"({"operator_type":36,"fields":[)" + fields + "]}")); }

template <class T> T peek(const void* bytes, size_t offset) {
    T value;
    std::memcpy(&value, static_cast<const char*>(bytes) + offset, sizeof value);
    return value;
}

const std::string tensor =
    R"({"data_type":1,"sizes":[2,3],"strides":[4,1],"flags":1,"total_size":28,"alignment":16})";

/// ELEMENT_WISE_CLIP1, as the protocol's documentation lays it out: 0, 8, 16, 24, 32, 40, 48.
void clip1() {
    const OperatorDesc clip = desc(field("InputTensor", "TENSOR_DESC", tensor, "input") + "," +
                                   field("OutputTensor", "TENSOR_DESC", "null", "output") + "," +
                                   field("ScaleBias", "SCALE_BIAS", "[2.0,\"-inf\"]") + "," + field("MinMaxDataType", "UINT", "5") + "," +
                                   field("Min", "SCALAR_UNION", "\"0000c03f00000000\"") + "," +
                                   field("Max", "SCALAR_UNION", "\"0100000000000080\""));
    const void* bytes = clip.get().desc;
    CHECK(clip.get().type == 36);
    const auto* input = peek<const dml::TypedDesc*>(bytes, 0);
    CHECK(input->type == dml::tensor_type_buffer);
    const auto* buffer = static_cast<const dml::BufferTensorDesc*>(input->desc);
    CHECK(buffer->data_type == 1 && buffer->flags == 1 && buffer->dimension_count == 2 && buffer->sizes[1] == 3);
    CHECK(buffer->strides[0] == 4 && buffer->total_tensor_size_in_bytes == 28 && buffer->guaranteed_base_offset_alignment == 16);
    CHECK(peek<const void*>(bytes, 8) == nullptr);
    const auto* scale_bias = peek<const float*>(bytes, 16);
    CHECK(scale_bias[0] == 2.0f && scale_bias[1] < -3.4e38f);
    CHECK(peek<uint32_t>(bytes, 24) == 5);
    CHECK(peek<float>(bytes, 32) == 1.5f);
    CHECK(peek<uint64_t>(bytes, 40) == 0x8000000000000001u);
    CHECK(clip.slots().size() == 2 && clip.slots()[0].owned && clip.slots()[0].present && !clip.slots()[0].output);
    CHECK(clip.slots()[1].output && !clip.slots()[1].present);
}

void packing() {
    const OperatorDesc packed = desc(field("A", "UINT", "1") + "," + field("B", "UINT64", "2") + "," + field("C", "BOOL", "1") + "," +
                                     field("D", "SIZE_2D", "[3,4]") + "," + field("E", "INT", "-5") + "," + field("F", "FLOAT", "\"nan\"") +
                                     "," + field("G", "SCALE_BIAS", "null"));
    const void* bytes = packed.get().desc;
    CHECK(peek<uint32_t>(bytes, 0) == 1 && peek<uint64_t>(bytes, 8) == 2 && peek<uint32_t>(bytes, 16) == 1);
    CHECK(peek<uint32_t>(bytes, 20) == 3 && peek<uint32_t>(bytes, 24) == 4 && peek<int32_t>(bytes, 28) == -5);
    const float nan = peek<float>(bytes, 32);
    CHECK(nan != nan);
    CHECK(peek<const void*>(bytes, 40) == nullptr);
}

void arrays() {
    const OperatorDesc join = desc(field("InputCount", "UINT", "2") + "," +
                                   field("InputTensors", "TENSOR_DESC_ARRAY", "[" + tensor + ",null]", "input") + "," +
                                   field("AxisCount", "UINT", "3") + "," + field("Axes", "UINT_ARRAY", "[7,8,9]") + "," +
                                   field("Offsets", "INT_ARRAY", "[-1,0,1]") + "," + field("Activation", "OPERATOR_DESC",
                                   R"({"operator_type":44,"fields":[)" + field("InputTensor", "TENSOR_DESC", "null", "input") + "," +
                                   field("Alpha", "FLOAT", "0.5") + "]}"));
    const void* bytes = join.get().desc;
    const auto* tensors = peek<const dml::TypedDesc*>(bytes, 8);
    CHECK(tensors[0].type == 1 && tensors[1].type == 0 && tensors[1].desc == nullptr);
    CHECK(peek<uint32_t>(bytes, 16) == 3 && peek<const uint32_t*>(bytes, 24)[2] == 9 && peek<const int32_t*>(bytes, 32)[0] == -1);
    const auto* activation = peek<const dml::TypedDesc*>(bytes, 40);
    CHECK(activation->type == 44 && peek<float>(activation->desc, 8) == 0.5f);
    CHECK(join.slots().size() == 2 && join.slots()[1].name == "InputTensors[1]" && !join.slots()[1].present);

    const auto rejected = [](const std::string& fields) { return throws<protocol::Rejected>([&] { desc(fields); }); };
    const auto wrong = [](const std::string& fields) { return throws<json::Error>([&] { desc(fields); }); };
    CHECK(rejected(field("AxisCount", "UINT", "3") + "," + field("Axes", "UINT_ARRAY", "[7,8]")));
    CHECK(rejected(field("Axes", "UINT_ARRAY", "[7,8]")));
    CHECK(!rejected(field("AxisCount", "UINT", "3") + "," + field("Axes", "UINT_ARRAY", "null")));
    CHECK(rejected(field("A", "TENSOR_DESC",
                         R"({"data_type":1,"sizes":[2],"strides":[1,1],"flags":0,"total_size":8,"alignment":0})", "input")));
    CHECK(wrong(field("A", "UINT", "-1")));
    CHECK(wrong(field("A", "UINT", "\"1\"")));
    CHECK(wrong(field("A", "COLOUR", "1")));
    CHECK(wrong(field("A", "SCALAR_UNION", "\"0000c03f\"")));
    CHECK(wrong(field("A", "SIZE_2D", "[1]")));
    CHECK(wrong(field("A", "TENSOR_DESC", "{}", "input")));
    CHECK(wrong(field("A", "TENSOR_DESC", tensor, "attribute")));
    CHECK(wrong(field("A", "FLOAT", "\"infinity\"")));
    CHECK(wrong("5"));
}

void requests() {
    const auto request = [](const std::string& bindings) {
        return protocol::RunRequest(json::read(R"({"resources":[{"size":8},{"size":0}],"flags":2,"bindings":[)" + bindings + "]}"));
    };
    const protocol::RunRequest good = request(R"({"tensor":"A","resource":1,"offset":4,"size":9})");
    CHECK(!good.paths && protocol::RunRequest(json::read(R"({"resources":[],"bindings":[],"paths":true})")).paths);
    CHECK(good.execute && !protocol::RunRequest(json::read(R"({"resources":[],"bindings":[],"execute":false})")).execute);
    CHECK(throws<json::Error>([] { protocol::RunRequest(json::read(R"({"resources":[],"bindings":[],"paths":1})")); }));
    CHECK(throws<json::Error>([] { protocol::RunRequest(json::read(R"({"resources":[],"bindings":[],"execute":null})")); }));
    CHECK(good.total == 8 && good.flags == 2 && good.find("A")->resource == 1 && good.find("A")->size == 9 && !good.find("B"));
    const auto wrong = [&](const std::string& bindings) { return throws<json::Error>([&] { request(bindings); }); };
    CHECK(wrong(R"({"tensor":"A","resource":2,"offset":0,"size":8})"));
    CHECK(wrong(R"({"tensor":"A","resource":-1,"offset":0,"size":8})"));
    CHECK(wrong(R"({"tensor":"A","resource":0,"offset":0,"size":8},{"tensor":"A","resource":1,"offset":0,"size":8})"));
    CHECK(wrong(R"({"tensor":"A","resource":0,"size":8})"));
}

void put(std::string& bytes, uint64_t number, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i));
}

/// A container whose parts have these names.
std::string container(const std::vector<std::string>& names) {
    std::string bytes = "DXBC" + std::string(24, '\0');
    put(bytes, names.size(), 4);
    const size_t first = bytes.size() + 4 * names.size();
    for (size_t i = 0; i < names.size(); ++i) put(bytes, first + 8 * i, 4);
    for (const std::string& name : names) bytes += name + std::string(4, '\0');
    return bytes;
}

void kinds() {
    const auto kind = [](const std::string& bytes) { return std::string(bytecode::kind(bytes.data(), bytes.size())); };
    CHECK(kind(container({"RDEF", "SHEX"})) == "dxbc");
    CHECK(kind(container({"SFI0", "PSV0", "DXIL"})) == "dxil");
    const std::string dxil = container({"SFI0", "DXIL"});
    for (size_t size = 0; size < dxil.size() - 4; ++size) kind(dxil.substr(0, size));  // reads nothing beyond the end
    CHECK(kind(dxil.substr(0, dxil.size() - 8)) == "dxbc");
    CHECK(kind("") == "dxbc" && kind("DXIL") == "dxbc");
    std::string absurd = dxil;
    absurd.replace(28, 4, std::string(4, '\xff'));
    CHECK(kind(absurd) == "dxil");
    absurd.replace(32, 8, std::string(8, '\xff'));
    CHECK(kind(absurd) == "dxbc");
}

/// Parts of a pipeline's stream, by their types.
std::string stream(const std::vector<uint32_t>& types) {
    std::string bytes;
    for (const uint32_t type : types) {
        put(bytes, type, 4);
        bytes += std::string(type == 18 || type == 20 ? 4 : type == 0 ? 12 : 20, '\0');
    }
    return bytes;
}

void streams() {
    const auto found = [](const std::string& bytes) { return bytecode::compute_stream(bytes.data(), bytes.size()); };
    CHECK(found(stream({6}))->shader == 8 && !found(stream({6}))->cached_state);
    CHECK(found(stream({0, 18, 6}))->shader == 32);
    CHECK(found(stream({20, 6, 19}))->shader == 16 && found(stream({20, 6, 19}))->cached_state == 40u);
    CHECK(found(stream({19, 6}))->cached_state == 8u);
    CHECK(!found("") && !found(stream({0, 18})) && !found(stream({6, 1})));
    CHECK(!found(stream({6}).substr(0, 23)) && !found(stream({6, 18}).substr(0, 26)));
}

void options() {
    const Options options = read_options({"--adapter", "2", "--min-feature-level", "4_1", "--compile", "graph", "--execution-flags",
                                          "DISABLE_META_COMMANDS,DESCRIPTORS_VOLATILE"}, false);
    CHECK(options.adapter == 2u && options.min_feature_level == 0x4100 && options.graph && options.execution_flags == 6);
    CHECK(options.d3d12 == "d3d12.dll" && read_options({}, true).d3d12 == "vkd3dn.dll");
    CHECK(feature_level_name(0x6400) == "6_4");
    const Options folders = read_options({"--replace-kernels", "in", "--dump-kernels", "out"}, false);
    CHECK(folders.replace_kernels == "in" && folders.dump_kernels == "out");
    using Words = std::vector<std::string>;
    for (const Words& wrong : {Words{"--adapter"}, Words{"--adapter", "x"}, Words{"--compile", "both"}, Words{"--execution-flags", "FAST"},
                               Words{"--execution-flags", ""}, Words{"--min-feature-level", "41"}, Words{"--warp", "--adapter", "1"},
                               Words{"--nothing"}, Words{"--dump-kernels"}, Words{"--replace-kernels", ""}}) {
        if (!throws<OptionError>([&] { read_options(wrong, false); })) check(false, wrong[0].c_str(), __LINE__);
    }
}

}  // namespace

int main() {
    json_reader();
    clip1();
    packing();
    arrays();
    requests();
    kinds();
    streams();
    options();
    if (!failures) std::puts("all passed");
    return failures != 0;
}
