// What is known of the client's objects: the number of each, what tables bind, what lists hold. Every method takes the lock, and none throws
// or calls the client.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture_file.h"
#include "directml_api.h"
#include "hooks.h"

/// What was compiled, or an initializer.
struct Dispatchable {
    uint64_t id;
    bool volatile_;  // what is bound may change until it is executed
};

/// A binding: nothing, a part of a buffer, or an array of those. Buffers are not kept alive.
struct Bound {
    uint32_t type = dml::binding_none;
    std::vector<dml::BufferBinding> parts;
};

/// What a table binds, from its creation or its last Reset on.
struct Table {
    uint64_t id;
    std::vector<Bound> inputs, outputs;
};

/// A call of RecordDispatch, in a list.
struct Dispatch {
    uint64_t id;
    Dispatchable dispatchable;
    std::shared_ptr<Table> table;
};

class Session {
public:
    /// The one of this process; null where nothing is to be captured.
    static Session* get();

    void device(IUnknown* device, UINT flags, const UINT* feature_level, bool executions, const std::string& dll, const std::string& version);
    void created_operator(IUnknown* device, const dml::TypedDesc* desc, HRESULT result, IUnknown* made);
    void compiled(IUnknown* device, IUnknown* op, UINT flags, HRESULT result, IUnknown* made);
    void compiled_graph(IUnknown* device, const dml::GraphDesc* graph, UINT flags, HRESULT result, IUnknown* made);
    void initializer(IUnknown* device, UINT count, dml::ICompiledOperator* const* compiled, HRESULT result, IUnknown* made);
    void table(IUnknown* device, const dml::BindingTableDesc* desc, HRESULT result, IUnknown* made);
    void named(IUnknown* object, const wchar_t* name);
    void bind(IUnknown* table, const char* what, UINT count, const dml::BindingDesc* bindings);
    void bind_one(IUnknown* table, const char* what, const dml::BindingDesc* binding);

    void dispatch(IUnknown* list, IUnknown* dispatchable, IUnknown* table);
    void list_reset(IUnknown* list);
    void execute(IUnknown* queue, UINT count, ID3D12CommandList* const* lists);

private:
    explicit Session(std::unique_ptr<CaptureFile> file, const Settings& settings) : settings_(settings), file_(std::move(file)) {}

    uint64_t add(IUnknown* object);
    uint64_t add_dispatchable(IUnknown* object, bool is_volatile);
    json::Value known(IUnknown* object) const;
    uint64_t address(const void* object);
    void write_made(json::Object event, HRESULT result, uint64_t id);
    json::Object graph_json(const dml::GraphDesc& graph);
    json::Value binding_json(const Bound& bound);

    const Settings settings_;
    SRWLOCK lock_ = SRWLOCK_INIT;
    std::unique_ptr<CaptureFile> file_;
    bool begun_ = false;
    uint64_t last_id_ = 0, executions_ = 0;
    std::unordered_map<const void*, uint64_t> ids_;        // DirectML's objects: the one that was made last at an address
    std::unordered_map<const void*, uint64_t> addresses_;  // D3D12's objects, which were not seen being made
    std::unordered_map<const void*, Dispatchable> dispatchables_;
    std::unordered_map<const void*, std::shared_ptr<Table>> tables_;
    std::unordered_map<const void*, std::vector<Dispatch>> lists_;
};
