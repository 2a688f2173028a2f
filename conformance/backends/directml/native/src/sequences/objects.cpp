#include "sequences/objects.h"

#include <algorithm>

namespace sequences {

namespace {

constexpr const char* names[] = {"a device", "an operator", "a compiled operator", "an initializer", "a heap", "a table", "a resource", "a list"};

const char* name(Kind kind) { return names[static_cast<int>(kind)]; }

}  // namespace

void Objects::add(uint64_t number, Object object) {
    const hooks::Lock lock(lock_);
    if (objects_.count(number)) throw json::Error("object " + std::to_string(number) + " is there already");
    object.serial = ++made_;
    objects_.emplace(number, std::move(object));
}

Object& Objects::find(uint64_t number) {
    const auto found = objects_.find(number);
    if (found == objects_.end()) throw Missing("object " + std::to_string(number) + " was not made, or is gone");
    return found->second;
}

Object& Objects::any(uint64_t number) {
    const hooks::Lock lock(lock_);
    return find(number);
}

Object& Objects::get(uint64_t number, std::initializer_list<Kind> kinds) {
    Object& found = any(number);
    if (std::find(kinds.begin(), kinds.end(), found.kind) == kinds.end()) {
        throw json::Error("object " + std::to_string(number) + " is " + name(found.kind) + " and not " + name(*kinds.begin()));
    }
    return found;
}

ULONG Objects::add_reference(uint64_t number) {
    const hooks::Lock lock(lock_);
    Object& object = find(number);
    ++object.references;
    return object.face ? object.face->AddRef() : object.references;
}

ULONG Objects::release(uint64_t number) {
    const hooks::Lock lock(lock_);
    Object& object = find(number);
    IUnknown* face = object.face;
    const uint32_t left = --object.references;
    if (!left) objects_.erase(number);
    return face ? face->Release() : left;
}

void Objects::release_all() {
    std::vector<Object> left;
    for (auto& [number, object] : objects_) left.push_back(std::move(object));
    objects_.clear();
    std::sort(left.begin(), left.end(), [](const Object& one, const Object& other) { return one.serial > other.serial; });
    for (const Object& object : left) {
        for (uint32_t count = object.references; object.face && count; --count) object.face->Release();
    }
}

std::optional<uint64_t> Objects::number_of(IUnknown* face) {
    const hooks::Lock lock(lock_);
    for (const auto& [number, object] : objects_) {
        if (object.face == face) return number;
    }
    return std::nullopt;
}

bool Objects::newly_removed() {
    const hooks::Lock lock(lock_);
    bool found = false;
    for (auto& [number, object] : objects_) {
        if (object.kind != Kind::device || removed_[object.serial]) continue;
        if (SUCCEEDED(object.as<dml::IDevice>()->GetDeviceRemovedReason())) continue;
        removed_[object.serial] = found = true;
    }
    return found;
}

}  // namespace sequences
