// What a sequence has made, by the numbers that it gave, and what its calls answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "desc_layout.h"
#include "directml_api.h"
#include "hooks.h"
#include "json.h"

namespace sequences {

enum class Kind { device, op, compiled, initializer, heap, table, resource, list };

/// An object by its number. The fields behind the first three are of one kind each.
struct Object {
    Kind kind;
    IUnknown* face;           // null for a resource of no bytes
    uint32_t device = 0;      // the number of the device that it was made by

    std::vector<TensorSlot> slots = {};                                  // op
    uint64_t size = 0;                                                   // resource: the bytes that were asked for
    D3D12_HEAP_TYPE heap_type = D3D12_HEAP_TYPE_DEFAULT;                 // resource
    D3D12_COMMAND_LIST_TYPE list_type = D3D12_COMMAND_LIST_TYPE_DIRECT;  // list
    ID3D12DescriptorHeap* descriptors = nullptr;                         // table: where they lie; list: what is set

    uint32_t references = 1;  // that the sequence holds
    uint64_t serial = 0;      // in the order of making

    /// Itself as what it is. COM's interfaces have one base each, so that this is the same address.
    template <class T> T* as() const { return static_cast<T*>(face); }
};

/// A call names an object that no call has made, or whose last reference is gone.
struct Missing : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The objects of a sequence. Every method may be called by any thread; what they return stays until the object is released.
class Objects {
public:
    Objects() = default;
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;
    ~Objects() { release_all(); }

    /// Takes over one reference to the object. Throws json::Error if the number is taken.
    void add(uint64_t number, Object object);

    /// Throws Missing, and json::Error for one of no such kind.
    Object& get(uint64_t number, std::initializer_list<Kind> kinds);
    Object& get(uint64_t number, Kind kind) { return get(number, {kind}); }

    /// An object of any kind. Throws Missing.
    Object& any(uint64_t number);

    /// AddRef and Release; both return what the object answered. After the last Release the number is free. Throw Missing.
    ULONG add_reference(uint64_t number);
    ULONG release(uint64_t number);

    /// Releases what is left, the newest first.
    void release_all();

    /// The number of an object; of none, if it is not one of the sequence's. And whether it is.
    std::optional<uint64_t> number_of(IUnknown* face);
    bool has(IUnknown* face) { return number_of(face).has_value(); }

    /// What each device answers to GetDeviceRemovedReason for the first time other than S_OK: whether there is one.
    bool newly_removed();

private:
    Object& find(uint64_t number);

    std::map<uint64_t, Object> objects_;
    std::map<uint64_t, bool> removed_;  // devices that were found removed, by their serials
    uint64_t made_ = 0;
    SRWLOCK lock_ = SRWLOCK_INIT;
};

/// What a call is answered with.
struct Reply {
    HRESULT code = S_OK;
    json::Value value = {};
    bool reads = false;
    std::vector<uint8_t> bytes = {};  // where it reads
    bool removed = false;             // a device, by this call
    std::string message = {}, unsupported = {};
};

}  // namespace sequences
