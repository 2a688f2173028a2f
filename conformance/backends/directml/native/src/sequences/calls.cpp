#include "sequences/calls.h"

#include "guard.h"

namespace sequences {

namespace {

constexpr Function functions[] = {
    {"create-device", calls::create_device},
    {"check-levels", calls::check_levels},
    {"check-data-type", calls::check_data_type},
    {"get-removed-reason", calls::get_removed_reason},
    {"evict", calls::evict},
    {"make-resident", calls::make_resident},
    {"create-operator", calls::create_operator},
    {"compile", calls::compile},
    {"compile-graph", calls::compile_graph},
    {"create-initializer", calls::create_initializer},
    {"reset-initializer", calls::reset_initializer},
    {"get-properties", calls::get_properties},
    {"create-heap", calls::create_heap},
    {"create-table", calls::create_table},
    {"reset-table", calls::reset_table},
    {"bind-inputs", calls::bind_inputs},
    {"bind-outputs", calls::bind_outputs},
    {"bind-temporary", calls::bind_temporary},
    {"bind-persistent", calls::bind_persistent},
    {"create-resource", calls::create_resource},
    {"write", calls::write},
    {"read", calls::read},
    {"create-list", calls::create_list},
    {"record", calls::record},
    {"barrier", calls::barrier},
    {"close", calls::close},
    {"submit", calls::submit},
    {"wait", calls::wait},
    {"query-interface", calls::query_interface},
    {"add-reference", calls::add_reference},
    {"release", calls::release},
    {"set-name", calls::set_name},
    {"get-device", calls::get_device},
    {"get-parent", calls::get_parent},
    {"set-private-data", calls::set_private_data},
    {"set-private-interface", calls::set_private_interface},
    {"get-private-data", calls::get_private_data},
    {"create-staging-heap", calls::create_staging_heap},
    {"create-staged-table", calls::create_staged_table},
    {"copy-descriptors", calls::copy_descriptors},
    {"record-without-heaps", calls::record_without_heaps},
    {"try-device", calls::try_device},
    {"try-operator", calls::try_operator},
    {"try-type", calls::try_type},
    {"try-compile", calls::try_compile},
    {"try-graph", calls::try_graph},
    {"try-table", calls::try_table},
    {"check-feature", calls::check_feature},
    {"evict-nothing", calls::evict_nothing},
    {"bind-nothing", calls::bind_nothing},
    {"record-nothing", calls::record_nothing},
    {"set-no-name", calls::set_no_name},
    {"create-plain-resource", calls::create_plain_resource},
    {"create-other-list", calls::create_other_list},
    {"remove-parent", calls::remove_parent},
};

}  // namespace

const Function* find_function(std::string_view name) {
    for (const Function& function : functions) {
        if (function.name == name) return &function;
    }
    return nullptr;
}

uint64_t count_bytes(const json::Value& call) {
    for (const char* name : {"data", "query", "content"}) {
        if (const json::Value* data = json::find(call, name)) return number(*data, "size", uint64_t{1} << 40);
    }
    return 0;
}

uint64_t number(const json::Value& members, const char* name, uint64_t most) { return json::as_uint(json::at(members, name), name, most); }

uint64_t number_or(const json::Value& members, const char* name, uint64_t otherwise, uint64_t most) {
    const json::Value* found = json::find(members, name);
    return found ? json::as_uint(*found, name, most) : otherwise;
}

uint32_t number32(const json::Value& members, const char* name) { return static_cast<uint32_t>(number(members, name, UINT32_MAX)); }

uint32_t number32_or(const json::Value& members, const char* name, uint32_t otherwise) {
    return static_cast<uint32_t>(number_or(members, name, otherwise, UINT32_MAX));
}

dml::BindingProperties properties_of(const Object& dispatchable) {
    dml::BindingProperties found{};
    dispatchable.as<dml::IDispatchable>()->GetBindingProperties(&found);
    return found;
}

uint64_t size_in_bytes(Sequence& sequence, const json::Value& value) {
    if (!value.get<json::Object>()) return json::as_uint(value, "a size");
    const Object& of = sequence.objects.get(number(value, "of"), {Kind::compiled, Kind::initializer});
    const std::string& which = json::as_string(json::at(value, "size"), "a size");
    if (which != "temporary" && which != "persistent") throw json::Error("there is no size '" + which + "'");
    const dml::BindingProperties properties = properties_of(of);
    const uint64_t size = which == "temporary" ? properties.temporary_resource_size : properties.persistent_resource_size;
    return size ? size + number_or(value, "around", 0, UINT32_MAX) : 0;
}

dml::IDevice* device_of(Sequence& sequence, const Call& call) {
    return sequence.objects.get(number_or(call.members, "device", 0), Kind::device).as<dml::IDevice>();
}

Reply reply_with(Sequence& sequence, const Call& call, HRESULT code, void* made, Object object) {
    if (FAILED(code)) return {code};
    if (!made) throw protocol::Fault("it returned " + hex(code) + " and no object");
    object.face = static_cast<IUnknown*>(made);
    if (object.kind != Kind::device) object.device = number32_or(call.members, "device", 0);
    sequence.objects.add(number(call.members, "makes"), std::move(object));
    return {code};
}

GUID as_guid(const std::string& text) {
    std::string digits;
    for (const char letter : text) {
        if (letter != '-') digits += letter;
    }
    if (digits.size() != 32 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
        throw json::Error("iid must be 32 hexadecimal digits");
    }
    const auto part = [&](size_t at, size_t size) { return std::stoul(digits.substr(at, size), nullptr, 16); };
    GUID found{};
    found.Data1 = part(0, 8);
    found.Data2 = static_cast<unsigned short>(part(8, 4));
    found.Data3 = static_cast<unsigned short>(part(12, 4));
    for (int i = 0; i < 8; ++i) found.Data4[i] = static_cast<unsigned char>(part(16 + 2 * static_cast<size_t>(i), 2));
    return found;
}

}  // namespace sequences
