#include "directml_hooks.h"

#include "session.h"

using hooks::forward;
using hooks::Outermost;

namespace {

// Places in vtables: IUnknown has three methods, IDMLObject and ID3D12Object four more, a child of a device one more.
constexpr size_t set_name = 6;
constexpr size_t create_operator = 8, compile_operator = 9, create_initializer = 10, create_recorder = 11, create_table = 12, compile_graph = 17;
constexpr size_t initializer_reset = 9;
constexpr size_t bind_inputs = 8, bind_outputs = 9, bind_temporary = 10, bind_persistent = 11, table_reset = 12;
constexpr size_t record_dispatch = 8;
constexpr size_t list_reset = 10, execute_lists = 10;

/// What is recorded must never become the client's trouble: without memory it goes unrecorded.
template <class Action> void quietly(Action action) noexcept {
    try {
        action(*Session::get());
    } catch (const std::exception&) {
    }
}

/// An object that was just made, as one of its interfaces; null where there is none, or nothing was made.
template <class Interface> Com<Interface> as(HRESULT result, void** made) {
    Com<Interface> found;
    if (SUCCEEDED(result) && made && *made) static_cast<IUnknown*>(*made)->QueryInterface(Interface::iid, found.out());
    return found;
}

template <class Method> void* address(Method method) { return reinterpret_cast<void*>(method); }

HRESULT STDMETHODCALLTYPE on_set_name(dml::IObject* self, PCWSTR name) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, set_name, name);
    if (outermost && SUCCEEDED(result)) quietly([&](Session& session) { session.named(self, name); });
    return result;
}

void STDMETHODCALLTYPE on_bind_inputs(dml::IBindingTable* self, UINT count, const dml::BindingDesc* bindings) {
    const Outermost outermost;
    if (outermost) quietly([&](Session& session) { session.bind(self, "inputs", count, bindings); });
    forward<void>(self, bind_inputs, count, bindings);
}

void STDMETHODCALLTYPE on_bind_outputs(dml::IBindingTable* self, UINT count, const dml::BindingDesc* bindings) {
    const Outermost outermost;
    if (outermost) quietly([&](Session& session) { session.bind(self, "outputs", count, bindings); });
    forward<void>(self, bind_outputs, count, bindings);
}

void STDMETHODCALLTYPE on_bind_temporary(dml::IBindingTable* self, const dml::BindingDesc* binding) {
    const Outermost outermost;
    if (outermost) quietly([&](Session& session) { session.bind_one(self, "temporary", binding); });
    forward<void>(self, bind_temporary, binding);
}

void STDMETHODCALLTYPE on_bind_persistent(dml::IBindingTable* self, const dml::BindingDesc* binding) {
    const Outermost outermost;
    if (outermost) quietly([&](Session& session) { session.bind_one(self, "persistent", binding); });
    forward<void>(self, bind_persistent, binding);
}

