#include "session.h"

#include <cstring>

#include "desc_json.h"

namespace {

constexpr UINT descriptors_volatile = 4;

/// Milliseconds that a queue is waited for. It may wait for its client, which waits here.
constexpr unsigned patience = 10000;

/// The number of a list, as its private data: it ends with the list, whose address another one may have later.
constexpr GUID list_number = {0x6c7a1d52, 0x8b0e, 0x4a64, {0x9b, 0x1d, 0x5e, 0x21, 0x7f, 0x30, 0xc4, 0x8a}};

/// The address by which COM tells objects apart, whatever interface is held. The object is not kept alive.
const void* identity(IUnknown* object) {
    IUnknown* unknown = nullptr;
    if (!object || FAILED(object->QueryInterface(__uuidof(IUnknown), reinterpret_cast<void**>(&unknown)))) return object;
    unknown->Release();
    return unknown;
}

bool read_directly(void* to, const void* from, size_t size) {
    std::memcpy(to, from, size);
    return true;
}

/// For what DirectML has refused: it may point anywhere.
bool read_carefully(void* to, const void* from, size_t size) {
    SIZE_T done = 0;
    return ReadProcessMemory(GetCurrentProcess(), from, to, size, &done) && done == size;
}

std::string level_name(UINT level) { return std::to_string(level >> 12 & 15) + "_" + std::to_string(level >> 8 & 15); }

std::string text(const char* name) { return name ? std::string(name).substr(0, 1000) : std::string(); }

void add_name(json::Object& object, const char* name) {
    if (name && *name) object.push_back({"Name", text(name)});
}

Bound copy_of(const dml::BindingDesc& desc) {
    Bound found{desc.type, {}};
    if (desc.type == dml::binding_buffer && desc.desc) found.parts.push_back(*static_cast<const dml::BufferBinding*>(desc.desc));
    if (desc.type == dml::binding_buffer_array && desc.desc) {
        const auto& array = *static_cast<const dml::BufferArrayBinding*>(desc.desc);
        if (array.bindings) found.parts.assign(array.bindings, array.bindings + array.binding_count);
    }
    return found;
}

}  // namespace

Session* Session::get() {
    static Session* const session = [] {
        const Settings settings = Settings::of_environment();
        std::unique_ptr<CaptureFile> file = settings.file.empty() ? nullptr : CaptureFile::create(settings);
        return file ? new Session(std::move(file), settings) : nullptr;  // until the process ends: other threads may still use it
    }();
    return session;
}

uint64_t Session::add(IUnknown* object) { return ids_[identity(object)] = ++last_id_; }

uint64_t Session::add_dispatchable(IUnknown* object, bool is_volatile, bool initializer) {
    const uint64_t id = add(object);
    dispatchables_[identity(object)] = {id, is_volatile, initializer};
    return id;
}

json::Value Session::known(IUnknown* object) const {
    const auto found = ids_.find(identity(object));
    return object && found != ids_.end() ? json::Value(found->second) : json::Value();
}

uint64_t Session::address(const void* object) {
    return addresses_.emplace(object, addresses_.size() + 1).first->second;
}

void Session::write_made(json::Object event, HRESULT result, uint64_t id) {
    if (FAILED(result)) event.push_back({"failed", hex(result)});
    else event.push_back({"id", id});
    file_->write(std::move(event));
}

void Session::begin(const std::string& dll, const std::string& version) {
    const hooks::Lock lock(lock_);
    if (begun_) return;
    begun_ = true;
    wchar_t program[4096] = L"";
    GetModuleFileNameW(nullptr, program, 4096);
    file_->write({{"event", "capture"},
                  {"version", 1},
                  {"program", utf8(program)},
                  {"directml", dll},
                  {"directml_version", version},
                  {"data", settings_.data_name()},
                  {"limit", settings_.limit},
                  {"every", settings_.every}});
}

void Session::device(IUnknown* device, UINT flags, const UINT* feature_level, bool executions, HRESULT result) {
    const hooks::Lock lock(lock_);
    json::Object event{{"event", "device"}, {"flags", flags}, {"executions", executions}};
    if (feature_level) event.push_back({"feature_level", level_name(*feature_level)});
    write_made(std::move(event), result, SUCCEEDED(result) ? add(device) : 0);
}

void Session::created_operator(IUnknown* device, const dml::TypedDesc* desc, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Object event{{"event", "operator"}, {"device", known(device)}};
    try {
        if (!desc) throw Unreadable("no desc");
        event.push_back({"desc", desc_json(*desc, SUCCEEDED(result) ? read_directly : read_carefully)});
    } catch (const Unreadable&) {
        event.push_back({"operator_type", desc ? desc->type : 0});
    }
    write_made(std::move(event), result, SUCCEEDED(result) ? add(made) : 0);
}

