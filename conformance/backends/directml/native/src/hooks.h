// Methods of foreign objects are replaced in their classes' vtables: for the capture DLL, which sees what a client does, and for the host, which
// sees what kernels DirectML runs.
//
// Why not wrap the objects: DirectML hands its objects back and forth (an operator into a graph, a table into RecordDispatch), asks them for
// interfaces that nobody has published, and compares them. A wrapper would have to be unwrapped at every such place, and a client that asks an
// object for its device, its private data or another interface would meet one that is not the same. A method in the vtable changes no object:
// identity, reference counts, QueryInterface and private data stay DirectML's own. What it costs: all objects of the class are seen, also
// those that DirectML makes for itself, so that calls inside of calls have to be told apart (`Outermost`).
#pragma once

#include "windows_api.h"

namespace hooks {

/// Puts `method` into a slot of the object's vtable, once for each class. False if the memory cannot be written.
bool replace(void* object, size_t slot, void* method);

/// Puts back what stood in every slot, except where another tool has put a method of its own over ours since. A call that is under way still
/// finds its original. The vtables must still be there: an object of each class must be alive. False if not all could be put back.
bool restore();

/// What stood in that slot before.
void* original(void* object, size_t slot);

/// Calls what stood there before.
template <class Result, class... Arguments> Result forward(void* self, size_t slot, Arguments... arguments) {
    using Method = Result(STDMETHODCALLTYPE*)(void*, Arguments...);
    return reinterpret_cast<Method>(original(self, slot))(self, arguments...);
}

/// The client's own call, true, or one that is made within it by the same thread, false.
class Outermost {
public:
    Outermost() : first_(depth()++ == 0) {}
    ~Outermost() { --depth(); }
    Outermost(const Outermost&) = delete;
    Outermost& operator=(const Outermost&) = delete;
    explicit operator bool() const { return first_; }

private:
    static int& depth() {
        thread_local int calls = 0;
        return calls;
    }
    bool first_;
};

/// A lock, by what every compiler for Windows has.
class Lock {
public:
    explicit Lock(SRWLOCK& lock) : lock_(lock) { AcquireSRWLockExclusive(&lock_); }
    ~Lock() { ReleaseSRWLockExclusive(&lock_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    SRWLOCK& lock_;
};

}  // namespace hooks
