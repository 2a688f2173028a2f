#include "kernels.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "bytecode.h"
#include "d3d12_slots.h"
#include "sha256.h"

using hooks::forward;
using hooks::Outermost;

namespace {

constexpr size_t digest_digits = 16, most_paths = 1024, longest_label = 200;
const std::string unknown = "unknown";
constexpr const char* replaced = " (replaced)";

/// Of the private data of pipelines and metacommands: where the label stands.
constexpr GUID label_id = {0x5a3c19d2, 0x7e40, 0x4b1f, {0x9d, 0x26, 0xc8, 0x0e, 0x41, 0xb7, 0x53, 0xfa}};

std::atomic<Kernels*> followed{nullptr};

void say(const std::string& text) { std::fprintf(stderr, "dmlcts-directml-host: %s\n", text.c_str()); }

/// What is noted must never become DirectML's trouble: without memory it goes unnoted.
template <class Action> void quietly(Action action) noexcept {
    try {
        if (Kernels* kernels = followed.load(std::memory_order_acquire)) action(*kernels);
    } catch (const std::exception&) {
    }
}

const std::string* label_of(ID3D12Object* object) {
    const std::string* label = nullptr;
    UINT size = sizeof label;
    return object && SUCCEEDED(object->GetPrivateData(label_id, &size, &label)) && size == sizeof label ? label : &unknown;
}

/// "{26caae7a-3081-4633-9581-226fbe57695d}"
std::string text_of(const GUID& id) {
    char text[40];
    std::snprintf(text, sizeof text, "{%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}", static_cast<unsigned long>(id.Data1), id.Data2,
                  id.Data3, id.Data4[0], id.Data4[1], id.Data4[2], id.Data4[3], id.Data4[4], id.Data4[5], id.Data4[6], id.Data4[7]);
    return text;
}

/// The driver's name of a metacommand; empty if it tells none.
std::string metacommand_name(ID3D12Device5* device, const GUID& id) {
    UINT count = 0;
    if (FAILED(device->EnumerateMetaCommands(&count, nullptr)) || !count) return "";
    std::vector<D3D12_META_COMMAND_DESC> descs(count);
    if (FAILED(device->EnumerateMetaCommands(&count, descs.data()))) return "";
    const auto found = std::find_if(descs.begin(), descs.end(), [&](const D3D12_META_COMMAND_DESC& desc) { return desc.Id == id; });
    return found == descs.end() || !found->Name ? "" : utf8(found->Name);
}

/// Whether this thread records the work of an initializer: threads of a sequence record at the same time.
thread_local bool is_initializing = false;

/// A label of at most so many bytes that a mark of initialization fits behind it, and cut between characters of UTF-8.
std::string cut(std::string label) {
    size_t end = std::min(label.size(), longest_label - 20);
    while (end < label.size() && (static_cast<unsigned char>(label[end]) & 0xC0) == 0x80) --end;
    label.resize(end);
    return label;
}

/// Makes a pipeline by `make(replacement)`, which gets other bytecode, or null.
template <class Make> HRESULT make_pipeline(void* device, const D3D12_SHADER_BYTECODE& bytecode, void** out, Make make) {
    Kernels::Kernel kernel;
    quietly([&](Kernels& kernels) { kernel = kernels.kernel(bytecode); });
    const HRESULT result = make(kernel.replacement);
    if (FAILED(result) && kernel.replacement) say(*kernel.label + ": no pipeline can be made of what replaces it: " + hex(result));
    if (kernel.label) quietly([&](Kernels& kernels) { kernels.created(device, kernel.label, result, out); });
    return result;
}

HRESULT STDMETHODCALLTYPE on_create_compute_pipeline(ID3D12Device* self, const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, const IID* iid,
                                                     void** out) {
    const Outermost outermost;
    if (!outermost || !desc || !desc->CS.pShaderBytecode) return forward<HRESULT>(self, slot_create_compute_pipeline, desc, iid, out);
    return make_pipeline(self, desc->CS, out, [&](const std::string* replacement) {
        D3D12_COMPUTE_PIPELINE_STATE_DESC own = *desc;
        if (replacement) {
            own.CS = {replacement->data(), replacement->size()};
            own.CachedPSO = {};  // which is of the other bytecode
        }
        return forward<HRESULT>(self, slot_create_compute_pipeline, static_cast<const D3D12_COMPUTE_PIPELINE_STATE_DESC*>(&own), iid, out);
    });
}

HRESULT STDMETHODCALLTYPE on_create_pipeline(ID3D12Device2* self, const D3D12_PIPELINE_STATE_STREAM_DESC* desc, const IID* iid, void** out) {
    const Outermost outermost;
    std::optional<bytecode::ComputeStream> stream;
    if (outermost && desc && desc->pPipelineStateSubobjectStream) {
        stream = bytecode::compute_stream(desc->pPipelineStateSubobjectStream, desc->SizeInBytes);
    }
    const char* parts = stream ? static_cast<const char*>(desc->pPipelineStateSubobjectStream) : nullptr;
    if (!stream) return forward<HRESULT>(self, slot_create_pipeline, desc, iid, out);
    D3D12_SHADER_BYTECODE shader;
    std::memcpy(&shader, parts + stream->shader, sizeof shader);
    return make_pipeline(self, shader, out, [&](const std::string* replacement) {
        if (!replacement) return forward<HRESULT>(self, slot_create_pipeline, desc, iid, out);
        std::vector<uint64_t> own((desc->SizeInBytes + 7) / 8);  // of 64 bits each, since parts are aligned as pointers are
        char* const bytes = reinterpret_cast<char*>(own.data());
        std::memcpy(bytes, parts, desc->SizeInBytes);
        const D3D12_SHADER_BYTECODE other{replacement->data(), replacement->size()};
        std::memcpy(bytes + stream->shader, &other, sizeof other);
        if (stream->cached_state) std::memset(bytes + *stream->cached_state, 0, sizeof(D3D12_CACHED_PIPELINE_STATE));
        const D3D12_PIPELINE_STATE_STREAM_DESC changed{desc->SizeInBytes, bytes};
        return forward<HRESULT>(self, slot_create_pipeline, &changed, iid, out);
    });
}

HRESULT STDMETHODCALLTYPE on_create_metacommand(ID3D12Device5* self, const GUID* id, UINT nodes, const void* parameters, SIZE_T size,
                                                const IID* iid, void** out) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, slot_create_metacommand, id, nodes, parameters, size, iid, out);
    if (outermost && id) {
        quietly([&](Kernels& kernels) {
            const std::string name = metacommand_name(self, *id);
            kernels.created(self, kernels.label(cut("metacommand " + text_of(*id) + (name.empty() ? "" : " " + name))), result, out);
        });
    }
    return result;
}