void Session::compiled(IUnknown* device, IUnknown* op, UINT flags, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Object event{{"event", "compiled"}, {"device", known(device)}, {"operator", known(op)}, {"flags", flags}};
    write_made(std::move(event), result, SUCCEEDED(result) ? add_dispatchable(made, flags & descriptors_volatile) : 0);
}

json::Object Session::graph_json(const dml::GraphDesc& graph) {
    json::Array nodes, inputs, outputs, inner;
    for (uint32_t i = 0; i < graph.node_count; ++i) {
        json::Object node;
        if (graph.nodes[i].type == dml::node_constant) {
            const auto& constant = *static_cast<const dml::ConstantNodeDesc*>(graph.nodes[i].desc);
            node = {{"Constant", file_->bytes(constant.data, constant.size, settings_.data != Settings::none)}};
            add_name(node, constant.name);
        } else {
            const auto& op = *static_cast<const dml::OperatorNodeDesc*>(graph.nodes[i].desc);
            node = {{"Operator", known(op.op)}};
            add_name(node, op.name);
        }
        nodes.push_back(std::move(node));
    }
    for (uint32_t i = 0; i < graph.input_edge_count; ++i) {
        const auto& edge = *static_cast<const dml::InputEdgeDesc*>(graph.input_edges[i].desc);
        json::Object object{{"GraphInputIndex", edge.graph_input}, {"ToNodeIndex", edge.to_node}, {"ToNodeInputIndex", edge.to_node_input}};
        add_name(object, edge.name);
        inputs.push_back(std::move(object));
    }
    for (uint32_t i = 0; i < graph.output_edge_count; ++i) {
        const auto& edge = *static_cast<const dml::OutputEdgeDesc*>(graph.output_edges[i].desc);
        json::Object object{{"FromNodeIndex", edge.from_node},
                            {"FromNodeOutputIndex", edge.from_node_output},
                            {"GraphOutputIndex", edge.graph_output}};
        add_name(object, edge.name);
        outputs.push_back(std::move(object));
    }
    for (uint32_t i = 0; i < graph.intermediate_edge_count; ++i) {
        const auto& edge = *static_cast<const dml::IntermediateEdgeDesc*>(graph.intermediate_edges[i].desc);
        json::Object object{{"FromNodeIndex", edge.from_node},
                            {"FromNodeOutputIndex", edge.from_node_output},
                            {"ToNodeIndex", edge.to_node},
                            {"ToNodeInputIndex", edge.to_node_input}};
        add_name(object, edge.name);
        inner.push_back(std::move(object));
    }
    return {{"InputCount", graph.input_count}, {"OutputCount", graph.output_count},    {"Nodes", std::move(nodes)},
            {"InputEdges", std::move(inputs)}, {"OutputEdges", std::move(outputs)}, {"IntermediateEdges", std::move(inner)}};
}

void Session::compiled_graph(IUnknown* device, const dml::GraphDesc* graph, UINT flags, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Object event{{"event", "graph"}, {"device", known(device)}, {"flags", flags}};
    if (SUCCEEDED(result)) {
        for (json::Member& member : graph_json(*graph)) event.push_back(std::move(member));
    } else if (graph) {  // one that was refused may point anywhere: its own numbers are all that is safe to read
        event.push_back({"counts", json::Object{{"inputs", graph->input_count},
                                                {"outputs", graph->output_count},
                                                {"nodes", graph->node_count},
                                                {"input edges", graph->input_edge_count},
                                                {"output edges", graph->output_edge_count},
                                                {"intermediate edges", graph->intermediate_edge_count}}});
    }
    write_made(std::move(event), result, SUCCEEDED(result) ? add_dispatchable(made, flags & descriptors_volatile) : 0);
}

void Session::initializer(IUnknown* device, UINT count, dml::ICompiledOperator* const* compiled, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Array ids;
    for (UINT i = 0; SUCCEEDED(result) && i < count; ++i) ids.push_back(known(compiled[i]));
    json::Object event{{"event", "initializer"}, {"device", known(device)}, {"compiled", std::move(ids)}};
    write_made(std::move(event), result, SUCCEEDED(result) ? add_dispatchable(made, false, true) : 0);
}

