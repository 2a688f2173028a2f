// Runs ONNX models with ONNX Runtime's DirectML provider, on a device that is made here: a real client of a DirectML.dll.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "d3d12_device.h"
#include "directml_device.h"
#include "guard.h"
#include "onnxruntime_api.h"

#include <shellapi.h>

namespace {

const char* const client_usage =
    "usage: dmlcts-onnxruntime --onnxruntime DLL --model FILE --out FOLDER [options]\n"
    "or:    dmlcts-onnxruntime --onnxruntime DLL --each FILE [options]\n"
    "Runs a model, and writes what came of it to FOLDER: result.json, and output_N.bin for each output. An input whose bytes lie in FOLDER as\n"
    "input_N.bin, with its sizes as text in input_N.sizes, is not random. --each runs the model.onnx in each of the folders that FILE names, one\n"
    "a line, one after the other, and ends after a model that cannot be run to its end, since the device may be lost.\n"
    "  --only-provider    no model of which ONNX Runtime would run a node by its CPU provider\n"
    "  --cpu              ONNX Runtime's own CPU provider instead of DirectML's\n"
    "  --optimize         with ONNX Runtime's graph optimizations\n"
    "  --no-graph         each node as an operator of its own, where the provider would compile a graph of many\n"
    "  --runs N           run it so many times; the default is 1\n"
    "  --seed N           of the random inputs; the default is 1\n"
    "  --dimension NAME=N the size of a free dimension; the others are 1\n"
    "and those of dmlcts-directml-host that say what it runs on: --dll, --adapter, --warp, --min-feature-level, --d3d12\n";

struct Arguments {
    std::string onnxruntime, model, out, each;
    bool cpu = false, optimize = false, graph = true, only_provider = false;
    unsigned runs = 1, seed = 1;
    std::vector<std::pair<std::string, int64_t>> dimensions;
    std::vector<std::string> of_device;
};

unsigned number(const std::string& text, const std::string& option) {
    unsigned found = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), found);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) throw OptionError(option + " needs a number, not '" + text + "'");
    return found;
}

Arguments read_arguments(const std::vector<std::string>& words) {
    Arguments found;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& option = words[i];
        const auto value = [&]() -> const std::string& {
            if (++i >= words.size()) throw OptionError(option + " needs a value");
            return words[i];
        };
        if (option == "--onnxruntime") found.onnxruntime = value();
        else if (option == "--model") found.model = value();
        else if (option == "--out") found.out = value();
        else if (option == "--each") found.each = value();
        else if (option == "--only-provider") found.only_provider = true;
        else if (option == "--cpu") found.cpu = true;
        else if (option == "--optimize") found.optimize = true;
        else if (option == "--no-graph") found.graph = false;
        else if (option == "--runs") found.runs = number(value(), option);
        else if (option == "--seed") found.seed = number(value(), option);
        else if (option == "--dimension") {
            const std::string& text = value();
            const size_t equals = text.rfind('=');
            if (equals == text.npos) throw OptionError("--dimension needs NAME=N, not '" + text + "'");
            found.dimensions.push_back({text.substr(0, equals), number(text.substr(equals + 1), option)});
        } else found.of_device.push_back(option);
    }
    if (found.onnxruntime.empty()) throw OptionError("--onnxruntime is needed");
    if (found.each.empty() && (found.model.empty() || found.out.empty())) throw OptionError("--model and --out are needed, or --each");
    return found;
}

/// Bytes of an element, and how DirectML calls its type; 0 for what is no plain number.
struct ElementKind {
    size_t size;
    const char* name;
};

ElementKind kind_of(ort::Element type) {
    switch (type) {
        case ort::Element::float32: return {4, "FLOAT32"};
        case ort::Element::float16: return {2, "FLOAT16"};
        case ort::Element::float64: return {8, "FLOAT64"};
        case ort::Element::boolean: return {1, "BOOL"};
        case ort::Element::uint8: return {1, "UINT8"};
        case ort::Element::uint16: return {2, "UINT16"};
        case ort::Element::uint32: return {4, "UINT32"};
        case ort::Element::uint64: return {8, "UINT64"};
        case ort::Element::int8: return {1, "INT8"};
        case ort::Element::int16: return {2, "INT16"};
        case ort::Element::int32: return {4, "INT32"};
        case ort::Element::int64: return {8, "INT64"};
        default: return {0, "another type"};
    }
}

