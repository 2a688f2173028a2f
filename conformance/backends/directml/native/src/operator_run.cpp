#include "operator_run.h"

#include <algorithm>
#include <cstring>

#include "barriers.h"
#include "guard.h"

namespace {

/// The most bytes of the pattern that fills temporary memory, again and again.
constexpr uint64_t pattern_size = 1 << 20;

/// Stages as the protocol calls them.
constexpr const char *at_create = "create", *at_compile = "compile", *at_initialize = "initialize", *at_bind = "bind",
                     *at_dispatch = "dispatch";

void accept(const char* stage, HRESULT code, const char* call) {
    if (FAILED(code)) throw protocol::Rejected{stage, static_cast<uint32_t>(code), std::string(call) + " failed with " + hex(code)};
}

/// As `accept`, where the call is to give an object too: success without one is a fault, and no refusal.
template <class T> void accept(const char* stage, HRESULT code, const char* call, const Com<T>& made) {
    accept(stage, code, call);
    need(code, call, made);
}

/// What the steps of a request share. Everything is released with it, after the GPU has finished.
class Run {
public:
    Run(DirectMlDevice& device, const json::Value& header, const protocol::RunRequest& request)
        : device_(device), d3d12_(device.d3d12()), request_(request), desc_(header) {
        for (const protocol::Binding& binding : request.bindings) {
            const auto same = [&](const TensorSlot& slot) { return slot.name == binding.tensor; };
            if (std::none_of(desc_.slots().begin(), desc_.slots().end(), same)) {
                throw json::Error("the operator has no tensor " + binding.tensor);
            }
        }
    }

    void create() {
        guard::doing("CreateOperator");
        accept(at_create, device_.get()->CreateOperator(&desc_.get(), dml::IOperator::iid, operator_.out()), "CreateOperator",
               operator_);
    }

    void compile() {
        guard::doing("compilation");
        accept(at_compile, device_.compile(operator_.get(), desc_.slots(), request_.flags, compiled_.out()), "compilation", compiled_);
        guard::doing("CreateOperatorInitializer");
        dml::ICompiledOperator* const operators[] = {compiled_.get()};
        accept(at_initialize,
               device_.get()->CreateOperatorInitializer(1, operators, dml::IOperatorInitializer::iid, initializer_.out()),
               "CreateOperatorInitializer", initializer_);
        guard::doing("GetBindingProperties");
        initializer_->GetBindingProperties(&initializing_);
        compiled_->GetBindingProperties(&executing_);
    }