void Session::table(IUnknown* device, const dml::BindingTableDesc* desc, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Object event{{"event", "table"},
                       {"device", known(device)},
                       {"dispatchable", desc && SUCCEEDED(result) ? known(desc->dispatchable) : json::Value()},
                       {"descriptors", desc ? desc->size_in_descriptors : 0}};
    const uint64_t id = SUCCEEDED(result) ? add(made) : 0;
    if (id) tables_[identity(made)] = std::make_shared<Table>(Table{id, {}, {}});
    write_made(std::move(event), result, id);
}

void Session::named(IUnknown* object, const wchar_t* name) {
    const hooks::Lock lock(lock_);
    const json::Value id = known(object);
    if (!id.is_null() && name) file_->write({{"event", "name"}, {"id", id}, {"name", text(utf8(name).c_str())}});
}

json::Value Session::binding_json(const Bound& bound) {
    json::Array parts;
    for (const dml::BufferBinding& part : bound.parts) {
        if (part.buffer) {
            parts.push_back(json::Object{{"buffer", address(part.buffer)}, {"offset", part.offset}, {"size", part.size_in_bytes}});
        } else {
            parts.push_back(nullptr);
        }
    }
    if (bound.type == dml::binding_buffer_array) return parts;
    return parts.empty() ? json::Value() : parts.front();
}

void Session::bind(IUnknown* table, const char* what, UINT count, const dml::BindingDesc* bindings) {
    const hooks::Lock lock(lock_);
    const auto found = tables_.find(identity(table));
    if (found == tables_.end()) return;
    std::vector<Bound> bound;
    json::Array parts;
    for (UINT i = 0; bindings && i < count; ++i) {
        bound.push_back(copy_of(bindings[i]));
        parts.push_back(binding_json(bound.back()));
    }
    file_->write({{"event", "bind"}, {"table", found->second->id}, {what, std::move(parts)}});
    (*what == 'i' ? found->second->inputs : found->second->outputs) = std::move(bound);
}

void Session::bind_one(IUnknown* table, const char* what, const dml::BindingDesc* binding) {
    const hooks::Lock lock(lock_);
    const auto found = tables_.find(identity(table));
    if (found == tables_.end()) return;
    const Bound bound = binding ? copy_of(*binding) : Bound();
    file_->write({{"event", "bind"}, {"table", found->second->id}, {what, binding_json(bound)}});
}

bool Session::is_wanted(const Dispatchable& dispatchable) {
    if (settings_.data == Settings::none) return false;
    return dispatchable.initializer || candidates_++ % settings_.every == 0;
}

std::vector<Dispatch>* Session::dispatches_of(ID3D12CommandList* list, bool make) {
    uint64_t number = 0;
    UINT size = sizeof number;
    if (FAILED(list->GetPrivateData(list_number, &size, &number)) || size != sizeof number) {
        if (!make) return nullptr;
        number = ++last_list_;
        if (FAILED(list->SetPrivateData(list_number, sizeof number, &number))) return nullptr;
    }
    return make ? &lists_[number] : lists_.count(number) ? &lists_[number] : nullptr;
}

void Session::dispatch(ID3D12CommandList* list, IUnknown* dispatchable, IUnknown* table) {
    const hooks::Lock lock(lock_);
    const auto bound = tables_.find(identity(table));
    const auto dispatched = dispatchables_.find(identity(dispatchable));
    const uint64_t id = ++last_id_;
    file_->write({{"event", "dispatch"},
                  {"id", id},
                  {"dispatchable", known(dispatchable)},
                  {"table", bound == tables_.end() ? json::Value() : json::Value(bound->second->id)},
                  {"list", address(list)}});
    if (bound == tables_.end() || dispatched == dispatchables_.end()) return;
    std::vector<Dispatch>* dispatches = dispatches_of(list, true);
    if (!dispatches) return;
    dispatches->push_back({id, dispatched->second, bound->second, nullptr, nullptr});
    if (dispatched->second.volatile_ || !is_wanted(dispatched->second) || !has_room(bound->second->inputs)) return;
    Com<ID3D12GraphicsCommandList> recording;
    if (FAILED(list->QueryInterface(__uuidof(ID3D12GraphicsCommandList), recording.out()))) return;
    dispatches->back().inputs = copies::record(recording.get(), bound->second->inputs, copies::Where::within_a_list);
}

void Session::dispatched(ID3D12CommandList* list) {
    const hooks::Lock lock(lock_);
    std::vector<Dispatch>* dispatches = settings_.data == Settings::all ? dispatches_of(list, false) : nullptr;
    if (!dispatches || dispatches->empty()) return;
    Dispatch& last = dispatches->back();
    if (!last.inputs || last.dispatchable.initializer || !has_room(last.table->outputs)) return;
    Com<ID3D12GraphicsCommandList> recording;
    if (FAILED(list->QueryInterface(__uuidof(ID3D12GraphicsCommandList), recording.out()))) return;
    last.outputs = copies::record(recording.get(), last.table->outputs, copies::Where::within_a_list);
}

