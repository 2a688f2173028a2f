// A DirectML.dll for tests that is wrong on purpose. What is wrong, and where a real one is, the tests write into the file, in the place of
// the two texts below: so it may lie wherever it is put, under any name.
// The proxies among the modes go through to the real one, in all but what they do wrongly.
//
// A mode "kernels COMPILE/INITIALIZE/EXECUTE;..." says in letters (d3d12.h) what one request after the other does with a device and a command
// list at each of these steps; the last one is done again and again. It is for the fake D3D12 in the same DLL.
//
// The modes of computing.h compute: on the fake D3D12 too, and right but for what the mode says.
#include "computing.h"

#include <cstring>

namespace {

constexpr uint32_t element_wise_round = 99, bit_or = 122;
constexpr uint32_t halves_to_nearest_even = 0, toward_zero = 1;
constexpr uint64_t part = 8;  // bytes of each kind of memory that shows-memory gives

// Read as volatile, or the compiler would know what stands there.
volatile const char mode[64] = "the mode of this fake";
volatile const char real_dll[1024] = "the path of a real DirectML.dll, in UTF-8";

}  // namespace

namespace fake {

bool is(const char* name) {
    size_t i = 0;
    while (name[i] && mode[i] == name[i]) ++i;
    return mode[i] == name[i];
}

}  // namespace fake

namespace {

using namespace fake;

constexpr size_t script_start = 8;  // behind "kernels "

bool has_script() {
    for (size_t i = 0; i < script_start; ++i) {
        if (mode[i] != "kernels "[i]) return false;
    }
    return true;
}

/// Does what stands in the mode for a request, the first being 1, at a step.
void perform(int request, int step, ID3D12Device* device, ID3D12GraphicsCommandList* list) {
    size_t place = script_start;
    for (size_t i = script_start; mode[i] && request > 1; ++i) {
        if (mode[i] == ';') --request, place = i + 1;
    }
    char letters[sizeof mode] = "";
    size_t count = 0;
    for (size_t i = place; mode[i] && mode[i] != ';'; ++i) {
        if (mode[i] == '/') --step;
        else if (step == 0) letters[count++] = mode[i];
    }
    fake_d3d12::perform(letters, count, device, list);
}

/// Struct of ELEMENT_WISE_ROUND.
struct RoundDesc {
    const dml::TypedDesc *input, *output;
    uint32_t rounding_mode;
};

struct Operator : Child<dml::IOperator> {};

struct Compiled : Child<dml::ICompiledOperator> {
    dml::BindingProperties* STDMETHODCALLTYPE GetBindingProperties(dml::BindingProperties* returned) override {
        // absurd-sizes: more memory than any machine has
        const uint64_t size = is("absurd-sizes") ? uint64_t{1} << 60 : 0;
        *returned = {1, size, size};
        if (is("shows-memory")) *returned = {1, (3u << 20) + 7, 2 * part};
        return returned;
    }
};

struct Initializer : Child<dml::IOperatorInitializer> {
    dml::BindingProperties* STDMETHODCALLTYPE GetBindingProperties(dml::BindingProperties* returned) override {
        *returned = {1, is("shows-memory") ? (1u << 20) + 5 : 0u, 0};
        return returned;
    }
    HRESULT STDMETHODCALLTYPE Reset(UINT, dml::ICompiledOperator* const*) override { return S_OK; }
};

/// What is bound, for shows-memory.
struct Table : Child<dml::IBindingTable> {
    void STDMETHODCALLTYPE BindInputs(UINT, const dml::BindingDesc*) override {}
    void STDMETHODCALLTYPE BindOutputs(UINT, const dml::BindingDesc* outputs) override {
        if (!has_script()) output = buffer(outputs);
    }
    void STDMETHODCALLTYPE BindTemporaryResource(const dml::BindingDesc* desc) override { temporary = buffer(desc); }
    void STDMETHODCALLTYPE BindPersistentResource(const dml::BindingDesc* desc) override { persistent = buffer(desc); }
    HRESULT STDMETHODCALLTYPE Reset(const dml::BindingTableDesc*) override { return E_NOTIMPL; }

    static dml::BufferBinding buffer(const dml::BindingDesc* desc) { return *static_cast<const dml::BufferBinding*>(desc->desc); }

    dml::BufferBinding output{}, temporary{}, persistent{};
};

/// shows-memory: initialization keeps in persistent memory the end of its temporary memory, and bytes of 0x5A, which it puts at the begin
/// of temporary memory as well. The operator gives the begin and the end of its temporary memory, and its persistent memory.
struct Recorder : Child<dml::ICommandRecorder> {
    void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList* commands, dml::IDispatchable* what, dml::IBindingTable* bound) override {
        if (has_script()) return perform(request, what == initializer ? 1 : 2, device, static_cast<ID3D12GraphicsCommandList*>(commands));
        if (!is("shows-memory")) return;
        list = static_cast<ID3D12GraphicsCommandList*>(commands);
        const Table& table = *static_cast<Table*>(bound);
        const dml::BufferBinding &temporary = table.temporary, &output = table.output;
        dml::BindingProperties properties;
        const bool initializes = !what->GetBindingProperties(&properties)->persistent_resource_size;
        if (initializes) {
            copy(output, 0, temporary.buffer, temporary.size_in_bytes - part);
            copy(output, part, marks, 0);
            copy(temporary, 0, marks, 0);
        } else {
            copy(output, 0, temporary.buffer, 0);
            copy(output, part, temporary.buffer, temporary.size_in_bytes - part);
            copy(output, 2 * part, table.persistent.buffer, 0);
            copy(output, 3 * part, table.persistent.buffer, part);
        }
    }