void STDMETHODCALLTYPE on_set_pipeline(ID3D12GraphicsCommandList* self, ID3D12PipelineState* pipeline) {
    const Outermost outermost;
    if (outermost) quietly([&](Kernels& kernels) { kernels.sets(self, pipeline); });
    forward<void>(self, slot_set_pipeline, pipeline);
}

void STDMETHODCALLTYPE on_clear_state(ID3D12GraphicsCommandList* self, ID3D12PipelineState* pipeline) {
    const Outermost outermost;
    if (outermost) quietly([&](Kernels& kernels) { kernels.sets(self, pipeline); });
    forward<void>(self, slot_clear_state, pipeline);
}

void STDMETHODCALLTYPE on_dispatch(ID3D12GraphicsCommandList* self, UINT x, UINT y, UINT z) {
    const Outermost outermost;
    const Kernels::Groups groups{x, y, z};
    if (outermost) quietly([&](Kernels& kernels) { kernels.dispatches(self, nullptr, &groups); });
    forward<void>(self, slot_dispatch, x, y, z);
}

void STDMETHODCALLTYPE on_execute_indirect(ID3D12GraphicsCommandList* self, ID3D12CommandSignature* signature, UINT most,
                                           ID3D12Resource* arguments, UINT64 offset, ID3D12Resource* count, UINT64 count_offset) {
    const Outermost outermost;
    if (outermost) quietly([&](Kernels& kernels) { kernels.dispatches(self, nullptr, nullptr); });
    forward<void>(self, slot_execute_indirect, signature, most, arguments, offset, count, count_offset);
}