void Session::list_reset(ID3D12CommandList* list) {
    const hooks::Lock lock(lock_);
    if (std::vector<Dispatch>* dispatches = dispatches_of(list, false)) dispatches->clear();
}

Batch Session::execute(ID3D12CommandQueue* queue, UINT count, ID3D12CommandList* const* lists) {
    const hooks::Lock lock(lock_);
    Batch batch;
    json::Array ids;
    for (UINT i = 0; i < count; ++i) {
        batch.lists.emplace_back();
        const std::vector<Dispatch>* dispatches = lists[i] ? dispatches_of(lists[i], false) : nullptr;
        if (!dispatches) continue;
        for (const Dispatch& dispatch : *dispatches) {
            // Around a list there is but one moment before and one after it: another dispatch in it would be between them.
            const bool copied = dispatch.dispatchable.volatile_ && dispatches->size() == 1 && is_wanted(dispatch.dispatchable);
            batch.is_split = batch.is_split || copied;
            batch.has_data = batch.has_data || copied || dispatch.inputs || dispatch.outputs;
            ids.push_back(dispatch.id);
            batch.lists.back().push_back({executions_ + ids.size(), dispatch, copied});
        }
    }
    if (ids.empty()) return batch;
    const uint64_t first = executions_ + 1;
    executions_ += ids.size();
    file_->write({{"event", "execute"}, {"queue", address(queue)}, {"first", first}, {"dispatches", std::move(ids)}});
    return batch;
}

copies::OwnList Session::copy(ID3D12CommandQueue* queue, Execution& execution, bool outputs) {
    const hooks::Lock lock(lock_);
    const std::vector<Bound>& bound = outputs ? execution.dispatch.table->outputs : execution.dispatch.table->inputs;
    copies::OwnList own;
    if (!execution.copied || (outputs && settings_.data != Settings::all) || !has_room(bound)) return own;
    own = copies::make_list(queue);
    if (!own.list) return own;
    std::shared_ptr<Snapshot> snapshot = copies::record(own.list.get(), bound, copies::Where::in_a_list_of_ours);
    if (FAILED(own.list->Close()) || !snapshot) own.list.reset();
    else (outputs ? execution.dispatch.outputs : execution.dispatch.inputs) = std::move(snapshot);
    return own;
}

json::Value Session::contents_json(const Snapshot& snapshot) {
    void* mapped = nullptr;
    if (FAILED(snapshot.buffer->Map(0, nullptr, &mapped))) return nullptr;
    json::Array contents;
    for (size_t i = 0; i < snapshot.bound.size(); ++i) {
        json::Array parts;
        for (const Snapshot::Place& place : snapshot.places[i]) {
            parts.push_back(place.copied ? file_->bytes(static_cast<const char*>(mapped) + place.offset, place.size, true) : json::Value());
        }
        if (snapshot.bound[i].type == dml::binding_buffer_array) contents.push_back(std::move(parts));
        else contents.push_back(parts.empty() ? json::Value() : parts.front());
    }
    const D3D12_RANGE nothing{};
    snapshot.buffer->Unmap(0, &nothing);
    return contents;
}

void Session::write_data(const Batch& batch) {
    for (const std::vector<Execution>& list : batch.lists) {
        for (const Execution& execution : list) {
            json::Object event{{"event", "data"}, {"execution", execution.number}};
            const auto add = [&](const char* name, const std::shared_ptr<Snapshot>& snapshot) {
                if (!snapshot) return;
                json::Value contents = contents_json(*snapshot);
                if (!contents.is_null()) event.push_back({name, std::move(contents)});
            };
            add("inputs", execution.dispatch.inputs);
            add("outputs", execution.dispatch.outputs);
            if (event.size() > 2) file_->write(std::move(event));
        }
    }
}

void Session::collect(ID3D12CommandQueue* queue, Batch batch, std::vector<copies::OwnList> lists) {
    Com<ID3D12Fence> fence = copies::signal_after(queue);
    if (fence) copies::wait(fence.get(), patience);
    const hooks::Lock lock(lock_);
    pending_.push_back({std::move(fence), std::move(batch), std::move(lists)});
    for (size_t i = 0; i < pending_.size();) {
        Pending& one = pending_[i];
        if (!one.fence || !copies::wait(one.fence.get(), 0)) {  // without a fence nobody knows when: never freed
            ++i;
            continue;
        }
        write_data(one.batch);
        pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
    }
}
