#include "computing.h"

#include <cstring>
#include <utility>
#include <vector>

namespace fake {

namespace {

constexpr uint64_t alignment = 256, temporary_size = 64;
constexpr uint32_t descriptors_volatile = 4;

bool removed = false;
DWORD own_thread = 0;

void remove_device() { removed = true; }

/// What counts references and holds others. At the end it lets go of all of them, but stays where it is: a list may still be executed that has it.
template <class Base> struct Counted : Base {
    ULONG STDMETHODCALLTYPE AddRef() override { return static_cast<ULONG>(InterlockedIncrement(&references)); }
    ULONG STDMETHODCALLTYPE Release() override {
        const LONG left = InterlockedDecrement(&references);
        if (!left && !is("object-leaked")) let_go();
        return static_cast<ULONG>(left);
    }
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, IUnknown* given) override {
        hold(given);
        return S_OK;
    }

    void hold(IUnknown* other) {
        if (!other) return;
        other->AddRef();
        held.push_back(other);
    }
    void let_go() {
        for (IUnknown* other : std::exchange(held, {})) other->Release();
    }

    volatile LONG references = 1;
    std::vector<IUnknown*> held;
};

/// A child, which knows its device and holds it.
template <class Interface> struct Part : Counted<Child<Interface>> {
    HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void** out) override {
        device->AddRef();
        *out = device;
        return S_OK;
    }

    dml::IDevice1* device = nullptr;
};

/// A tensor of the desc, which is not kept.
struct Tensor {
    explicit Tensor(const dml::TypedDesc* desc) {
        const auto& buffer = *static_cast<const dml::BufferTensorDesc*>(desc->desc);
        constexpr uint32_t sizes_of_types[] = {0, 4, 2, 4, 2, 1, 4, 2, 1, 8, 8, 8};
        element = buffer.data_type < 12 ? sizes_of_types[buffer.data_type] : 0;
        owned = buffer.flags & dml::tensor_flag_owned_by_dml;
        bytes = buffer.total_tensor_size_in_bytes;
        uint32_t packed = 1;
        for (uint32_t i = buffer.dimension_count; i--;) {
            sizes.insert(sizes.begin(), buffer.sizes[i]);
            strides.insert(strides.begin(), buffer.strides ? buffer.strides[i] : packed);
            packed *= buffer.sizes[i];
        }
    }

    std::vector<uint32_t> sizes, strides;
    uint32_t element = 0;
    bool owned = false;
    uint64_t bytes = 0;
};

struct XorDesc {
    const dml::TypedDesc *a, *b, *output;
};

struct Operator : Part<dml::IOperator> {
    explicit Operator(const XorDesc& desc) : tensors{Tensor(desc.a), Tensor(desc.b), Tensor(desc.output)} {}

    Tensor tensors[3];
};

struct Compiled : Part<dml::ICompiledOperator> {
    Compiled(const Operator& compiled, uint32_t given) : tensors{compiled.tensors[0], compiled.tensors[1], compiled.tensors[2]}, flags(given) {}

    dml::BindingProperties* STDMETHODCALLTYPE GetBindingProperties(dml::BindingProperties* returned) override {
        *returned = {3, temporary_size, place(2)};
        return returned;
    }

    /// Where an owned input lies in persistent memory; for 2, the bytes of all.
    uint64_t place(int input) const {
        uint64_t at = 0;
        for (int i = 0; i < input; ++i) at += tensors[i].owned ? (tensors[i].bytes + alignment - 1) / alignment * alignment : 0;
        return at;
    }

    Tensor tensors[3];
    uint32_t flags;
    std::vector<char> result;         // stale-result: of the first execution
    std::vector<uint64_t> remembered;  // offset-remembered
};

struct Initializer : Part<dml::IOperatorInitializer> {
    dml::BindingProperties* STDMETHODCALLTYPE GetBindingProperties(dml::BindingProperties* returned) override {
        *returned = {0, 0, 0};
        return returned;
    }
    HRESULT STDMETHODCALLTYPE Reset(UINT count, dml::ICompiledOperator* const* given) override {
        over.clear();
        for (UINT i = 0; i < count; ++i) {
            over.push_back(static_cast<Compiled*>(given[i]));
            if (!is("reference-dropped")) hold(given[i]);
        }
        return S_OK;
    }

    std::vector<Compiled*> over;
    bool executed = false;
};

using Buffers = std::vector<dml::BufferBinding>;

/// What a table holds: of each slot the buffers, one but for an initializer's inputs.
struct Bound {
    std::vector<Buffers> inputs, outputs;
    dml::BufferBinding temporary{}, persistent{};
};