    void upload(const uint8_t* contents) {
        guard::doing("the upload");
        const uint64_t temporary = std::max(initializing_.temporary_resource_size, executing_.temporary_resource_size);
        const uint64_t pattern = std::min(temporary, pattern_size);
        staged_ = &d3d12_.upload(request_.total + pattern);
        if (request_.total) std::memcpy(staged_->bytes, contents, static_cast<size_t>(request_.total));
        if (pattern) std::memset(staged_->bytes + request_.total, 0xFF, static_cast<size_t>(pattern));
        copy_all(staged_->buffer.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        if (temporary) temporary_ = d3d12_.buffer(temporary);
        if (executing_.persistent_resource_size) persistent_ = d3d12_.buffer(executing_.persistent_resource_size);
    }

    void initialize() {
        guard::doing("recording the initialization");
        fill_temporary(initializing_);
        const uint32_t count = initializing_.required_descriptor_count;
        heap_ = d3d12_.descriptors(std::max(count + executing_.required_descriptor_count, 1u));
        d3d12_.list()->SetDescriptorHeaps(1, &heap_);
        Com<dml::IBindingTable>& table = tables_[0];
        make_table(at_initialize, initializer_.get(), 0, count, table);

        // Of the operator's inputs, initialization gets those that DirectML is to own.
        std::vector<dml::BufferBinding> owned;
        bool any = false;
        for (const TensorSlot& slot : desc_.slots()) {
            if (slot.output) continue;
            const protocol::Binding* binding = slot.owned ? request_.find(slot.name) : nullptr;
            owned.push_back(binding ? bound(*binding) : dml::BufferBinding{});
            any = any || binding;
        }
        const dml::BufferArrayBinding array{static_cast<uint32_t>(owned.size()), owned.data()};
        const dml::BindingDesc inputs{dml::binding_buffer_array, &array};
        if (any) table->BindInputs(1, &inputs);
        bind_working_memory(table.get(), initializing_, true);
        still_there(at_initialize, "binding for initialization");
        device_.recorder()->RecordDispatch(d3d12_.list(), initializer_.get(), table.get());
        still_there(at_initialize, "RecordDispatch of the initializer");
        await_writes(d3d12_.list());
    }

    void bind() {
        guard::doing("binding");
        Com<dml::IBindingTable>& table = tables_[1];
        make_table(at_bind, compiled_.get(), initializing_.required_descriptor_count, executing_.required_descriptor_count, table);
        bind_working_memory(table.get(), executing_, false);
        bind_tensors(false, "BindInputs");
        bind_tensors(true, "BindOutputs");
    }

    void dispatch() {
        guard::doing("recording the dispatch");
        fill_temporary(executing_);
        device_.recorder()->RecordDispatch(d3d12_.list(), compiled_.get(), tables_[1].get());
        still_there(at_dispatch, "RecordDispatch");
    }

    const uint8_t* execute() {
        D3d12Device::Mapped& returned = d3d12_.readback(request_.total);
        copy_all(returned.buffer.get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
        d3d12_.submit();
        const HRESULT reason = device_.removed_reason();
        if (FAILED(reason)) throw protocol::Fault("after execution the DirectML device is removed: " + hex(reason));
        return returned.bytes;
    }

private:
    /// Copies all resources from `staged` into new buffers, or from their buffers to `staged`; a copy of whole buffers, guard bytes too.
    void copy_all(ID3D12Resource* staged, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
        const bool in = before == D3D12_RESOURCE_STATE_COPY_DEST;
        if (in) {
            for (const uint64_t size : request_.resources) buffers_.push_back(d3d12_.buffer(size));
        } else {
            transition(d3d12_.list(), all_buffers(), before, after);
        }
        uint64_t offset = 0;
        for (size_t i = 0; i < buffers_.size(); ++i) {
            const uint64_t size = request_.resources[i];
            ID3D12Resource* buffer = buffers_[i].get();
            if (size && in) d3d12_.list()->CopyBufferRegion(buffer, 0, staged, offset, size);
            if (size && !in) d3d12_.list()->CopyBufferRegion(staged, offset, buffer, 0, size);
            offset += size;
        }
        if (in) transition(d3d12_.list(), all_buffers(), before, after);
    }

    /// What is bound of temporary memory holds NaN of every float type before a dispatch: an operator that reads what it did not write shows.
    void fill_temporary(const dml::BindingProperties& properties) {
        const uint64_t total = properties.temporary_resource_size;
        if (!total) return;
        if (filled_) transition(d3d12_.list(), {temporary_.get()}, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_DEST);
        for (uint64_t offset = 0; offset < total; offset += pattern_size) {
            const uint64_t size = std::min(pattern_size, total - offset);
            d3d12_.list()->CopyBufferRegion(temporary_.get(), offset, staged_->buffer.get(), request_.total, size);
        }
        transition(d3d12_.list(), {temporary_.get()}, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        filled_ = true;
    }

    std::vector<ID3D12Resource*> all_buffers() const {
        std::vector<ID3D12Resource*> found;
        for (const Com<ID3D12Resource>& buffer : buffers_) found.push_back(buffer.get());
        return found;
    }

    /// Initialization and execution have a part of the descriptor heap each, since both are in one command list.
    void make_table(const char* stage, dml::IDispatchable* dispatchable, uint32_t first, uint32_t count, Com<dml::IBindingTable>& table) {
        dml::BindingTableDesc desc{dispatchable, heap_->GetCPUDescriptorHandleForHeapStart(), heap_->GetGPUDescriptorHandleForHeapStart(),
                                   count};
        desc.cpu.ptr += static_cast<SIZE_T>(first) * d3d12_.descriptor_size();
        desc.gpu.ptr += static_cast<UINT64>(first) * d3d12_.descriptor_size();
        accept(stage, device_.get()->CreateBindingTable(&desc, dml::IBindingTable::iid, table.out()), "CreateBindingTable",
               table);
    }

    void bind_working_memory(dml::IBindingTable* table, const dml::BindingProperties& properties, bool initializing) {
        const dml::BufferBinding temporary{temporary_.get(), 0, properties.temporary_resource_size};
        const dml::BufferBinding persistent{persistent_.get(), 0, executing_.persistent_resource_size};
        const dml::BindingDesc temporary_desc{dml::binding_buffer, &temporary}, persistent_desc{dml::binding_buffer, &persistent};
        if (temporary.size_in_bytes) table->BindTemporaryResource(&temporary_desc);
        if (!persistent_) return;
        if (initializing) table->BindOutputs(1, &persistent_desc);
        else table->BindPersistentResource(&persistent_desc);
    }

    void bind_tensors(bool outputs, const char* call) {
        std::vector<dml::BufferBinding> buffers;
        buffers.reserve(desc_.slots().size());  // bindings point into it
        std::vector<dml::BindingDesc> bindings;
        for (const TensorSlot& slot : desc_.slots()) {
            if (slot.output != outputs) continue;
            const protocol::Binding* binding = slot.owned && !outputs ? nullptr : request_.find(slot.name);
            if (binding) buffers.push_back(bound(*binding));
            bindings.push_back(binding ? dml::BindingDesc{dml::binding_buffer, &buffers.back()} : dml::BindingDesc{});
        }
        const UINT count = static_cast<UINT>(bindings.size());
        if (outputs) tables_[1]->BindOutputs(count, bindings.data());
        else tables_[1]->BindInputs(count, bindings.data());
        still_there(at_bind, call);
    }

    dml::BufferBinding bound(const protocol::Binding& binding) const {
        return {buffers_[binding.resource].get(), binding.offset, binding.size};
    }

    /// Binding and recording return nothing: what they refuse removes the device.
    void still_there(const char* stage, const char* call) {
        const HRESULT reason = device_.removed_reason();
        if (FAILED(reason)) {
            throw protocol::Rejected{stage, static_cast<uint32_t>(reason), std::string(call) + " removed the device with " + hex(reason)};
        }
    }

    DirectMlDevice& device_;
    D3d12Device& d3d12_;
    const protocol::RunRequest& request_;
    OperatorDesc desc_;
    Com<dml::IOperator> operator_;
    Com<dml::ICompiledOperator> compiled_;
    Com<dml::IOperatorInitializer> initializer_;
    dml::BindingProperties initializing_{}, executing_{};
    std::vector<Com<ID3D12Resource>> buffers_;
    Com<ID3D12Resource> temporary_, persistent_;
    D3d12Device::Mapped* staged_ = nullptr;  // the contents of all resources, and then the pattern of temporary memory
    bool filled_ = false;                    // temporary memory, at least once: until then it is in the common state
    ID3D12DescriptorHeap* heap_ = nullptr;
    Com<dml::IBindingTable> tables_[2];  // for initialization, and for execution
};

}  // namespace

const uint8_t* run_operator(DirectMlDevice& device, const json::Value& header, const protocol::RunRequest& request,
                            const uint8_t* contents, Kernels& kernels, Times& times) {
    Stopwatch watch(times);
    const uint8_t* returned = nullptr;
    kernels.begin(request.paths);
    {
        Run run(device, header, request);
        watch.lap(Times::layout);
        run.create();
        watch.lap(Times::create);
        run.compile();
        watch.lap(Times::compile);
        device.d3d12().begin();
        run.upload(contents);
        watch.lap(Times::memory);
        kernels.initializes(true);
        run.initialize();
        kernels.initializes(false);
        watch.lap(Times::initialize);
        run.bind();
        watch.lap(Times::bind);
        run.dispatch();
        watch.lap(Times::dispatch);
        if (request.execute) returned = run.execute();
        watch.lap(Times::gpu);
    }
    watch.lap(Times::release);
    return returned;
}
