#include "guard.h"

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "protocol.h"
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
DWORD WINAPI watch(void*) {
    DWORD still = 0;  // milliseconds for which the same request has been under way
    for (uint32_t last = 0; still < patience; Sleep(look_every)) {
        const uint32_t now = asked;
        still = now == last && now != answers ? still + look_every : 0;
        last = now;
        if (still != long_time) continue;
        char words[256];  // a host that is killed for its silence cannot say it any more
        say(words, std::snprintf(words, sizeof words, "a request takes long; the host is at %s\n", step.load()));
        if (!protocol::Streams::input_ended()) still = 0;  // waits; PeekNamedPipe would not, but knows no pipes of Unix under Wine
    }
    TerminateProcess(GetCurrentProcess(), 3);
    return 0;
}

uint64_t processor_time() {
    FILETIME begun, ended, kernel, user;
    if (!GetProcessTimes(GetCurrentProcess(), &begun, &ended, &kernel, &user)) return 0;
    const auto number = [](FILETIME time) { return uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime; };
    return number(kernel) + number(user);
}

struct Reporter {
    void (*report)(void*, const char*);
    void* context;
};

constexpr DWORD report_every = 1'000;       // milliseconds
constexpr uint64_t least_work = 200'000;    // of 100 ns: a fiftieth of that time, and twice what the system counts in

DWORD WINAPI watch_work(void* given) {
    const Reporter reporter = *static_cast<Reporter*>(given);
    uint32_t last = 0;
    for (uint64_t before = processor_time();; Sleep(report_every)) {
        const uint32_t now = asked;
        const uint64_t used = processor_time();
        if (now == last && now != answers && used - before >= least_work) reporter.report(reporter.context, step.load());
        last = now;
        before = used;
    }
}

}  // namespace

void doing(const char* what) { step = what; }

void report_crashes() { SetUnhandledExceptionFilter(crashed); }

void watch_requests() {
    if (const HANDLE thread = CreateThread(nullptr, 0, watch, nullptr, 0, nullptr)) CloseHandle(thread);
}

void report_progress(void (*report)(void* context, const char* step), void* context) {
    static Reporter reporter;
    reporter = {report, context};
    if (const HANDLE thread = CreateThread(nullptr, 0, watch_work, &reporter, 0, nullptr)) CloseHandle(thread);
}

void begins() { ++asked; }

void ends() { answers = asked.load(); }

}  // namespace guard
