// Calls that show what is refused, and what objects tell of themselves. conformance/sequences/calls/trying.py has their words.
#include "sequences/calls.h"

#include <cstring>

namespace sequences::calls {

namespace {

/// The identifier that a call names; null where it names none.
std::optional<GUID> iid_of(const Call& call) {
    if (!json::find(call.members, "iid")) return std::nullopt;
    return as_guid(json::as_string(json::at(call.members, "iid"), "iid"));
}

/// What a creating function gives, released at once. `create` gets an identifier and the place of the object: null where none is wanted.
template <class Create> Reply try_to(const std::optional<GUID>& iid, const GUID& usual, Create create) {
    Com<IUnknown> made;
    return {create(iid ? *iid : usual, iid ? made.out() : nullptr)};
}

dml::IObject* dml_object(Sequence& sequence, const Call& call) {
    return sequence.objects
        .get(number(call.members, "of"), {Kind::device, Kind::op, Kind::compiled, Kind::initializer, Kind::table})
        .as<dml::IObject>();
}

/// The identifier of private data: no other sequence has it, as device 0 outlives them.
GUID key_of(const Sequence& sequence, const Call& call) {
    GUID found{0, 0x444d, 0x4c43, {0x54, 0x53, 0, 0, 0, 0, 0, 0}};
    found.Data1 = number32(call.members, "key");
    const uint64_t serial = sequence.serial;
    std::memcpy(found.Data4 + 2, &serial, 6);
    return found;
}

const std::string& what_of(const Call& call) { return json::as_string(json::at(call.members, "what"), "what"); }

}  // namespace

Reply try_device(Sequence& sequence, const Call& call) {
    std::optional<uint32_t> level;
    if (json::find(call.members, "level")) level = number32(call.members, "level");
    const uint32_t flags = number32_or(call.members, "flags", 0);
    return try_to(iid_of(call), dml::IDevice::iid, [&](const GUID& iid, void** made) {
        return sequence.host().library().try_create(sequence.d3d12().get(), flags, level, made, iid);
    });
}

Reply check_feature(Sequence& sequence, const Call& call) {
    const json::Value* query = json::find(call.members, "query");
    const json::Value* size = json::find(call.members, "size");
    Reply reply;
    reply.reads = size != nullptr;
    reply.bytes.assign(static_cast<size_t>(size ? json::as_uint(*size, "size", 1 << 16) : 0), 0xA5);
    std::vector<uint8_t> asked(call.bytes, call.bytes + count_bytes(call.members));
    uint8_t none = 0;  // what a query of no bytes points to, which is not null
    const void* query_bytes = query ? (asked.empty() ? &none : asked.data()) : nullptr;
    void* answer = size ? (reply.bytes.empty() ? &none : reply.bytes.data()) : nullptr;
    reply.code = device_of(sequence, call)->CheckFeatureSupport(number32(call.members, "feature"), static_cast<UINT>(asked.size()),
                                                                query_bytes, static_cast<UINT>(reply.bytes.size()), answer);
    return reply;
}

Reply get_parent(Sequence& sequence, const Call& call) {
    const GUID iid = iid_of(call).value_or(__uuidof(ID3D12Device));
    Com<IUnknown> found;
    const HRESULT code = device_of(sequence, call)->GetParentDevice(iid, found.out());
    if (FAILED(code)) return {code};
    Com<IUnknown> own, other;  // an object is known by its IUnknown alone
    sequence.d3d12().get()->QueryInterface(__uuidof(IUnknown), own.out());
    if (found) found->QueryInterface(__uuidof(IUnknown), other.out());
    return {code, own.get() == other.get()};
}

Reply remove_parent(Sequence& sequence, const Call&) {
    Com<ID3D12Device5> device;
    sequence.d3d12().get()->QueryInterface(__uuidof(ID3D12Device5), device.out());
    if (device) device->RemoveDevice();
    Reply reply;  // vkd3d does nothing, and says nothing of it
    if (SUCCEEDED(sequence.d3d12().removed_reason())) reply.unsupported = "RemoveDevice does not remove this Direct3D 12 device";
    return reply;
}

Reply try_operator(Sequence& sequence, const Call& call) {
    const OperatorDesc desc(json::at(call.members, "desc"));
    return try_to(iid_of(call), dml::IOperator::iid, [&](const GUID& iid, void** made) {
        return device_of(sequence, call)->CreateOperator(&desc.get(), iid, made);
    });
}

Reply try_type(Sequence& sequence, const Call& call) {
    const dml::TypedDesc desc{number32(call.members, "type"), nullptr};
    Com<dml::IOperator> made;
    return {device_of(sequence, call)->CreateOperator(&desc, dml::IOperator::iid, made.out())};
}

Reply try_compile(Sequence& sequence, const Call& call) {
    dml::IOperator* op = nullptr;
    if (json::find(call.members, "operator")) {
        op = sequence.objects.get(number(call.members, "operator"), Kind::op).as<dml::IOperator>();
    }
    return try_to(iid_of(call), dml::ICompiledOperator::iid, [&](const GUID& iid, void** made) {
        return device_of(sequence, call)->CompileOperator(op, number32_or(call.members, "flags", 0), iid, made);
    });
}

Reply bind_nothing(Sequence& sequence, const Call& call) {
    auto* table = sequence.objects.get(number(call.members, "table"), Kind::table).as<dml::IBindingTable>();
    const uint32_t count = number32_or(call.members, "count", 0);
    const std::string& what = what_of(call);
    if (what == "inputs") table->BindInputs(count, nullptr);
    else if (what == "outputs") table->BindOutputs(count, nullptr);
    else if (what == "temporary") table->BindTemporaryResource(nullptr);
    else if (what == "persistent") table->BindPersistentResource(nullptr);
    else throw json::Error("there is no memory '" + what + "'");
    return {};
}

Reply try_table(Sequence& sequence, const Call& call) {
    const Object& of = sequence.objects.get(number(call.members, "of"), {Kind::compiled, Kind::initializer});
    const uint32_t count = properties_of(of).required_descriptor_count;
    Descriptors place{};
    {
        const hooks::Lock lock(sequence.lock);
        place = sequence.take_descriptors(count > 1 ? count : 1);
    }
    dml::BindingTableDesc desc{of.as<dml::IDispatchable>(), place.heap->GetCPUDescriptorHandleForHeapStart(),
                               place.heap->GetGPUDescriptorHandleForHeapStart(), count};
    const std::string& what = what_of(call);
    if (what == "dispatchable") desc.dispatchable = nullptr;
    else if (what == "cpu") desc.cpu = {};
    else if (what == "gpu") desc.gpu = {};
    else throw json::Error("a table's desc has no '" + what + "'");
    Com<dml::IBindingTable> made;
    return {device_of(sequence, call)->CreateBindingTable(&desc, dml::IBindingTable::iid, made.out())};
}

Reply evict_nothing(Sequence& sequence, const Call& call) {
    void* nothing[] = {nullptr};
    const std::string& what = what_of(call);
    if (what != "evict" && what != "make-resident") throw json::Error("there is no '" + what + "'");
    dml::IDevice* device = device_of(sequence, call);
    return {what == "evict" ? device->Evict(1, nothing) : device->MakeResident(1, nothing)};
}

Reply create_plain_resource(Sequence& sequence, const Call& call) {
    const uint64_t size = number(call.members, "size");
    const hooks::Lock lock(sequence.lock);
    Object object{Kind::resource, nullptr};
    object.size = size;
    void* made = sequence.d3d12().committed(size, D3D12_HEAP_TYPE_DEFAULT).detach();
    return reply_with(sequence, call, S_OK, made, std::move(object));
}

Reply create_other_list(Sequence& sequence, const Call& call) {
    const std::string& name = json::as_string(json::at(call.members, "type"), "type");
    if (name != "COPY" && name != "BUNDLE") throw json::Error("there is no type of lists '" + name + "'");
    return make_list(sequence, call, name == "COPY" ? D3D12_COMMAND_LIST_TYPE_COPY : D3D12_COMMAND_LIST_TYPE_BUNDLE);
}

Reply record_nothing(Sequence& sequence, const Call& call) {
    const Object& list = sequence.objects.get(number(call.members, "list"), Kind::list);
    const Object& dispatchable = sequence.objects.get(number(call.members, "dispatchable"), {Kind::compiled, Kind::initializer});
    const Object& table = sequence.objects.get(number(call.members, "table"), Kind::table);
    const std::string& what = what_of(call);
    dml::ICommandRecorder* recorder = nullptr;
    {
        const hooks::Lock lock(sequence.lock);
        const HRESULT code = sequence.recorder(dispatchable, &recorder);
        if (FAILED(code)) return {code};
    }
    recorder->RecordDispatch(what == "list" ? nullptr : list.as<ID3D12CommandList>(),
                             what == "dispatchable" ? nullptr : dispatchable.as<dml::IDispatchable>(),
                             what == "table" ? nullptr : table.as<dml::IBindingTable>());
    return {};
}

Reply set_no_name(Sequence& sequence, const Call& call) { return {dml_object(sequence, call)->SetName(nullptr)}; }

Reply get_device(Sequence& sequence, const Call& call) {
    auto* child = sequence.objects.get(number(call.members, "of"), {Kind::op, Kind::compiled, Kind::initializer, Kind::table})
                      .as<dml::IDeviceChild>();
    Com<dml::IDevice> device;
    Reply reply{child->GetDevice(dml::IDevice::iid, device.out())};
    const std::optional<uint64_t> known = device ? sequence.objects.number_of(device.get()) : std::nullopt;
    if (known) reply.value = *known;
    return reply;
}

Reply set_private_data(Sequence& sequence, const Call& call) {
    const bool any = json::find(call.members, "content") != nullptr;
    return {dml_object(sequence, call)
                ->SetPrivateData(key_of(sequence, call), static_cast<UINT>(count_bytes(call.members)), any ? call.bytes : nullptr)};
}

Reply set_private_interface(Sequence& sequence, const Call& call) {
    IUnknown* other = sequence.objects.any(number(call.members, "object")).face;
    return {dml_object(sequence, call)->SetPrivateDataInterface(key_of(sequence, call), other)};
}

Reply get_private_data(Sequence& sequence, const Call& call) {
    const bool any = json::find(call.members, "size") != nullptr;
    std::vector<uint8_t> memory(static_cast<size_t>(number_or(call.members, "size", 0, 1 << 16)) + 1);  // never null
    UINT size = static_cast<UINT>(memory.size() - 1);
    const HRESULT code = dml_object(sequence, call)->GetPrivateData(key_of(sequence, call), &size, any ? memory.data() : nullptr);
    IUnknown* kept = nullptr;
    // An interface comes with a reference, and nothing but its size tells it from bytes: the sequence's own objects alone are kept so.
    if (SUCCEEDED(code) && any && size == sizeof kept) {
        std::memcpy(&kept, memory.data(), sizeof kept);
        if (sequence.objects.has(kept)) kept->Release();
    }
    return {code, size};
}

}  // namespace sequences::calls