void STDMETHODCALLTYPE on_execute_metacommand(ID3D12GraphicsCommandList4* self, ID3D12MetaCommand* metacommand, const void* parameters,
                                              SIZE_T size) {
    const Outermost outermost;
    if (outermost && metacommand) quietly([&](Kernels& kernels) { kernels.dispatches(self, metacommand, nullptr); });
    forward<void>(self, slot_execute_metacommand, metacommand, parameters, size);
}

struct Method {
    size_t slot;
    void* ours;
};

template <class Function> void* address(Function function) { return reinterpret_cast<void*>(function); }

const std::vector<Method>& device_methods() {
    static const std::vector<Method> methods = {{slot_create_compute_pipeline, address(on_create_compute_pipeline)},
                                                {slot_create_pipeline, address(on_create_pipeline)},
                                                {slot_create_metacommand, address(on_create_metacommand)}};
    return methods;
}

const std::vector<Method>& list_methods() {
    static const std::vector<Method> methods = {{slot_dispatch, address(on_dispatch)},
                                                {slot_clear_state, address(on_clear_state)},
                                                {slot_set_pipeline, address(on_set_pipeline)},
                                                {slot_execute_indirect, address(on_execute_indirect)},
                                                {slot_execute_metacommand, address(on_execute_metacommand)}};
    return methods;
}

/// An interface, and how many methods it has with all that it extends.
struct Face {
    const IID& iid;
    size_t methods;
};

/// Each interface may have a vtable of its own: nothing says that a newer one is the same object's memory.
const std::vector<Face>& device_faces() {
    static const std::vector<Face> faces = {
        {__uuidof(ID3D12Device), methods_of_device},
        {__uuidof(ID3D12Device1), methods_of_device1},
        {__uuidof(ID3D12Device2), methods_of_device2},
        {__uuidof(ID3D12Device3), methods_of_device3},
        {__uuidof(ID3D12Device4), methods_of_device4},
        {__uuidof(ID3D12Device5), methods_of_device5},
        {__uuidof(ID3D12Device6), methods_of_device6},
        {__uuidof(ID3D12Device7), methods_of_device7},
        {__uuidof(ID3D12Device8), methods_of_device8},
    };
    return faces;
}

const std::vector<Face>& list_faces() {
    static const std::vector<Face> faces = {
        {__uuidof(ID3D12GraphicsCommandList), methods_of_list},
        {__uuidof(ID3D12GraphicsCommandList1), methods_of_list1},
        {__uuidof(ID3D12GraphicsCommandList2), methods_of_list2},
        {__uuidof(ID3D12GraphicsCommandList3), methods_of_list3},
        {__uuidof(ID3D12GraphicsCommandList4), methods_of_list4},
        {__uuidof(ID3D12GraphicsCommandList5), methods_of_list5},
        {__uuidof(ID3D12GraphicsCommandList6), methods_of_list6},
    };
    return faces;
}

/// Replaces methods of all interfaces that an object has. Returns the different pointers to it.
std::vector<void*> replace(IUnknown* object, const std::vector<Face>& faces, const std::vector<Method>& methods) {
    std::vector<void*> found;
    for (const Face& face : faces) {
        Com<IUnknown> known;
        if (FAILED(object->QueryInterface(face.iid, known.out()))) continue;
        for (const Method& method : methods) {
            if (method.slot < face.methods && !hooks::replace(known.get(), method.slot, method.ours)) {
                throw protocol::Fault("a method of D3D12 cannot be replaced: " + last_error());
            }
        }
        if (std::find(found.begin(), found.end(), known.get()) == found.end()) found.push_back(known.get());
    }
    return found;
}

bool is_in(const std::vector<void*>& faces, void* object) { return std::find(faces.begin(), faces.end(), object) != faces.end(); }

std::wstring full_path(const std::string& path, const char* option) {
    wchar_t full[4096];
    const DWORD size = GetFullPathNameW(wide(path).c_str(), 4096, full, nullptr);
    if (!size || size >= 4096) throw protocol::Fault(std::string(option) + " " + path + ": " + last_error());
    return full;
}

