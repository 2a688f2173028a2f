#include "guard.h"

#include <atomic>
#include <cstdint>

#include "windows_api.h"

namespace guard {

namespace {

std::atomic<const char*> step{"the start"};
std::atomic<uint32_t> asked{0}, answers{0};

void say(const char* words, int size) {
    DWORD written;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), words, static_cast<DWORD>(size), &written, nullptr);
}

/// A file's name with the offset in it of an address: "DirectML.dll+0x1a2b". Takes no memory from the heap, which may be what is broken.
void place(const void* address, char* text, size_t size) {
    HMODULE module = nullptr;
    wchar_t path[1024] = L"";
    const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExW(how, static_cast<const wchar_t*>(address), &module) || !GetModuleFileNameW(module, path, 1024)) {
        std::snprintf(text, size, "%p, which is in no DLL", address);
        return;
    }
    const wchar_t* name = path;
    for (const wchar_t* letter = path; *letter; ++letter) {
        if (*letter == L'\\' || *letter == L'/') name = letter + 1;
    }
    char file[512] = "";
    WideCharToMultiByte(CP_UTF8, 0, name, -1, file, sizeof file - 1, nullptr, nullptr);
    const auto offset = static_cast<const char*>(address) - reinterpret_cast<const char*>(module);
    std::snprintf(text, size, "%s+0x%llx", file, static_cast<unsigned long long>(offset));
}

LONG WINAPI crashed(EXCEPTION_POINTERS* exception) {
    const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
    char where[1024], words[2048];
    place(record.ExceptionAddress, where, sizeof where);
    const int size = std::snprintf(words, sizeof words, "crashed with 0x%08lX%s at %s, during %s\n", record.ExceptionCode,
                                   record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION ? " (access violation)" : "", where, step.load());
    say(words, size);
    TerminateProcess(GetCurrentProcess(), record.ExceptionCode);
    return EXCEPTION_EXECUTE_HANDLER;
}

constexpr DWORD look_every = 500, long_time = 1'500, patience = 5'000;  // milliseconds

/// Whoever pipes in a file of requests closes his end before they are answered: only a host that stands still is ended.
DWORD WINAPI watch(void* input) {
    DWORD waited = 0;
    for (uint32_t last = 0; waited < patience; Sleep(look_every)) {
        const uint32_t now = asked;
        const bool stands_still = now == last && now != answers;
        last = now;
        if (!stands_still) {
            waited = 0;
            continue;
        }
        if (waited < long_time && waited + look_every >= long_time) {  // a host that is killed for its silence cannot say it any more
            char words[256];
            say(words, std::snprintf(words, sizeof words, "a request takes long; the host is at %s\n", step.load()));
        }
        const bool gone = !PeekNamedPipe(input, nullptr, 0, nullptr, nullptr, nullptr) && GetLastError() == ERROR_BROKEN_PIPE;
        if (gone || waited < long_time) waited += look_every;
    }
    TerminateProcess(GetCurrentProcess(), 3);
    return 0;
}

}  // namespace

void doing(const char* what) { step = what; }

void report_crashes() { SetUnhandledExceptionFilter(crashed); }

void watch_requests() {
    const HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    if (GetFileType(input) != FILE_TYPE_PIPE) return;
    if (const HANDLE thread = CreateThread(nullptr, 0, watch, input, 0, nullptr)) CloseHandle(thread);
}

void begins() { ++asked; }

void ends() { answers = asked.load(); }

}  // namespace guard
