// What the fake's objects are besides their own methods, and the mode that the tests have written into it (fake.cpp).
#pragma once

#include "d3d12.h"
#include "directml_api.h"

namespace fake {

constexpr uint32_t bit_xor = 123;

/// Whether this is the mode.
bool is(const char* name);

[[noreturn]] inline void crash() {
    *static_cast<volatile int*>(nullptr) = 1;
    __builtin_unreachable();
}

inline HRESULT gives_nothing(void** out) {
    if (out) *out = nullptr;
    return S_OK;
}

inline HRESULT refuses(void** out) {
    if (out) *out = nullptr;
    return E_NOINTERFACE;
}

/// What every object is besides its own methods. Never deleted: a test's program does not live long.
template <class Interface> struct Object : Interface {
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void** out) override { return refuses(out); }
    ULONG STDMETHODCALLTYPE AddRef() override { return 2; }
    ULONG STDMETHODCALLTYPE Release() override { return 1; }
    HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, IUnknown*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE SetName(PCWSTR) override { return E_NOTIMPL; }
};

template <class Interface> struct Child : Object<Interface> {
    HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void** out) override { return refuses(out); }
};

}  // namespace fake