    void copy(const dml::BufferBinding& to, uint64_t at, ID3D12Resource* from, uint64_t start) {
        change(to.buffer, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_DEST);
        if (from != marks) change(from, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
        list->CopyBufferRegion(to.buffer, to.offset + at, from, start, part);
        change(to.buffer, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        if (from != marks) change(from, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    }

    void change(ID3D12Resource* buffer, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
        D3D12_RESOURCE_BARRIER barrier{};
        barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
        list->ResourceBarrier(1, &barrier);
    }

    /// Makes `marks`, `part` bytes of 0x5A.
    void prepare(ID3D12Device* device) {
        D3D12_HEAP_PROPERTIES heap{};
        heap.Type = D3D12_HEAP_TYPE_UPLOAD;
        D3D12_RESOURCE_DESC desc{};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = part;
        desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
        desc.SampleDesc.Count = 1;
        desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
        void* bytes = nullptr;
        if (FAILED(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr,
                                                   __uuidof(ID3D12Resource), reinterpret_cast<void**>(&marks))) ||
            FAILED(marks->Map(0, nullptr, &bytes))) {
            crash();
        }
        std::memset(bytes, 0x5A, part);
    }

    ID3D12GraphicsCommandList* list = nullptr;
    ID3D12Resource* marks = nullptr;

    // For a script
    ID3D12Device* device = nullptr;
    dml::IDispatchable* initializer = nullptr;
    int request = 0;
};

/// A device that computes nothing.
struct Device : Object<dml::IDevice1> {
    HRESULT STDMETHODCALLTYPE CheckFeatureSupport(UINT feature, UINT, const void*, UINT size, void* out) override {
        if (is("features-fail")) return E_FAIL;
        const uint32_t level = is("absurd-features") ? 0xFFFFFFFF : 0x6400, yes = 1;
        std::memcpy(out, feature == dml::feature_feature_levels ? &level : &yes, size);
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateOperator(const dml::TypedDesc*, REFIID, void** out) override {
        if (is("null-operator")) return gives_nothing(out);
        *out = &op;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CompileOperator(dml::IOperator* given, UINT, REFIID, void** out) override {
        if (!given) crash();
        if (is("null-compiled")) return gives_nothing(out);
        if (has_script()) perform(++recorder.request, 0, recorder.device, nullptr);
        *out = &compiled;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT, dml::ICompiledOperator* const* given, REFIID, void** out) override {
        if (!given[0]) crash();
        if (is("null-initializer")) return gives_nothing(out);
        *out = &initializer;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID, void** out) override {
        if (is("null-recorder")) return gives_nothing(out);
        if (is("no-recorder")) return refuses(out);
        *out = &recorder;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateBindingTable(const dml::BindingTableDesc*, REFIID, void** out) override {
        if (!is("shows-memory") && !has_script()) return gives_nothing(out);  // no-table
        *out = new Table;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE Evict(UINT, void* const*) override { return S_OK; }
    HRESULT STDMETHODCALLTYPE MakeResident(UINT, void* const*) override { return S_OK; }
    HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override { return is("removed") || fake_d3d12::removed() ? DXGI_ERROR_DEVICE_REMOVED : S_OK; }
    HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID, void** out) override { return refuses(out); }
    HRESULT STDMETHODCALLTYPE CompileGraph(const dml::GraphDesc*, UINT, REFIID, void** out) override { return gives_nothing(out); }

    Operator op;
    Compiled compiled;
    Initializer initializer;
    Recorder recorder;
};

/// A real device with something wrong in CreateOperator. What it creates is real.
struct Proxy final : dml::IDevice1 {
    explicit Proxy(dml::IDevice1* device) : real(device) {}

    HRESULT STDMETHODCALLTYPE CreateOperator(const dml::TypedDesc* desc, REFIID iid, void** out) override {
        const bool xor_operator = desc && desc->type == bit_xor;
        if (is("hangs") && xor_operator) Sleep(INFINITE);
        if (is("crashes") && xor_operator) crash();
        if (is("exits") && xor_operator) TerminateProcess(GetCurrentProcess(), 41);
        if (is("two-wrong") && xor_operator) {
            const dml::TypedDesc wrong{bit_or, desc->desc};
            return real->CreateOperator(&wrong, iid, out);
        }
        if (is("two-wrong") && desc && desc->type == element_wise_round) {
            RoundDesc round = *static_cast<const RoundDesc*>(desc->desc);
            if (round.rounding_mode == toward_zero) round.rounding_mode = halves_to_nearest_even;
            const dml::TypedDesc wrong{element_wise_round, &round};
            return real->CreateOperator(&wrong, iid, out);
        }
        return real->CreateOperator(desc, iid, out);
    }

    // The rest goes through.
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
        if (!IsEqualGUID(iid, dml::IDevice::iid) && !IsEqualGUID(iid, dml::IDevice1::iid)) return real->QueryInterface(iid, out);
        real->AddRef();
        *out = this;
        return S_OK;
    }
    ULONG STDMETHODCALLTYPE AddRef() override { return real->AddRef(); }
    ULONG STDMETHODCALLTYPE Release() override {
        const ULONG left = real->Release();
        if (!left) delete this;
        return left;
    }
    HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID id, UINT* size, void* data) override { return real->GetPrivateData(id, size, data); }
    HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID id, UINT size, const void* data) override {
        return real->SetPrivateData(id, size, data);
    }
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID id, IUnknown* data) override {
        return real->SetPrivateDataInterface(id, data);
    }
    HRESULT STDMETHODCALLTYPE SetName(PCWSTR name) override { return real->SetName(name); }
    HRESULT STDMETHODCALLTYPE CheckFeatureSupport(UINT feature, UINT given, const void* query, UINT size, void* out) override {
        return real->CheckFeatureSupport(feature, given, query, size, out);
    }
    HRESULT STDMETHODCALLTYPE CompileOperator(dml::IOperator* op, UINT flags, REFIID iid, void** out) override {
        return real->CompileOperator(op, flags, iid, out);
    }
    HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT count, dml::ICompiledOperator* const* of, REFIID iid, void** out) override {
        return real->CreateOperatorInitializer(count, of, iid, out);
    }
    HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID iid, void** out) override { return real->CreateCommandRecorder(iid, out); }
    HRESULT STDMETHODCALLTYPE CreateBindingTable(const dml::BindingTableDesc* desc, REFIID iid, void** out) override {
        return real->CreateBindingTable(desc, iid, out);
    }
    HRESULT STDMETHODCALLTYPE Evict(UINT count, void* const* objects) override { return real->Evict(count, objects); }
    HRESULT STDMETHODCALLTYPE MakeResident(UINT count, void* const* objects) override { return real->MakeResident(count, objects); }
    HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override { return real->GetDeviceRemovedReason(); }
    HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID iid, void** out) override { return real->GetParentDevice(iid, out); }
    HRESULT STDMETHODCALLTYPE CompileGraph(const dml::GraphDesc* graph, UINT flags, REFIID iid, void** out) override {
        return real->CompileGraph(graph, flags, iid, out);
    }

    dml::IDevice1* real;
};

