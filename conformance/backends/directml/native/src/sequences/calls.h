// The calls that a sequence may have, one function each. docs/process-protocol.md has their members.
#pragma once

#include <string_view>

#include "sequences/sequence.h"

namespace sequences {

/// A call as it came. `bytes` are those of a write.
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

namespace calls {

using Perform = Reply(Sequence&, const Call&);

Perform create_device, check_levels, check_data_type, get_removed_reason, evict, make_resident;
Perform create_operator, compile, compile_graph, create_initializer, reset_initializer, get_properties;
Perform create_heap, create_table, reset_table, bind_inputs, bind_outputs, bind_temporary, bind_persistent;
Perform create_resource, write, read;
Perform create_list, record, barrier, close, submit, wait;
Perform query_interface, add_reference, release, set_name;

}  // namespace calls

}  // namespace sequences
