// The calls that a sequence may have, one function each. docs/process-protocol.md has their members.
#pragma once

#include <string_view>

#include "sequences/sequence.h"

namespace sequences {

/// A call as it came. `bytes` are those that it has in the payload.
struct Call {
    const json::Value& members;
    const uint8_t* bytes;
};

struct Function {
    const char* name;
    /// Throws Missing, json::Error, protocol::Rejected and protocol::Fault.
    Reply (*perform)(Sequence& sequence, const Call& call);
};

/// The function of a call of this name; null if there is none.
const Function* find_function(std::string_view name);

/// How many bytes of the payload a call has.
uint64_t count_bytes(const json::Value& call);

// For the functions, in all files of this room.

/// A member that is a number; the other one where it may be absent.
uint64_t number(const json::Value& members, const char* name, uint64_t most = UINT64_MAX);
uint64_t number_or(const json::Value& members, const char* name, uint64_t otherwise, uint64_t most = UINT64_MAX);
uint32_t number32(const json::Value& members, const char* name);
uint32_t number32_or(const json::Value& members, const char* name, uint32_t otherwise);

/// A size in bytes: a number, or the binding properties' of an object as they are now. Throws as a function of a call.
uint64_t size_in_bytes(Sequence& sequence, const json::Value& value);

dml::BindingProperties properties_of(const Object& dispatchable);

/// A device's interface, and the objects by their numbers.
dml::IDevice* device_of(Sequence& sequence, const Call& call);

/// The reply to a call that makes an object, which the sequence has from now on. Throws protocol::Fault for success without one.
Reply reply_with(Sequence& sequence, const Call& call, HRESULT code, void* made, Object object);

/// A command list of this type, with an allocator of its own.
Reply make_list(Sequence& sequence, const Call& call, D3D12_COMMAND_LIST_TYPE type);

/// An interface's identifier from its 32 digits, with hyphens or without. Throws json::Error.
GUID as_guid(const std::string& text);

namespace calls {

using Perform = Reply(Sequence&, const Call&);

Perform create_device, check_levels, check_data_type, get_removed_reason, evict, make_resident;
Perform create_operator, compile, compile_graph, create_initializer, reset_initializer, get_properties;
Perform create_staging_heap, create_staged_table, copy_descriptors, record_without_heaps;
Perform create_heap, create_table, reset_table, bind_inputs, bind_outputs, bind_temporary, bind_persistent;
Perform create_resource, write, read;
Perform create_list, record, barrier, close, submit, wait;
Perform query_interface, add_reference, release, set_name;
Perform get_device, get_parent, set_private_data, set_private_interface, get_private_data;
Perform try_device, try_operator, try_type, try_compile, try_graph, try_table, check_feature, evict_nothing;
Perform bind_nothing, record_nothing, set_no_name, create_plain_resource, create_other_list, remove_parent;

}  // namespace calls

}  // namespace sequences
