// A request to perform: a list of calls, answered by a list of replies.
#pragma once

#include <functional>

#include "directml_device.h"
#include "kernels.h"
#include "sequences/objects.h"

namespace sequences {

/// How many bytes the calls of a request have in its payload. Throws json::Error.
uint64_t payload_of(const json::Value& header);

/// Performs the calls of a request, whose bytes are `contents`: a reply for each. Throws json::Error and protocol::Fault, which name the call.
std::vector<Reply> perform(DirectMlDevice& device, const json::Value& header, const uint8_t* contents, Kernels& kernels);

/// The replies as the protocol has them.
json::Array as_json(const std::vector<Reply>& replies);

}  // namespace sequences