/// A number from -1 to 1 in steps of 1/256, which FLOAT16 holds too: its bits are those of the nearest FLOAT16.
uint16_t half_of(int steps) {
    if (!steps) return 0;
    int size = std::abs(steps), exponent = 17;  // of size / 256 = 1.f * 2^(exponent - 15)
    for (; size < 1024; size <<= 1) --exponent;
    return static_cast<uint16_t>((steps < 0 ? 0x8000 : 0) | exponent << 10 | (size & 1023));
}

/// Random elements: floats from -1 to 1, integers and booleans 0 or 1, which are valid as indices and tokens too.
std::vector<unsigned char> random_data(ort::Element type, size_t count, uint32_t& state) {
    const size_t size = kind_of(type).size;
    std::vector<unsigned char> bytes(std::max<size_t>(count * size, 1));
    for (size_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        const int steps = static_cast<int>(state >> 16 & 511) - 256;
        unsigned char* at = bytes.data() + i * size;
        if (type == ort::Element::float32) {
            const float value = static_cast<float>(steps) / 256;
            std::memcpy(at, &value, sizeof value);
        } else if (type == ort::Element::float64) {
            const double value = steps / 256.0;
            std::memcpy(at, &value, sizeof value);
        } else if (type == ort::Element::float16) {
            const uint16_t value = half_of(steps);
            std::memcpy(at, &value, sizeof value);
        } else {
            *at = static_cast<unsigned char>(state >> 16 & 1);
        }
    }
    return bytes;
}

void write_file(const std::string& path, const void* data, size_t size) {
    std::FILE* file = _wfopen(wide(path).c_str(), L"wb");
    const bool good = file && std::fwrite(data, 1, size, file) == size;
    if ((file && std::fclose(file)) || !good) throw protocol::Fault(path + " cannot be written");
}

/// The bytes of a file; none, and false, if there is none.
bool read_file(const std::string& path, std::string& found) {
    std::FILE* file = _wfopen(wide(path).c_str(), L"rb");
    if (!file) return false;
    char part[65536];
    for (size_t size; (size = std::fread(part, 1, sizeof part, file));) found.append(part, size);
    std::fclose(file);
    return true;
}

/// A model that was taken, but did not run to its end.
struct RunFault : protocol::Fault {
    using protocol::Fault::Fault;
};

