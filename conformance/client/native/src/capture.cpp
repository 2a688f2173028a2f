// A DirectML.dll that passes everything on to the real one, and writes down what the client does (docs/capture.md).
#include "directml_hooks.h"
#include "session.h"

namespace {

/// The real DirectML.dll.
struct Real {
    HMODULE module = nullptr;
    std::string path, version;
};

/// The one that DMLCTS_REAL_DIRECTML names, else the system's, by its full path: under its name alone, Windows would find this very DLL.
Real load() {
    std::wstring path(GetEnvironmentVariableW(L"DMLCTS_REAL_DIRECTML", nullptr, 0), L'\0');
    path.resize(GetEnvironmentVariableW(L"DMLCTS_REAL_DIRECTML", &path[0], static_cast<DWORD>(path.size())));
    if (path.empty()) {
        wchar_t folder[MAX_PATH + 1] = L"";
        GetSystemDirectoryW(folder, MAX_PATH);
        path = std::wstring(folder) + L"\\DirectML.dll";
    }
    Real real;
    real.path = utf8(path.c_str());
    real.module = LoadLibraryExW(path.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
    HMODULE own = nullptr;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, reinterpret_cast<LPCWSTR>(&load), &own);
    if (real.module == own) real.module = nullptr;
    if (!real.module) {
        std::fprintf(stderr, "dmlcts capture: %s cannot be loaded: %s; set DMLCTS_REAL_DIRECTML to the real DirectML.dll\n", real.path.c_str(),
                     last_error().c_str());
        return real;
    }
    real.version = file_version(path);
    return real;
}

const Real& real() {
    static const Real loaded = load();
    return loaded;
}

FARPROC real_function(const char* name) { return real().module ? GetProcAddress(real().module, name) : nullptr; }

/// Before the call, so that one that never returns leaves a capture too.
void begin_capture() {
    if (Session* const session = Session::get()) session->begin(real().path, real().version);
}

void capture(HRESULT result, ID3D12Device* d3d12, UINT flags, const UINT* level, void** made) {
    if (Session::get() && (FAILED(result) || (made && *made))) {
        capture_device(SUCCEEDED(result) ? static_cast<IUnknown*>(*made) : nullptr, result, d3d12, flags, level);
    }
}

}  // namespace

extern "C" HRESULT WINAPI DMLCreateDevice(ID3D12Device* d3d12, UINT flags, const IID* iid, void** made) {
    using Create = HRESULT WINAPI(ID3D12Device*, UINT, const IID*, void**);
    const FARPROC found = real_function("DMLCreateDevice");
    if (!found) return HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND);
    begin_capture();
    const HRESULT result = reinterpret_cast<Create*>(reinterpret_cast<void*>(found))(d3d12, flags, iid, made);
    capture(result, d3d12, flags, nullptr, made);
    return result;
}

extern "C" HRESULT WINAPI DMLCreateDevice1(ID3D12Device* d3d12, UINT flags, UINT level, const IID* iid, void** made) {
    using Create = HRESULT WINAPI(ID3D12Device*, UINT, UINT, const IID*, void**);
    const FARPROC found = real_function("DMLCreateDevice1");
    if (!found) return HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND);
    begin_capture();
    const HRESULT result = reinterpret_cast<Create*>(reinterpret_cast<void*>(found))(d3d12, flags, level, iid, made);
    capture(result, d3d12, flags, &level, made);
    return result;
}
