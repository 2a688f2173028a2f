// One request: create, compile, initialize, bind, dispatch and read back.
#pragma once

#include "desc_layout.h"
#include "directml_device.h"
#include "kernels.h"
#include "protocol.h"
#include "times.h"

/// Executes `request`. `contents` are those of all resources, one after the other. Returns the contents after the execution, in the
/// same order; they are valid until the next call; null where the request wants no execution: then it ends once all is recorded. `kernels` has what was dispatched, also where this throws.
///
/// Throws protocol::Rejected if DirectML refuses, protocol::Fault if something else fails, json::Error if the request makes no sense.
/// After a rejection the device may be removed.
const uint8_t* run_operator(DirectMlDevice& device, const json::Value& header, const protocol::RunRequest& request,
                            const uint8_t* contents, Kernels& kernels, Times& times);