Buffers buffers(const dml::BindingDesc& desc) {
    if (desc.type == dml::binding_buffer) return {*static_cast<const dml::BufferBinding*>(desc.desc)};
    if (desc.type != dml::binding_buffer_array) return {};
    const auto& array = *static_cast<const dml::BufferArrayBinding*>(desc.desc);
    return Buffers(array.bindings, array.bindings + array.binding_count);
}

dml::BufferBinding buffer(const dml::BindingDesc* desc) {
    const Buffers found = desc ? buffers(*desc) : Buffers();
    return found.empty() ? dml::BufferBinding{} : found.front();
}

struct Table : Part<dml::IBindingTable> {
    explicit Table(const dml::BindingTableDesc* desc) : of(desc ? dynamic_cast<Compiled*>(desc->dispatchable) : nullptr) {
        if (desc && !is("reference-dropped")) hold(desc->dispatchable);
    }

    void STDMETHODCALLTYPE BindInputs(UINT count, const dml::BindingDesc* descs) override { bind(bound.inputs, count, descs, 2); }
    void STDMETHODCALLTYPE BindOutputs(UINT count, const dml::BindingDesc* descs) override {
        if (is("crashes-on-thread") && GetCurrentThreadId() != own_thread) crash();
        bind(bound.outputs, count, descs, 1);
        if (is("wrong-thread") && of && GetCurrentThreadId() != own_thread) {
            static SRWLOCK lock = SRWLOCK_INIT;
            static std::vector<Buffers> of_another;
            AcquireSRWLockExclusive(&lock);
            const std::vector<Buffers> own = bound.outputs;
            if (!of_another.empty()) bound.outputs = of_another;
            of_another = own;
            ReleaseSRWLockExclusive(&lock);
        }
    }
    void STDMETHODCALLTYPE BindTemporaryResource(const dml::BindingDesc* desc) override { bound.temporary = buffer(desc); }
    void STDMETHODCALLTYPE BindPersistentResource(const dml::BindingDesc* desc) override { bound.persistent = buffer(desc); }
    HRESULT STDMETHODCALLTYPE Reset(const dml::BindingTableDesc* desc) override {
        if (removed) return DXGI_ERROR_DEVICE_REMOVED;
        if (is("table-not-reset")) return S_OK;
        of = desc ? dynamic_cast<Compiled*>(desc->dispatchable) : nullptr;
        bound = {};
        return S_OK;
    }

    void bind(std::vector<Buffers>& slots, UINT count, const dml::BindingDesc* descs, UINT needed) {
        if (of && count != needed) return remove_device();
        if (is("table-not-reset") && !slots.empty()) return;
        slots.clear();
        for (UINT i = 0; i < count; ++i) slots.push_back(buffers(descs[i]));
    }

    Compiled* of;
    Bound bound;
};

char* address(const dml::BufferBinding& of) { return fake_d3d12::bytes_of(of.buffer).data() + of.offset; }

dml::BufferBinding shared_persistent{};

void initialize(Initializer& initializer, const Bound& bound) {
    if (is("initializer-once") && initializer.executed) return;
    initializer.executed = true;
    for (size_t i = 0; i < initializer.over.size(); ++i) {
        const Compiled& compiled = *initializer.over[i];
        if (!compiled.place(2)) continue;
        const dml::BufferBinding& persistent = bound.outputs[i][0];
        for (int input = 0; input < 2; ++input) {
            if (!compiled.tensors[input].owned) continue;
            std::memcpy(address(persistent) + compiled.place(input), address(bound.inputs[i][input]), compiled.tensors[input].bytes);
        }
        shared_persistent = persistent;
    }
}

void compute(const Compiled& compiled, const char* a, const char* b, char* output) {
    const auto& [left, right, target] = compiled.tensors;
    std::vector<uint32_t> index(target.sizes.size());
    const auto at = [&](const Tensor& tensor) {
        uint64_t found = 0;
        for (size_t i = 0; i < index.size(); ++i) found += uint64_t{index[i]} * tensor.strides[i];
        return found * tensor.element;
    };
    for (size_t moved = 0; moved != SIZE_MAX;) {
        for (uint32_t i = 0; i < target.element; ++i) output[at(target) + i] = static_cast<char>(a[at(left) + i] ^ b[at(right) + i]);
        for (moved = index.size() - 1; moved != SIZE_MAX && ++index[moved] == target.sizes[moved]; --moved) index[moved] = 0;
    }
}

