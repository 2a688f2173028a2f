// Calls about devices and operators, and those that any object has.
#include "sequences/calls.h"

namespace sequences::calls {

namespace {

/// The objects that a member lists, as the API takes them.
template <class T> std::vector<T*> faces(Sequence& sequence, const Call& call, const char* name) {
    std::vector<T*> found;
    for (const json::Value& entry : json::as_array(json::at(call.members, name), name)) {
        found.push_back(sequence.objects.any(json::as_uint(entry, name)).template as<T>());
    }
    return found;
}

std::vector<dml::ICompiledOperator*> compiled_operators(Sequence& sequence, const Call& call) {
    for (const json::Value& entry : json::as_array(json::at(call.members, "over"), "over")) {
        sequence.objects.get(json::as_uint(entry, "over"), Kind::compiled);
    }
    return faces<dml::ICompiledOperator>(sequence, call, "over");
}

}  // namespace

Reply create_device(Sequence& sequence, const Call& call) {
    std::optional<uint32_t> level;
    if (json::find(call.members, "level")) level = number32(call.members, "level");
    void* made = nullptr;
    const HRESULT code =
        sequence.host().library().try_create(sequence.d3d12().get(), number32_or(call.members, "flags", 0), level, &made);
    return reply_with(sequence, call, code, made, {Kind::device, nullptr});
}

Reply check_levels(Sequence& sequence, const Call& call) {
    std::vector<uint32_t> levels;
    for (const json::Value& level : json::as_array(json::at(call.members, "levels"), "levels")) {
        levels.push_back(static_cast<uint32_t>(json::as_uint(level, "levels", UINT32_MAX)));
    }
    const dml::FeatureLevelsQuery query{static_cast<uint32_t>(levels.size()), levels.data()};
    uint32_t highest = 0;
    const HRESULT code =
        device_of(sequence, call)->CheckFeatureSupport(dml::feature_feature_levels, sizeof query, &query, sizeof highest, &highest);
    return {code, highest};
}

Reply check_data_type(Sequence& sequence, const Call& call) {
    const uint32_t type = number32(call.members, "type");
    BOOL supported = FALSE;
    const HRESULT code = device_of(sequence, call)->CheckFeatureSupport(dml::feature_tensor_data_type_support, sizeof type, &type,
                                                                        sizeof supported, &supported);
    return {code, supported != FALSE};
}

Reply get_removed_reason(Sequence& sequence, const Call& call) { return {device_of(sequence, call)->GetDeviceRemovedReason()}; }

Reply evict(Sequence& sequence, const Call& call) {
    const std::vector<IUnknown*> found = faces<IUnknown>(sequence, call, "objects");
    const std::vector<void*> objects(found.begin(), found.end());
    return {device_of(sequence, call)->Evict(static_cast<UINT>(objects.size()), objects.data())};
}

Reply make_resident(Sequence& sequence, const Call& call) {
    const std::vector<IUnknown*> found = faces<IUnknown>(sequence, call, "objects");
    const std::vector<void*> objects(found.begin(), found.end());
    return {device_of(sequence, call)->MakeResident(static_cast<UINT>(objects.size()), objects.data())};
}

Reply create_operator(Sequence& sequence, const Call& call) {
    const OperatorDesc desc(json::at(call.members, "desc"));
    void* made = nullptr;
    const HRESULT code = device_of(sequence, call)->CreateOperator(&desc.get(), dml::IOperator::iid, &made);
    Object object{Kind::op, nullptr};
    object.slots = desc.slots();
    return reply_with(sequence, call, code, made, std::move(object));
}

Reply compile(Sequence& sequence, const Call& call) {
    const Object& op = sequence.objects.get(number(call.members, "operator"), Kind::op);
    void* made = nullptr;
    const HRESULT code = sequence.host().compile_on(device_of(sequence, call), op.as<dml::IOperator>(), op.slots,
                                                    number32_or(call.members, "flags", 0), &made);
    return reply_with(sequence, call, code, made, {Kind::compiled, nullptr});
}

Reply create_initializer(Sequence& sequence, const Call& call) {
    const std::vector<dml::ICompiledOperator*> over = compiled_operators(sequence, call);
    void* made = nullptr;
    const HRESULT code = device_of(sequence, call)->CreateOperatorInitializer(
        static_cast<UINT>(over.size()), over.empty() ? nullptr : over.data(), dml::IOperatorInitializer::iid, &made);
    return reply_with(sequence, call, code, made, {Kind::initializer, nullptr});
}

Reply reset_initializer(Sequence& sequence, const Call& call) {
    const Object& initializer = sequence.objects.get(number(call.members, "initializer"), Kind::initializer);
    const std::vector<dml::ICompiledOperator*> over = compiled_operators(sequence, call);
    return {initializer.as<dml::IOperatorInitializer>()->Reset(static_cast<UINT>(over.size()), over.empty() ? nullptr : over.data())};
}

Reply get_properties(Sequence& sequence, const Call& call) {
    const dml::BindingProperties found =
        properties_of(sequence.objects.get(number(call.members, "of"), {Kind::compiled, Kind::initializer}));
    return {S_OK, json::Object{{"descriptors", found.required_descriptor_count},
                               {"temporary", found.temporary_resource_size},
                               {"persistent", found.persistent_resource_size}}};
}

Reply query_interface(Sequence& sequence, const Call& call) {
    const GUID iid = as_guid(json::as_string(json::at(call.members, "iid"), "iid"));
    const Object& of = sequence.objects.any(number(call.members, "of"));
    if (!of.face) throw Missing("a resource of no bytes has no interfaces");
    Com<IUnknown> found;
    return {of.face->QueryInterface(iid, found.out())};
}

Reply add_reference(Sequence& sequence, const Call& call) {
    return {S_OK, static_cast<uint32_t>(sequence.objects.add_reference(number(call.members, "of")))};
}

Reply release(Sequence& sequence, const Call& call) {
    {
        const hooks::Lock lock(sequence.lock);
        sequence.memory.flush();  // copies to or from it may be recorded
    }
    return {S_OK, static_cast<uint32_t>(sequence.objects.release(number(call.members, "of")))};
}

Reply set_name(Sequence& sequence, const Call& call) {
    const Object& of = sequence.objects.any(number(call.members, "of"));
    const std::wstring name = wide(json::as_string(json::at(call.members, "name"), "name"));
    switch (of.kind) {
        case Kind::heap:
        case Kind::resource:
        case Kind::list: return {of.face ? of.as<ID3D12Object>()->SetName(name.c_str()) : S_OK};
        default: return {of.as<dml::IObject>()->SetName(name.c_str())};
    }
}

}  // namespace sequences::calls
