// What is known of the client's objects: the number of each, what tables bind, what lists hold. Every method takes the lock, and none throws
// or calls the client.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture_file.h"
#include "copies.h"
#include "directml_api.h"
#include "hooks.h"

/// What was compiled, or an initializer.
struct Dispatchable {
    uint64_t id;
    bool volatile_;  // what is bound may change until it is executed
    bool initializer;
};

/// What a table binds, from its creation or its last Reset on.
struct Table {
    uint64_t id;
    std::vector<Bound> inputs, outputs;
};

/// A call of RecordDispatch, in a list, with the bytes that its copies in that list will give; null where there are none.
struct Dispatch {
    uint64_t id;
    Dispatchable dispatchable;
    std::shared_ptr<Table> table;
    std::shared_ptr<Snapshot> inputs, outputs;
};

/// A dispatch that a queue is given. `copied` says that its bytes are to be copied by lists of ours around the client's.
struct Execution {
    uint64_t number;
    Dispatch dispatch;
    bool copied;
};

/// What a call of ExecuteCommandLists executes, list by list.
struct Batch {
    std::vector<std::vector<Execution>> lists;
    bool has_data = false, is_split = false;  // some execution has bytes; some has them copied around a list
};

class Session {
public:
    /// The one of this process; null where nothing is to be captured.
    static Session* get();

    /// The first line, once.
    void begin(const std::string& dll, const std::string& version);

    void device(IUnknown* device, UINT flags, const UINT* feature_level, bool executions, HRESULT result);
    void created_operator(IUnknown* device, const dml::TypedDesc* desc, HRESULT result, IUnknown* made);
    void compiled(IUnknown* device, IUnknown* op, UINT flags, HRESULT result, IUnknown* made);
    void compiled_graph(IUnknown* device, const dml::GraphDesc* graph, UINT flags, HRESULT result, IUnknown* made);
    void initializer(IUnknown* device, UINT count, dml::ICompiledOperator* const* compiled, HRESULT result, IUnknown* made);
    void table(IUnknown* device, const dml::BindingTableDesc* desc, HRESULT result, IUnknown* made);
    void named(IUnknown* object, const wchar_t* name);
    void bind(IUnknown* table, const char* what, UINT count, const dml::BindingDesc* bindings);
    void bind_one(IUnknown* table, const char* what, const dml::BindingDesc* binding);

    /// Before and after a dispatch is recorded: with copies in the client's list, if its bytes are wanted and do not depend on what is bound
    /// later.
    void dispatch(ID3D12CommandList* list, IUnknown* dispatchable, IUnknown* table);
    void dispatched(ID3D12CommandList* list);
    void list_reset(ID3D12CommandList* list);

    /// What a call is about to execute.
    Batch execute(ID3D12CommandQueue* queue, UINT count, ID3D12CommandList* const* lists);

    /// Copies of what is bound now, in a list of ours; null if there is nothing to copy. The list is closed.
    copies::OwnList copy(ID3D12CommandQueue* queue, Execution& execution, bool outputs);

    /// Waits for what a queue was given, and writes the bytes: those that do not come in time, at a later call.
    void collect(ID3D12CommandQueue* queue, Batch batch, std::vector<copies::OwnList> lists);

private:
    /// Executed, and perhaps not done yet. It keeps our own objects alive that the GPU still uses.
    struct Pending {
        Com<ID3D12Fence> fence;
        Batch batch;
        std::vector<copies::OwnList> lists;
    };

    explicit Session(std::unique_ptr<CaptureFile> file, const Settings& settings) : settings_(settings), file_(std::move(file)) {}

    uint64_t add(IUnknown* object);
    uint64_t add_dispatchable(IUnknown* object, bool is_volatile, bool initializer = false);
    json::Value known(IUnknown* object) const;
    uint64_t address(const void* object);
    void write_made(json::Object event, HRESULT result, uint64_t id);
    json::Object graph_json(const dml::GraphDesc& graph);
    json::Value binding_json(const Bound& bound);
    bool is_wanted(const Dispatchable& dispatchable);
    bool has_room(const std::vector<Bound>& bound) { return file_->has_room(copies::size_of(bound)); }
    std::vector<Dispatch>* dispatches_of(ID3D12CommandList* list, bool make);
    json::Value contents_json(const Snapshot& snapshot);
    void write_data(const Batch& batch);

    const Settings settings_;
    SRWLOCK lock_ = SRWLOCK_INIT;
    std::unique_ptr<CaptureFile> file_;
    bool begun_ = false;
    uint64_t last_id_ = 0, executions_ = 0, candidates_ = 0, last_list_ = 0;
    std::unordered_map<const void*, uint64_t> ids_;        // DirectML's objects: the one that was made last at an address
    std::unordered_map<const void*, uint64_t> addresses_;  // D3D12's objects, which were not seen being made
    std::unordered_map<const void*, Dispatchable> dispatchables_;
    std::unordered_map<const void*, std::shared_ptr<Table>> tables_;
    std::unordered_map<uint64_t, std::vector<Dispatch>> lists_;  // by our number, which a list carries as private data
    std::vector<Pending> pending_;
};
