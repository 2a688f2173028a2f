#include "hooks.h"

#include <atomic>

namespace hooks {

namespace {

struct Replaced {
    void** entry;
    void *method, *ours;
    bool active;  // ours stands there, or did when another tool came
};

/// Replaced entries. They are only added, so that readers need no lock: a class has few methods that are seen, and there are few classes.
constexpr size_t most = 256;
Replaced replaced[most];
std::atomic<size_t> count{0};
SRWLOCK changing = SRWLOCK_INIT;

Replaced* find(void** entry) {
    const size_t known = count.load(std::memory_order_acquire);
    for (size_t i = 0; i < known; ++i) {
        if (replaced[i].entry == entry) return &replaced[i];
    }
    return nullptr;
}

bool write(void** entry, void* method) {
    MEMORY_BASIC_INFORMATION page{};
    VirtualQuery(entry, &page, sizeof page);
    constexpr DWORD executable = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    DWORD before = 0;
    if (VirtualProtect(entry, sizeof *entry, page.Protect & executable ? PAGE_EXECUTE_READWRITE : PAGE_READWRITE, &before)) {
        InterlockedExchangePointer(entry, method);
        VirtualProtect(entry, sizeof *entry, before, &before);
        return true;
    }
    // Under Wine, vkd3d's vtables are in native memory, of which VirtualProtect knows nothing.
    using ReplaceMethod = int WINAPI(void**, void*);
    const HMODULE native = GetModuleHandleW(L"vkd3dn.dll");
    const FARPROC found = native ? GetProcAddress(native, "ReplaceMethod") : nullptr;
    return found && reinterpret_cast<ReplaceMethod*>(reinterpret_cast<void*>(found))(entry, method);
}

}  // namespace

bool replace(void* object, size_t slot, void* method) {
    void** entry = *static_cast<void***>(object) + slot;
    const Lock lock(changing);
    Replaced* known = find(entry);
    if (known && known->active) return true;
    const size_t place = count.load(std::memory_order_relaxed);
    if ((!known && place == most) || *entry == method) return false;
    if (!known) known = &replaced[place];
    *known = {entry, *entry, method, true};
    if (known == &replaced[place]) count.store(place + 1, std::memory_order_release);  // before the method can be called
    known->active = write(entry, method);
    return known->active;
}

bool restore() {
    const Lock lock(changing);
    bool all = true;
    for (size_t i = 0; i < count.load(std::memory_order_relaxed); ++i) {
        Replaced& one = replaced[i];
        if (one.active && *one.entry == one.ours) one.active = !write(one.entry, one.method);
        all = all && !one.active;
    }
    return all;
}

void* original(void* object, size_t slot) {
    const Replaced* found = find(*static_cast<void***>(object) + slot);
    if (found) return found->method;
    // Another tool has copied the vtable with our method in it. The class is one that was seen.
    void* const method = (*static_cast<void***>(object))[slot];
    for (size_t i = 0; i < count.load(std::memory_order_acquire); ++i) {
        if (*replaced[i].entry == method) return replaced[i].method;
    }
    return nullptr;
}

}  // namespace hooks