HRESULT create_proxy(ID3D12Device* d3d12, UINT flags, UINT level, void** out) {
    char path[1024];
    for (size_t i = 0; i < sizeof path; ++i) path[i] = real_dll[i];
    wchar_t wide_path[1024] = L"";
    MultiByteToWideChar(CP_UTF8, 0, path, -1, wide_path, 1024);
    const HMODULE library = LoadLibraryExW(wide_path, nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!library) return HRESULT_FROM_WIN32(GetLastError());
    const FARPROC found = GetProcAddress(library, "DMLCreateDevice1");
    if (!found) return E_NOINTERFACE;
    auto* create = reinterpret_cast<dml::CreateDevice1*>(reinterpret_cast<void*>(found));
    dml::IDevice1* real = nullptr;
    const HRESULT result = create(d3d12, flags, level, dml::IDevice1::iid, reinterpret_cast<void**>(&real));
    *out = SUCCEEDED(result) ? new Proxy(real) : nullptr;
    return result;
}

}  // namespace

extern "C" __declspec(dllexport) HRESULT WINAPI DMLCreateDevice1(ID3D12Device* d3d12, UINT flags, UINT level, REFIID, void** out) {
    static Device device;
    if (is("create-fails")) return DXGI_ERROR_UNSUPPORTED;
    if (is("create-crashes")) crash();
    if (is("create-hangs")) Sleep(INFINITE);
    if (is("null-device")) return gives_nothing(out);
    for (const char* proxy : {"right", "hangs", "crashes", "exits", "two-wrong"}) {
        if (is(proxy)) return create_proxy(d3d12, flags, level, out);
    }
    if (is_computing()) return create_computing(out);
    if (is("shows-memory")) device.recorder.prepare(d3d12);
    device.recorder.device = d3d12;
    device.recorder.initializer = &device.initializer;
    *out = static_cast<dml::IDevice1*>(&device);
    return S_OK;
}

extern "C" __declspec(dllexport) HRESULT WINAPI DMLCreateDevice(ID3D12Device* d3d12, UINT flags, REFIID iid, void** out) {
    return DMLCreateDevice1(d3d12, flags, 0x1000, iid, out);
}

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void*) { return reason != DLL_PROCESS_ATTACH || !is("load-fails"); }