void dispatch(Compiled& compiled, const Bound& bound) {
    dml::BufferBinding inputs[2];
    const dml::BufferBinding& persistent = is("persistent-shared") ? shared_persistent : bound.persistent;
    for (int i = 0; i < 2; ++i) {
        inputs[i] = compiled.tensors[i].owned ? persistent : bound.inputs[i][0];
        if (compiled.tensors[i].owned) inputs[i].offset += compiled.place(i);
    }
    if (is("offset-remembered")) {
        if (compiled.remembered.empty()) compiled.remembered = {inputs[0].offset, inputs[1].offset};
        for (int i = 0; i < 2; ++i) inputs[i].offset = compiled.remembered[i];
    }
    char* output = address(bound.outputs[0][0]);
    compute(compiled, address(inputs[0]), address(inputs[1]), output);
    char* temporary = address(bound.temporary);
    if (is("temporary-zero")) output[0] = static_cast<char>(output[0] ^ temporary[0]);
    std::memset(temporary, 0x11, temporary_size);
    if (!is("stale-result")) return;
    const size_t size = static_cast<size_t>(compiled.tensors[2].bytes);
    if (compiled.result.empty()) compiled.result.assign(output, output + size);
    else std::memcpy(output, compiled.result.data(), size);
}

struct Recorder : Child<dml::ICommandRecorder> {
    void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList* list, dml::IDispatchable* what, dml::IBindingTable* given) override {
        if (removed) return;
        Table& table = *static_cast<Table*>(given);
        const Bound bound = table.bound;
        if (auto* compiled = dynamic_cast<Compiled*>(what)) {
            const bool later = compiled->flags & descriptors_volatile;
            fake_d3d12::record(list, [=, &table] { dispatch(*compiled, later ? table.bound : bound); });
        } else {
            fake_d3d12::record(list, [=] { initialize(*static_cast<Initializer*>(what), bound); });
        }
    }
};

struct Device : Counted<Object<dml::IDevice1>> {
    HRESULT STDMETHODCALLTYPE CheckFeatureSupport(UINT feature, UINT, const void*, UINT size, void* out) override {
        const uint32_t level = 0x6400, yes = 1;
        std::memcpy(out, feature == dml::feature_feature_levels ? &level : &yes, size);
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateOperator(const dml::TypedDesc* desc, REFIID, void** out) override {
        if (desc->type != bit_xor) return E_INVALIDARG;
        return give(new Operator(*static_cast<const XorDesc*>(desc->desc)), out);
    }
    HRESULT STDMETHODCALLTYPE CompileOperator(dml::IOperator* given, UINT flags, REFIID, void** out) override {
        return give(new Compiled(*static_cast<Operator*>(given), flags), out);
    }
    HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT count, dml::ICompiledOperator* const* given, REFIID, void** out) override {
        auto* made = new Initializer;
        made->Reset(count, given);
        return give(made, out);
    }
    HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID, void** out) override {
        if (out) *out = removed ? nullptr : &recorder;
        return removed ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateBindingTable(const dml::BindingTableDesc* desc, REFIID, void** out) override {
        return give(new Table(desc), out);
    }
    HRESULT STDMETHODCALLTYPE Evict(UINT, void* const*) override { return S_OK; }
    HRESULT STDMETHODCALLTYPE MakeResident(UINT, void* const*) override { return S_OK; }
    HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override {
        return removed && !is("removal-unnoticed") ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
    }
    HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID, void** out) override { return refuses(out); }
    HRESULT STDMETHODCALLTYPE CompileGraph(const dml::GraphDesc*, UINT, REFIID, void** out) override { return refuses(out); }

    /// An object, or what a removed device gives.
    template <class T> HRESULT give(T* made, void** out) {
        if (!removed) {
            made->device = this;
            made->hold(this);
        }
        if (out) *out = removed ? nullptr : made;
        return removed ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
    }

    Recorder recorder;
};

}  // namespace

bool is_computing() {
    for (const char* mode : {"computes", "stale-result", "initializer-once", "offset-remembered", "table-not-reset", "temporary-zero",
                             "persistent-shared", "removal-unnoticed", "reference-dropped", "object-leaked", "wrong-thread", "crashes-on-thread"}) {
        if (is(mode)) return true;
    }
    return false;
}

HRESULT create_computing(void** out) {
    removed = false;
    own_thread = GetCurrentThreadId();
    if (out) *out = static_cast<dml::IDevice1*>(new Device);
    return S_OK;
}

}  // namespace fake