/// The bytes of a file, at most 2^31 - 1. Throws protocol::Fault.
std::string contents(const std::wstring& file) {
    const HANDLE opened = CreateFileW(file.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
    LARGE_INTEGER size{};
    std::string bytes;
    DWORD came = 0;
    bool good = opened != INVALID_HANDLE_VALUE && GetFileSizeEx(opened, &size) && size.QuadPart < INT32_MAX;
    if (good) {
        bytes.resize(static_cast<size_t>(size.QuadPart));
        good = ReadFile(opened, bytes.data(), static_cast<DWORD>(bytes.size()), &came, nullptr) && came == bytes.size();
    }
    const std::string problem = good ? bytes.empty() ? "is empty" : "" : "cannot be read: " + last_error();
    if (opened != INVALID_HANDLE_VALUE) CloseHandle(opened);
    if (!problem.empty()) throw protocol::Fault(utf8(file.c_str()) + " " + problem);
    return bytes;
}

/// Every DIGEST.bin in a folder, by its digest. Throws protocol::Fault if there is none, or another .bin.
std::map<std::string, std::string> read_replacements(const std::wstring& folder) {
    std::map<std::string, std::string> found;
    WIN32_FIND_DATAW file;
    const HANDLE search = FindFirstFileW((folder + L"\\*.bin").c_str(), &file);
    const std::string where = "--replace-kernels " + utf8(folder.c_str());
    if (search == INVALID_HANDLE_VALUE) throw protocol::Fault(where + " has no file DIGEST.bin: " + last_error());
    std::vector<std::wstring> names;
    do names.push_back(file.cFileName);
    while (FindNextFileW(search, &file));
    FindClose(search);
    for (const std::wstring& name : names) {
        const std::string digest = utf8(name.substr(0, name.size() - 4).c_str());
        if (digest.size() != digest_digits || digest.find_first_not_of("0123456789abcdef") != digest.npos) {
            throw protocol::Fault(where + "\\" + utf8(name.c_str()) +
                                  " is not called by the digest of a kernel: 16 hexadecimal digits in small letters, and .bin");
        }
        found[digest] = contents(folder + L"\\" + name);
    }
    return found;
}

std::string digest_of(const void* data, uint64_t size) { return sha256(data, size).substr(0, digest_digits); }

}  // namespace

Kernels::Kernels(const Options& options) {
    if (!options.replace_kernels.empty()) replacements_ = read_replacements(full_path(options.replace_kernels, "--replace-kernels"));
    if (options.dump_kernels.empty()) return;
    dump_folder_ = full_path(options.dump_kernels, "--dump-kernels");
    if (!CreateDirectoryW(dump_folder_.c_str(), nullptr) && GetLastError() != ERROR_ALREADY_EXISTS) {
        throw protocol::Fault("--dump-kernels " + utf8(dump_folder_.c_str()) + " cannot be made: " + last_error());
    }
}

void Kernels::follow(ID3D12Device* device, ID3D12GraphicsCommandList* list) {
    followed.store(this, std::memory_order_release);
    device_faces_ = replace(device, device_faces(), device_methods());
    list_faces_ = replace(list, list_faces(), list_methods());
}

void Kernels::leave() {
    if (!hooks::restore()) say("a method of D3D12 that was replaced stays so");
    device_faces_.clear();
    list_faces_.clear();
    Kernels* own = this;
    followed.compare_exchange_strong(own, nullptr);
}

void Kernels::begin(bool wanted, Lists lists) {
    wanted_ = wanted;
    every_list_ = lists == Lists::every;
    const hooks::Lock lock(noting_);
    for (std::vector<Path>& part : noted_) part.clear();
    dropped_ = 0;
    set_.clear();
    is_initializing = false;
}

void Kernels::initializes(bool is) { is_initializing = is; }

bool Kernels::follows(void* list) const { return wanted_ && (every_list_ || is_in(list_faces_, list)); }

