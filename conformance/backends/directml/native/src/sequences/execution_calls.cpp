// Calls about memory, command lists and queues.
#include "sequences/calls.h"

#include "barriers.h"

namespace sequences {

Reply make_list(Sequence& sequence, const Call& call, D3D12_COMMAND_LIST_TYPE type) {
    Object object{Kind::list, nullptr};
    object.list_type = type;
    ID3D12CommandAllocator* allocator = nullptr;
    {
        const hooks::Lock lock(sequence.lock);
        const HRESULT code = sequence.allocator(object.list_type, &allocator);
        if (FAILED(code)) return {code};
    }
    void* made = nullptr;
    const HRESULT code = sequence.d3d12().get()->CreateCommandList(0, object.list_type, allocator, nullptr,
                                                                   __uuidof(ID3D12GraphicsCommandList), &made);
    return reply_with(sequence, call, code, made, std::move(object));
}

}  // namespace sequences

namespace sequences::calls {

namespace {

D3D12_HEAP_TYPE heap_type(const json::Value& members) {
    const json::Value* given = json::find(members, "heap");
    const std::string name = given ? json::as_string(*given, "heap") : "DEFAULT";
    if (name == "DEFAULT") return D3D12_HEAP_TYPE_DEFAULT;
    if (name == "UPLOAD") return D3D12_HEAP_TYPE_UPLOAD;
    if (name == "READBACK") return D3D12_HEAP_TYPE_READBACK;
    if (name == "CUSTOM") return D3D12_HEAP_TYPE_CUSTOM;
    throw json::Error("there is no heap '" + name + "'");
}

D3D12_COMMAND_LIST_TYPE list_type(const json::Value& members) {
    const json::Value* given = json::find(members, "type");
    const std::string name = given ? json::as_string(*given, "type") : "DIRECT";
    if (name == "DIRECT") return D3D12_COMMAND_LIST_TYPE_DIRECT;
    if (name == "COMPUTE") return D3D12_COMMAND_LIST_TYPE_COMPUTE;
    throw json::Error("there is no type of lists '" + name + "'");
}

Object& list_of(Sequence& sequence, const Call& call) { return sequence.objects.get(number(call.members, "list"), Kind::list); }

}  // namespace

Reply create_resource(Sequence& sequence, const Call& call) {
    const uint64_t size = size_in_bytes(sequence, json::at(call.members, "size"));
    const auto fill = static_cast<uint8_t>(number_or(call.members, "fill", 0xA5, 0xFF));
    const hooks::Lock lock(sequence.lock);
    sequence.objects.add(number(call.members, "makes"), sequence.memory.make(size, fill, heap_type(call.members)));
    return {};
}

Reply write(Sequence& sequence, const Call& call) {
    const Object& resource = sequence.objects.get(number(call.members, "resource"), Kind::resource);
    const hooks::Lock lock(sequence.lock);
    sequence.memory.write(resource, number_or(call.members, "offset", 0), call.bytes, count_bytes(call.members));
    return {};
}

Reply read(Sequence& sequence, const Call& call) {
    const Object& resource = sequence.objects.get(number(call.members, "resource"), Kind::resource);
    const uint64_t offset = number_or(call.members, "offset", 0);
    const uint64_t rest = offset < resource.size ? resource.size - offset : 0;
    Reply reply;
    const hooks::Lock lock(sequence.lock);
    reply.bytes = sequence.memory.read(resource, resource.size ? offset : 0, number_or(call.members, "size", rest));
    reply.reads = true;
    return reply;
}

Reply create_list(Sequence& sequence, const Call& call) { return make_list(sequence, call, list_type(call.members)); }

namespace {

/// With `sets_heaps`, the list gets the heap in which the table lies, if it has another.
Reply record_into(Sequence& sequence, const Call& call, bool sets_heaps) {
    Object& list = list_of(sequence, call);
    const Object& dispatchable = sequence.objects.get(number(call.members, "dispatchable"), {Kind::compiled, Kind::initializer});
    const Object& table = sequence.objects.get(number(call.members, "table"), Kind::table);
    dml::ICommandRecorder* recorder = nullptr;
    {
        const hooks::Lock lock(sequence.lock);
        const HRESULT code = sequence.recorder(dispatchable, &recorder);
        if (FAILED(code)) return {code};
    }
    auto* commands = list.as<ID3D12GraphicsCommandList>();
    if (sets_heaps && table.descriptors && table.descriptors != list.descriptors) {
        list.descriptors = table.descriptors;
        commands->SetDescriptorHeaps(1, &list.descriptors);
    }
    sequence.kernels.initializes(dispatchable.kind == Kind::initializer);
    recorder->RecordDispatch(commands, dispatchable.as<dml::IDispatchable>(), table.as<dml::IBindingTable>());
    sequence.kernels.initializes(false);
    return {};
}

}  // namespace

Reply record(Sequence& sequence, const Call& call) { return record_into(sequence, call, true); }

Reply record_without_heaps(Sequence& sequence, const Call& call) { return record_into(sequence, call, false); }

Reply barrier(Sequence& sequence, const Call& call) {
    auto* commands = list_of(sequence, call).as<ID3D12GraphicsCommandList>();
    ID3D12Resource* resource = nullptr;
    if (json::find(call.members, "resource")) {
        resource = sequence.objects.get(number(call.members, "resource"), Kind::resource).as<ID3D12Resource>();
        if (!resource) return {};  // one of no bytes has nothing to wait for
    }
    await_writes(commands, resource);
    return {};
}

Reply close(Sequence& sequence, const Call& call) { return {list_of(sequence, call).as<ID3D12GraphicsCommandList>()->Close()}; }

Reply submit(Sequence& sequence, const Call& call) {
    std::vector<ID3D12CommandList*> lists;
    D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_DIRECT;
    for (const json::Value& entry : json::as_array(json::at(call.members, "lists"), "lists")) {
        const Object& list = sequence.objects.get(json::as_uint(entry, "lists"), Kind::list);
        if (!lists.empty() && list.list_type != type) throw json::Error("lists of both types are submitted at once");
        type = list.list_type;
        lists.push_back(list.as<ID3D12CommandList>());
    }
    const hooks::Lock lock(sequence.lock);
    if (!lists.empty()) sequence.submit(type, lists);
    return {};
}

Reply wait(Sequence& sequence, const Call&) {
    const hooks::Lock lock(sequence.lock);
    return {sequence.wait()};
}

}  // namespace sequences::calls