/// One model, from the DLL to its outputs.
class Client {
public:
    Client(const Arguments& arguments, const Options& options) : arguments_(arguments) {
        guard::doing("loading onnxruntime.dll");
        const HMODULE module = LoadLibraryExW(wide(arguments.onnxruntime).c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
        if (!module) throw protocol::Fault(arguments.onnxruntime + " cannot be loaded: " + last_error());
        const auto* base = function<const ort::ApiBase*()>(module, "OrtGetApiBase", arguments.onnxruntime)();
        version = base->version();
        const void* const* functions = base->get_api(ort::api_version);
        if (!functions) throw protocol::Fault("onnxruntime.dll " + version + " is too old");
        api_ = std::make_unique<ort::Api>(functions);
        guard::doing("making the environment of ONNX Runtime");
        need_ort(api_->create_env(2, "dmlcts", &env_), "CreateEnv");
        need_ort(api_->create_options(&options_), "CreateSessionOptions");
        need_ort(api_->set_optimization(options_, arguments.optimize ? ort::Optimization::all : ort::Optimization::none), "optimization");
        for (const auto& [name, size] : arguments.dimensions) need_ort(api_->set_dimension(options_, name.c_str(), size), "--dimension");
        if (!arguments.graph) need_ort(api_->set_config(options_, "ep.dml.disable_graph_fusion", "1"), "--no-graph");
        if (arguments.only_provider) need_ort(api_->set_config(options_, "session.disable_cpu_ep_fallback", "1"), "--only-provider");
        if (!arguments.cpu) use_directml(options);
        guard::doing("making the session");
        need_ort(api_->create_session(env_, wide(arguments.model).c_str(), options_, &session_), "CreateSession");
        need_ort(api_->default_allocator(&allocator_), "GetAllocatorWithDefaultOptions");
        need_ort(api_->create_cpu_memory(1, 0, &memory_), "CreateCpuMemoryInfo");
    }

    ~Client() {
        for (ort::Value* value : values_) api_->release_value(value);
        if (memory_) api_->release_memory(memory_);
        if (session_) api_->release_session(session_);
        if (options_) api_->release_options(options_);
        if (env_) api_->release_env(env_);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Runs the model, and adds what came of it to `result`.
    void run(json::Object& result) {
        size_t count = 0;
        need_ort(api_->input_count(session_, &count), "SessionGetInputCount");
        json::Array described;
        uint32_t state = arguments_.seed;
        for (size_t i = 0; i < count; ++i) described.push_back(make_input(i, state));
        result.push_back({"inputs", std::move(described)});
        need_ort(api_->output_count(session_, &count), "SessionGetOutputCount");
        for (size_t i = 0; i < count; ++i) {
            char* name = nullptr;
            need_ort(api_->output_name(session_, i, allocator_, &name), "SessionGetOutputName");
            output_names_.push_back(taken(name));
        }
        json::Array seconds, outputs;
        for (unsigned i = 0; i < arguments_.runs; ++i) {
            const auto start = std::chrono::steady_clock::now();
            std::vector<ort::Value*> made = run_once();
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            outputs.clear();
            for (size_t k = 0; k < made.size(); ++k) {
                if (made[k]) values_.push_back(made[k]);
                outputs.push_back(write_output(k, made[k]));
            }
        }
        result.push_back({"seconds", std::move(seconds)});
        result.push_back({"outputs", std::move(outputs)});
    }

    std::string version, device_name;

    /// References to the DirectML device that others than this program hold: none, once the session is gone.
    static unsigned long foreign_references() {
        if (!directml_) return 0;
        (*directml_)->AddRef();
        return (*directml_)->Release() - 1;
    }

private:
    void need_ort(ort::Status* status, const char* what) const {
        if (!status) return;
        const std::string message = api_->error_message(status);
        api_->release_status(status);
        throw protocol::Fault(std::string(what) + ": " + message);
    }

    void use_directml(const Options& options) {
        need_ort(api_->disable_memory_pattern(options_), "DisableMemPattern");
        need_ort(api_->set_execution(options_, ort::Execution::sequential), "SetSessionExecutionMode");
        if (!queue_) make_device(options);
        device_name = d3d12_->name;
        const void* provider = nullptr;
        need_ort(api_->provider_api("DML", ort::api_version, &provider), "GetExecutionProviderApi");
        guard::doing("appending the DirectML provider");
        need_ort(static_cast<const ort::DirectMlApi*>(provider)->append(options_, directml_->get(), queue_->get()),
                 "SessionOptionsAppendExecutionProvider_DML1");
    }

    /// The device, for all models. It outlives the sessions, and whatever the provider does when the program ends.
    static void make_device(const Options& options) {
        d3d12_ = new D3d12Device(options);
        static const DirectMlLibrary library(options);
        directml_ = new Com<dml::IDevice>(library.create_device(d3d12_->get(), options.min_feature_level));
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        desc.Flags = D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT;
        queue_ = new Com<ID3D12CommandQueue>();
        need(d3d12_->get()->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue_->out()), "CreateCommandQueue");
    }

    std::string taken(char* name) const {
        const std::string text = name;
        need_ort(api_->allocator_free(allocator_, name), "AllocatorFree");
        return text;
    }

    json::Value make_input(size_t index, uint32_t& state) {
        char* name = nullptr;
        need_ort(api_->input_name(session_, index, allocator_, &name), "SessionGetInputName");
        input_names_.push_back(taken(name));
        ort::TypeInfo* type = nullptr;
        need_ort(api_->input_type(session_, index, &type), "SessionGetInputTypeInfo");
        const ort::TensorInfo* info = nullptr;
        need_ort(api_->tensor_info(type, &info), "CastTypeInfoToTensorInfo");
        if (!info) throw protocol::Fault("the input " + input_names_.back() + " is no tensor");
        auto [element, sizes] = describe(info);
        api_->release_type(type);
        if (!kind_of(element).size) throw protocol::Fault("the input " + input_names_.back() + " has no plain numbers");
        const std::string given = arguments_.out + "\\input_" + std::to_string(index);
        std::string text, bytes;
        const bool is_given = read_file(given + ".sizes", text) && read_file(given + ".bin", bytes);
        if (is_given) {
            std::istringstream numbers(text);
            sizes.clear();
            for (int64_t size; numbers >> size;) sizes.push_back(size);
        }
        size_t count = 1;
        for (int64_t& size : sizes) {
            if (size < 0) size = 1;
            count *= static_cast<size_t>(size);
        }
        if (is_given && bytes.size() != count * kind_of(element).size)
            throw protocol::Fault("the input " + input_names_.back() + " needs " + std::to_string(count * kind_of(element).size) +
                                  " bytes, but " + given + ".bin has " + std::to_string(bytes.size()));
        if (is_given) {
            data_.emplace_back(bytes.begin(), bytes.end());
            data_.back().resize(std::max<size_t>(bytes.size(), 1));
        } else {
            data_.push_back(random_data(element, count, state));
        }
        ort::Value* value = nullptr;
        need_ort(api_->create_tensor(memory_, data_.back().data(), count * kind_of(element).size, sizes.data(), sizes.size(), element, &value),
                 "CreateTensorWithDataAsOrtValue");
        values_.push_back(value);
        inputs_.push_back(value);
        return tensor_json(input_names_.back(), element, sizes);
    }

    std::pair<ort::Element, std::vector<int64_t>> describe(const ort::TensorInfo* info) const {
        ort::Element element{};
        size_t rank = 0;
        need_ort(api_->element_type(info, &element), "GetTensorElementType");
        need_ort(api_->rank(info, &rank), "GetDimensionsCount");
        std::vector<int64_t> sizes(rank);
        need_ort(api_->sizes(info, sizes.data(), rank), "GetDimensions");
        return {element, sizes};
    }

    static json::Object tensor_json(const std::string& name, ort::Element element, const std::vector<int64_t>& sizes) {
        json::Array numbers;
        for (const int64_t size : sizes) numbers.push_back(size);
        return {{"name", name}, {"type", kind_of(element).name}, {"sizes", std::move(numbers)}};
    }

    std::vector<ort::Value*> run_once() {
        guard::doing("running the model");
        std::vector<const char*> inputs, outputs;
        for (const std::string& name : input_names_) inputs.push_back(name.c_str());
        for (const std::string& name : output_names_) outputs.push_back(name.c_str());
        std::vector<ort::Value*> made(outputs.size(), nullptr);
        try {
            need_ort(api_->run(session_, inputs.data(), inputs_.data(), inputs.size(), outputs.data(), outputs.size(), made.data()), "Run");
        } catch (const protocol::Fault& fault) {
            throw RunFault(fault.what());
        }
        return made;
    }

    json::Value write_output(size_t index, ort::Value* value) const {
        int tensor = 0;
        if (value) need_ort(api_->is_tensor(value, &tensor), "IsTensor");
        if (!tensor) return json::Object{{"name", output_names_[index]}};
        ort::TensorInfo* info = nullptr;
        need_ort(api_->value_info(value, &info), "GetTensorTypeAndShape");
        const auto [element, sizes] = describe(info);
        api_->release_tensor_info(info);
        json::Object found = tensor_json(output_names_[index], element, sizes);
        if (const size_t size = kind_of(element).size) {
            size_t bytes = size;
            for (const int64_t one : sizes) bytes *= static_cast<size_t>(one);
            void* data = nullptr;
            need_ort(api_->tensor_data(value, &data), "GetTensorMutableData");
            const std::string name = "output_" + std::to_string(index) + ".bin";
            write_file(arguments_.out + "\\" + name, data, bytes);
            found.push_back({"file", name});
        }
        return found;
    }

    const Arguments& arguments_;
    std::unique_ptr<ort::Api> api_;
    ort::Env* env_ = nullptr;
    ort::SessionOptions* options_ = nullptr;
    ort::Session* session_ = nullptr;
    ort::Allocator* allocator_ = nullptr;
    ort::MemoryInfo* memory_ = nullptr;
    std::vector<std::string> input_names_, output_names_;
    std::vector<std::vector<unsigned char>> data_;
    std::vector<const ort::Value*> inputs_;
    std::vector<ort::Value*> values_;  // all that are to be released
    static D3d12Device* d3d12_;
    static Com<dml::IDevice>* directml_;
    static Com<ID3D12CommandQueue>* queue_;
};

D3d12Device* Client::d3d12_ = nullptr;
Com<dml::IDevice>* Client::directml_ = nullptr;
Com<ID3D12CommandQueue>* Client::queue_ = nullptr;

std::vector<std::string> command_line() {
    int count = 0;
    wchar_t** words = CommandLineToArgvW(GetCommandLineW(), &count);
    std::vector<std::string> found;
    for (int i = 1; words && i < count; ++i) found.push_back(utf8(words[i]));
    LocalFree(words);
    return found;
}

enum class Ended { well, refused, broken };

/// Runs one model, and writes result.json beside its outputs.
Ended run_model(const Arguments& arguments, const Options& options) {
    json::Object result{{"status", "ok"}};
    Ended ended = Ended::well;
    try {
        {
            Client client(arguments, options);
            result.push_back({"onnxruntime", client.version});
            result.push_back({"device", client.device_name});
            client.run(result);
        }
        result.push_back({"references", static_cast<uint64_t>(Client::foreign_references())});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ended = dynamic_cast<const RunFault*>(&error) ? Ended::broken : Ended::refused;
        result = {{"status", "error"}, {"message", error.what()}, {"stage", ended == Ended::broken ? "run" : "load"}};
    }
    try {
        const std::string text = json::write(std::move(result)) + "\n";
        write_file(arguments.out + "\\result.json", text.data(), text.size());
    } catch (const protocol::Fault& fault) {
        std::fprintf(stderr, "%s\n", fault.what());
        ended = Ended::broken;
    }
    return ended;
}

/// Runs the models of a list of folders. One that breaks is the last.
Ended run_each(Arguments arguments, const Options& options) {
    std::string text;
    if (!read_file(arguments.each, text)) throw OptionError(arguments.each + " cannot be read");
    std::istringstream lines(text);
    Ended ended = Ended::well;
    for (std::string folder; ended != Ended::broken && std::getline(lines, folder);) {
        if (!folder.empty() && folder.back() == '\r') folder.pop_back();
        if (folder.empty()) continue;
        arguments.out = folder;
        arguments.model = folder + "\\model.onnx";
        ended = run_model(arguments, options);
    }
    return ended == Ended::broken ? ended : Ended::well;
}

}  // namespace

int main() {
    guard::report_crashes();
    Ended ended = Ended::well;
    try {
        const Arguments arguments = read_arguments(command_line());
        const Options options = read_options(arguments.of_device, !wine::version().empty());
        ended = arguments.each.empty() ? run_model(arguments, options) : run_each(arguments, options);
    } catch (const OptionError& error) {
        std::fprintf(stderr, "%s\n%s", error.what(), client_usage);
        return 2;
    }
    std::fflush(nullptr);
    // Not through the destructors of DLLs: drivers' threads may be at work in them.
    TerminateProcess(GetCurrentProcess(), ended == Ended::well ? 0u : 1u);
    return 1;
}
