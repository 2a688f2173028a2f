// The part of ONNX Runtime's C API that the client uses: own declarations of its ABI, which only ever grows at its end, so that neither
// headers nor an import library are needed. A function is known by its place in OrtApi.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ort {

struct Env;
struct Status;
struct SessionOptions;
struct Session;
struct MemoryInfo;
struct Allocator;
struct Value;
struct TypeInfo;
struct TensorInfo;

/// ORT_API_VERSION of the functions below: 1.14, whose DirectML provider is the first that takes an IDMLDevice through this interface.
constexpr uint32_t api_version = 14;

struct ApiBase {
    const void* const*(__stdcall* get_api)(uint32_t version);
    const char*(__stdcall* version)();
};

struct DirectMlApi {
    void* append_by_adapter;
    Status*(__stdcall* append)(SessionOptions*, void* dml_device, void* command_queue);
};

enum class Execution : int { sequential = 0 };
enum class Optimization : int { none = 0, all = 99 };
enum class Element : int {
    float32 = 1, uint8, int8, uint16, int16, int32, int64, string, boolean, float16, float64, uint32, uint64, complex64, complex128,
    bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4
};

/// OrtApi, by the places of its functions.
class Api {
public:
    explicit Api(const void* const* functions) : functions_(functions) {}

    template <class Result, class... Arguments> Result call(size_t place, Arguments... arguments) const {
        return reinterpret_cast<Result(__stdcall*)(Arguments...)>(const_cast<void*>(functions_[place]))(arguments...);
    }

    const char* error_message(const Status* status) const { return call<const char*>(2, status); }
    void release_status(Status* status) const { call<void>(93, status); }
    Status* create_env(int level, const char* name, Env** out) const { return call<Status*>(3, level, name, out); }
    Status* create_session(Env* env, const wchar_t* model, const SessionOptions* options, Session** out) const {
        return call<Status*>(7, static_cast<const Env*>(env), model, options, out);
    }
    Status* run(Session* session, const char* const* inputs, const Value* const* values, size_t count, const char* const* outputs,
                size_t output_count, Value** out) const {
        return call<Status*>(9, session, static_cast<const void*>(nullptr), inputs, values, count, outputs, output_count, out);
    }
    Status* create_options(SessionOptions** out) const { return call<Status*>(10, out); }
    Status* set_execution(SessionOptions* options, Execution mode) const { return call<Status*>(13, options, mode); }
    Status* disable_memory_pattern(SessionOptions* options) const { return call<Status*>(17, options); }
    Status* set_optimization(SessionOptions* options, Optimization level) const { return call<Status*>(23, options, level); }
    Status* input_count(const Session* session, size_t* out) const { return call<Status*>(30, session, out); }
    Status* output_count(const Session* session, size_t* out) const { return call<Status*>(31, session, out); }
    Status* input_type(const Session* session, size_t index, TypeInfo** out) const { return call<Status*>(33, session, index, out); }
    Status* input_name(const Session* session, size_t index, Allocator* allocator, char** out) const {
        return call<Status*>(36, session, index, allocator, out);
    }
    Status* output_name(const Session* session, size_t index, Allocator* allocator, char** out) const {
        return call<Status*>(37, session, index, allocator, out);
    }
    Status* create_tensor(const MemoryInfo* memory, void* data, size_t size, const int64_t* shape, size_t rank, Element type,
                          Value** out) const {
        return call<Status*>(49, memory, data, size, shape, rank, type, out);
    }
    Status* is_tensor(const Value* value, int* out) const { return call<Status*>(50, value, out); }
    Status* tensor_data(Value* value, void** out) const { return call<Status*>(51, value, out); }
    Status* tensor_info(const TypeInfo* type, const TensorInfo** out) const { return call<Status*>(55, type, out); }
    Status* element_type(const TensorInfo* info, Element* out) const { return call<Status*>(60, info, out); }
    Status* rank(const TensorInfo* info, size_t* out) const { return call<Status*>(61, info, out); }
    Status* sizes(const TensorInfo* info, int64_t* out, size_t count) const { return call<Status*>(62, info, out, count); }
    Status* value_info(const Value* value, TensorInfo** out) const { return call<Status*>(65, value, out); }
    Status* create_cpu_memory(int allocator, int kind, MemoryInfo** out) const { return call<Status*>(69, allocator, kind, out); }
    Status* allocator_free(Allocator* allocator, void* memory) const { return call<Status*>(76, allocator, memory); }
    Status* default_allocator(Allocator** out) const { return call<Status*>(78, out); }
    void release_env(Env* env) const { call<void>(92, env); }
    void release_memory(MemoryInfo* memory) const { call<void>(94, memory); }
    void release_session(Session* session) const { call<void>(95, session); }
    void release_value(Value* value) const { call<void>(96, value); }
    void release_type(TypeInfo* type) const { call<void>(98, type); }
    void release_tensor_info(TensorInfo* info) const { call<void>(99, info); }
    void release_options(SessionOptions* options) const { call<void>(100, options); }
    Status* set_dimension(SessionOptions* options, const char* name, int64_t size) const {
        return call<Status*>(124, options, name, size);
    }
    Status* set_config(SessionOptions* options, const char* key, const char* value) const {
        return call<Status*>(130, options, key, value);
    }
    Status* provider_api(const char* name, uint32_t version, const void** out) const { return call<Status*>(195, name, version, out); }

private:
    const void* const* functions_;
};

}  // namespace ort