HRESULT STDMETHODCALLTYPE on_table_reset(dml::IBindingTable* self, const dml::BindingTableDesc* desc) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, table_reset, desc);
    if (outermost) {
        Com<dml::IDevice> device;
        self->GetDevice(dml::IDevice::iid, device.out());
        quietly([&](Session& session) { session.table(device.get(), desc, result, self); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_initializer_reset(dml::IOperatorInitializer* self, UINT count, dml::ICompiledOperator* const* operators) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, initializer_reset, count, operators);
    if (outermost) {
        Com<dml::IDevice> device;
        self->GetDevice(dml::IDevice::iid, device.out());
        quietly([&](Session& session) { session.initializer(device.get(), count, operators, result, self); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_list_reset(ID3D12GraphicsCommandList* self, ID3D12CommandAllocator* allocator, ID3D12PipelineState* state) {
    quietly([&](Session& session) { session.list_reset(self); });
    return forward<HRESULT>(self, list_reset, allocator, state);
}

void STDMETHODCALLTYPE on_execute_lists(ID3D12CommandQueue* self, UINT count, ID3D12CommandList* const* lists) {
    const Outermost outermost;
    if (!outermost) return forward<void>(self, execute_lists, count, lists);
    Batch batch;
    quietly([&](Session& session) { batch = session.execute(self, count, lists); });
    std::vector<copies::OwnList> own;
    const auto copy = [&](UINT list, bool outputs) {
        for (Execution& execution : batch.lists[list]) {
            copies::OwnList made;
            quietly([&](Session& session) { made = session.copy(self, execution, outputs); });
            if (!made.list) continue;
            ID3D12CommandList* const lists_of_ours[] = {made.list.get()};
            forward<void>(self, execute_lists, 1u, static_cast<ID3D12CommandList* const*>(lists_of_ours));
            quietly([&](Session&) { own.push_back(std::move(made)); });
        }
    };
    if (!batch.is_split) {
        forward<void>(self, execute_lists, count, lists);
    } else {
        for (UINT i = 0; i < count; ++i) {
            copy(i, false);
            forward<void>(self, execute_lists, 1u, lists + i);
            copy(i, true);
        }
    }
    if (batch.has_data) quietly([&](Session& session) { session.collect(self, std::move(batch), std::move(own)); });
}

void STDMETHODCALLTYPE on_record_dispatch(dml::ICommandRecorder* self, ID3D12CommandList* list, dml::IDispatchable* dispatchable,
                                          dml::IBindingTable* table) {
    const Outermost outermost;
    const bool seen = outermost && list;
    if (seen) hooks::replace(list, list_reset, address(on_list_reset));
    if (seen) quietly([&](Session& session) { session.dispatch(list, dispatchable, table); });
    forward<void>(self, record_dispatch, list, dispatchable, table);
    if (seen) quietly([&](Session& session) { session.dispatched(list); });
}

HRESULT STDMETHODCALLTYPE on_create_operator(dml::IDevice* self, const dml::TypedDesc* desc, const IID* iid, void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, create_operator, desc, iid, made);
    if (outermost && (FAILED(result) || (made && *made))) {
        const auto op = as<dml::IOperator>(result, made);
        if (op) hooks::replace(op.get(), set_name, address(on_set_name));
        quietly([&](Session& session) { session.created_operator(self, desc, result, op.get()); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_compile_operator(dml::IDevice* self, dml::IOperator* op, UINT flags, const IID* iid, void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, compile_operator, op, flags, iid, made);
    if (outermost && (FAILED(result) || (made && *made))) {
        const auto compiled = as<dml::ICompiledOperator>(result, made);
        if (compiled) hooks::replace(compiled.get(), set_name, address(on_set_name));
        quietly([&](Session& session) { session.compiled(self, op, flags, result, compiled.get()); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_compile_graph(dml::IDevice1* self, const dml::GraphDesc* desc, UINT flags, const IID* iid, void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, compile_graph, desc, flags, iid, made);
    if (outermost && (FAILED(result) || (made && *made))) {
        const auto compiled = as<dml::ICompiledOperator>(result, made);
        if (compiled) hooks::replace(compiled.get(), set_name, address(on_set_name));
        quietly([&](Session& session) { session.compiled_graph(self, desc, flags, result, compiled.get()); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_create_initializer(dml::IDevice* self, UINT count, dml::ICompiledOperator* const* operators, const IID* iid,
                                                void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, create_initializer, count, operators, iid, made);
    if (outermost && (FAILED(result) || (made && *made))) {
        const auto initializer = as<dml::IOperatorInitializer>(result, made);
        if (initializer) hooks::replace(initializer.get(), initializer_reset, address(on_initializer_reset));
        quietly([&](Session& session) { session.initializer(self, count, operators, result, initializer.get()); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_create_table(dml::IDevice* self, const dml::BindingTableDesc* desc, const IID* iid, void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, create_table, desc, iid, made);
    if (outermost && (FAILED(result) || (made && *made))) {
        const auto table = as<dml::IBindingTable>(result, made);
        if (table) {
            hooks::replace(table.get(), bind_inputs, address(on_bind_inputs));
            hooks::replace(table.get(), bind_outputs, address(on_bind_outputs));
            hooks::replace(table.get(), bind_temporary, address(on_bind_temporary));
            hooks::replace(table.get(), bind_persistent, address(on_bind_persistent));
            hooks::replace(table.get(), table_reset, address(on_table_reset));
        }
        quietly([&](Session& session) { session.table(self, desc, result, table.get()); });
    }
    return result;
}

HRESULT STDMETHODCALLTYPE on_create_recorder(dml::IDevice* self, const IID* iid, void** made) {
    const Outermost outermost;
    const HRESULT result = forward<HRESULT>(self, create_recorder, iid, made);
    if (const auto recorder = as<dml::ICommandRecorder>(result, made)) {
        hooks::replace(recorder.get(), record_dispatch, address(on_record_dispatch));
    }
    return result;
}

/// All queues of a D3D12 device are of one class: one that is made for a moment shows it.
bool see_queues(ID3D12Device* device) {
    for (const D3D12_COMMAND_LIST_TYPE type : {D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE}) {
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = type;
        Com<ID3D12CommandQueue> queue;
        if (SUCCEEDED(device->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue.out()))) {
            return hooks::replace(queue.get(), execute_lists, address(on_execute_lists));
        }
    }
    return false;
}

}  // namespace

void capture_device(IUnknown* made, HRESULT result, ID3D12Device* d3d12, UINT flags, const UINT* feature_level) {
    const Outermost outermost;
    Com<dml::IDevice> device;
    Com<dml::IDevice1> device1;
    bool executions = false;
    if (SUCCEEDED(result)) {
        if (FAILED(made->QueryInterface(dml::IDevice::iid, device.out()))) return;
        made->QueryInterface(dml::IDevice1::iid, device1.out());
        dml::IDevice* const both[] = {device.get(), device1.get()};
        for (dml::IDevice* one : both) {
            if (!one) continue;
            hooks::replace(one, create_operator, address(on_create_operator));
            hooks::replace(one, compile_operator, address(on_compile_operator));
            hooks::replace(one, create_initializer, address(on_create_initializer));
            hooks::replace(one, create_recorder, address(on_create_recorder));
            hooks::replace(one, create_table, address(on_create_table));
        }
        if (device1) hooks::replace(device1.get(), compile_graph, address(on_compile_graph));
        executions = see_queues(d3d12);
    }
    quietly([&](Session& session) { session.device(device.get(), flags, feature_level, executions, result); });
}
