// Any operator's desc struct as JSON, in the form of the suite's case files: the way back from desc_layout.h.
#pragma once

#include <stdexcept>

#include "directml_types.h"
#include "json.h"

/// Reads memory; false where there is none. A desc that DirectML has accepted can be read as it is, any other may point anywhere.
using ReadMemory = bool (*)(void* to, const void* from, size_t size);

/// The desc cannot be read: it points where no memory is, or is longer than any valid one.
struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// {"Type": ..., its fields}. Throws Unreadable, also for a type that the tables do not have.
json::Value desc_json(const dml::TypedDesc& desc, ReadMemory read);
