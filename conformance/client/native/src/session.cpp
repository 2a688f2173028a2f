#include "session.h"

#include <cstring>

#include "desc_json.h"

namespace {

constexpr UINT descriptors_volatile = 4;

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

uint64_t Session::add_dispatchable(IUnknown* object, bool is_volatile) {
    const uint64_t id = add(object);
    dispatchables_[identity(object)] = {id, is_volatile};
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

void Session::device(IUnknown* device, UINT flags, const UINT* feature_level, bool executions, const std::string& dll,
                     const std::string& version) {
    const hooks::Lock lock(lock_);
    if (!begun_) {
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
    json::Object event{{"event", "device"}, {"id", add(device)}, {"flags", flags}, {"executions", executions}};
    if (feature_level) event.push_back({"feature_level", level_name(*feature_level)});
    file_->write(std::move(event));
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
    if (SUCCEEDED(result)) {  // one that was refused may point anywhere
        for (json::Member& member : graph_json(*graph)) event.push_back(std::move(member));
    }
    write_made(std::move(event), result, SUCCEEDED(result) ? add_dispatchable(made, flags & descriptors_volatile) : 0);
}

void Session::initializer(IUnknown* device, UINT count, dml::ICompiledOperator* const* compiled, HRESULT result, IUnknown* made) {
    const hooks::Lock lock(lock_);
    json::Array ids;
    for (UINT i = 0; SUCCEEDED(result) && i < count; ++i) ids.push_back(known(compiled[i]));
    json::Object event{{"event", "initializer"}, {"device", known(device)}, {"compiled", std::move(ids)}};
    write_made(std::move(event), result, SUCCEEDED(result) ? add_dispatchable(made, false) : 0);
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

void Session::dispatch(IUnknown* list, IUnknown* dispatchable, IUnknown* table) {
    const hooks::Lock lock(lock_);
    const auto bound = tables_.find(identity(table));
    const auto dispatched = dispatchables_.find(identity(dispatchable));
    const uint64_t id = ++last_id_;
    file_->write({{"event", "dispatch"},
                  {"id", id},
                  {"dispatchable", known(dispatchable)},
                  {"table", known(table)},
                  {"list", address(identity(list))}});
    if (bound == tables_.end() || dispatched == dispatchables_.end()) return;
    lists_[identity(list)].push_back({id, dispatched->second, bound->second});
}

void Session::list_reset(IUnknown* list) {
    const hooks::Lock lock(lock_);
    lists_.erase(identity(list));
}

void Session::execute(IUnknown* queue, UINT count, ID3D12CommandList* const* lists) {
    const hooks::Lock lock(lock_);
    json::Array ids;
    for (UINT i = 0; i < count; ++i) {
        const auto found = lists_.find(identity(lists[i]));
        if (found == lists_.end()) continue;
        for (const Dispatch& dispatch : found->second) ids.push_back(dispatch.id);
    }
    if (ids.empty()) return;
    const uint64_t first = executions_ + 1;
    executions_ += ids.size();
    file_->write({{"event", "execute"}, {"queue", address(identity(queue))}, {"first", first}, {"dispatches", std::move(ids)}});
}
