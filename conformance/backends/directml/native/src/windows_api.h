// Windows' headers, in the one form that MSVC and mingw-w64 both take, and what every user of COM needs.
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
// In mingw-w64, methods that return a struct get the ABI of MSVC's by this; MSVC's own headers take no notice of it.
#define WIDL_EXPLICIT_AGGREGATE_RETURNS

#include <windows.h>

#include <d3d12.h>
#include <dxgi1_6.h>

#include <string>
#include <utility>

#include "protocol.h"

/// A COM object that is released at the end.
template <class T> class Com {
public:
    Com() = default;
    /// Takes over a reference.
    explicit Com(T* object) : object_(object) {}
    Com(const Com&) = delete;
    Com(Com&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Com& operator=(Com&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Com() { reset(); }

    void reset() {
        if (T* object = std::exchange(object_, nullptr)) object->Release();
    }
    T* get() const { return object_; }

    /// The object, which is released by whoever takes it.
    T* detach() { return std::exchange(object_, nullptr); }
    T* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

    /// Where a function that creates an object puts it.
    void** out() {
        reset();
        return reinterpret_cast<void**>(&object_);
    }

private:
    T* object_ = nullptr;
};

std::string hex(HRESULT code);
std::string utf8(const wchar_t* text);
std::wstring wide(const std::string& text);

/// "0x80004005 (what Windows says)" for the last error of a Windows function.
std::string last_error();

/// The version in a DLL's resources, empty if it has none.
std::string file_version(const std::wstring& path);

/// Throws protocol::Fault where the host's own use of an API fails: the request is not at fault.
inline void need(HRESULT code, const char* what) {
    if (FAILED(code)) throw protocol::Fault(std::string(what) + " failed with " + hex(code));
}

/// As `need`, where the function is to give an object too: success without one is a fault.
template <class T> void need(HRESULT code, const char* what, const Com<T>& made) {
    need(code, what);
    if (!made) throw protocol::Fault(std::string(what) + " returned " + hex(code) + " and no object");
}

/// A function of a DLL. Throws protocol::Fault if it has none of that name.
template <class Function> Function* function(HMODULE module, const char* name, const std::string& dll) {
    if (FARPROC found = GetProcAddress(module, name)) return reinterpret_cast<Function*>(reinterpret_cast<void*>(found));
    throw protocol::Fault(dll + " has no " + name);
}