json::Array Kernels::paths() {
    constexpr const char* marks[parts] = {"", " (initialize)", " (not created)"};
    const hooks::Lock lock(noting_);
    json::Array found;
    uint64_t dropped = dropped_;
    for (int part = 0; part < parts; ++part) {
        for (const Path& path : noted_[part]) {
            if (found.size() == most_paths) {
                ++dropped;
                continue;
            }
            json::Object entry{{"label", *path.label + marks[part]}};
            if (path.has_groups) entry.push_back({"numbers", json::Array(path.groups.begin(), path.groups.end())});
            found.push_back(std::move(entry));
        }
    }
    if (dropped) found.push_back(json::Object{{"label", "more"}, {"numbers", json::Array{dropped}}});
    return found;
}

json::Object Kernels::replacements() const {
    json::Object found;
    for (const auto& [digest, bytes] : replacements_) found.push_back({digest, digest_of(bytes.data(), bytes.size())});
    return found;
}

Kernels::Kernel Kernels::kernel(const D3D12_SHADER_BYTECODE& bytecode) {
    const std::string digest = digest_of(bytecode.pShaderBytecode, bytecode.BytecodeLength);
    if (!dump_folder_.empty()) dump(digest, bytecode);
    const std::string text = std::string(bytecode::kind(bytecode.pShaderBytecode, bytecode.BytecodeLength)) + " " + digest;
    const auto replacement = replacements_.find(digest);
    if (replacement == replacements_.end()) return {label(text), nullptr};
    return {label(text + replaced), &replacement->second};
}

const std::string* Kernels::label(std::string text) {
    const hooks::Lock lock(noting_);
    return &*labels_.insert(std::move(text)).first;
}

void Kernels::created(void* device, const std::string* label, HRESULT result, void** made) {
    if (FAILED(result)) {
        if (every_list_ || is_in(device_faces_, device)) note(not_created, label, nullptr);
        return;
    }
    Com<ID3D12Object> object;
    if (!made || !*made || FAILED(static_cast<IUnknown*>(*made)->QueryInterface(__uuidof(ID3D12Object), object.out()))) return;
    object->SetPrivateData(label_id, sizeof label, &label);
}

void* Kernels::known_as(void* list) const { return is_in(list_faces_, list) ? nullptr : list; }

void Kernels::sets(void* list, ID3D12Object* pipeline) {
    if (!follows(list)) return;
    const std::string* const label = label_of(pipeline);
    const hooks::Lock lock(noting_);
    set_[known_as(list)] = label;
}

void Kernels::dispatches(void* list, ID3D12Object* metacommand, const Groups* groups) {
    if (!follows(list)) return;
    const std::string* label = metacommand ? label_of(metacommand) : &unknown;
    if (!metacommand) {
        const hooks::Lock lock(noting_);
        if (const auto set = set_.find(known_as(list)); set != set_.end()) label = set->second;
    }
    note(is_initializing ? initialization : execution, label, groups);
}

void Kernels::note(Part part, const std::string* label, const Groups* groups) {
    const hooks::Lock lock(noting_);
    if (!wanted_) return;
    if (noted_[part].size() == most_paths) ++dropped_;
    else noted_[part].push_back({label, groups != nullptr, groups ? *groups : Groups{}});
}

void Kernels::dump(const std::string& digest, const D3D12_SHADER_BYTECODE& bytecode) {
    const std::wstring file = dump_folder_ + L"\\" + wide(digest) + L".bin";
    {
        const hooks::Lock lock(noting_);
        if (!dumped_.insert(digest).second) return;
    }
    if (GetFileAttributesW(file.c_str()) != INVALID_FILE_ATTRIBUTES) return;
    // Whole or not at all: other hosts, and other threads, may write the same kernel.
    const std::wstring part = file + L"." + std::to_wstring(GetCurrentProcessId()) + L"-" + std::to_wstring(GetCurrentThreadId()) + L".part";
    const HANDLE opened = CreateFileW(part.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
    DWORD written = 0;
    const DWORD size = static_cast<DWORD>(bytecode.BytecodeLength);
    bool good = opened != INVALID_HANDLE_VALUE && WriteFile(opened, bytecode.pShaderBytecode, size, &written, nullptr) && written == size;
    if (opened != INVALID_HANDLE_VALUE) CloseHandle(opened);
    good = good && MoveFileExW(part.c_str(), file.c_str(), MOVEFILE_REPLACE_EXISTING);
    if (!good) say(utf8(file.c_str()) + " cannot be written: " + last_error());
}
