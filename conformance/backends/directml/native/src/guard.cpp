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
std::atomic<int> latest_call{0};  // its number and one; 0 outside of calls
const DWORD calls_here = TlsAlloc();  // the same of each thread; not thread_local, whose first use takes memory

void (*report_call)(void*, int, bool) = nullptr;
void* report_context = nullptr;

/// The step, and the number of its call if it is one.
int name_step(char* text, size_t size, int call) {
    if (call) return std::snprintf(text, size, "call %d (%s)", call - 1, step.load());
    return std::snprintf(text, size, "%s", step.load());
}

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
    char where[1024], words[2048], during[256];
    place(record.ExceptionAddress, where, sizeof where);
    const int own = static_cast<int>(reinterpret_cast<intptr_t>(TlsGetValue(calls_here)));
    const int call = own ? own : latest_call.load();  // a thread of the DLL's own has none
    name_step(during, sizeof during, call);
    const int size = std::snprintf(words, sizeof words, "crashed with 0x%08lX%s at %s, during %s\n", record.ExceptionCode,
                                   record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION ? " (access violation)" : "", where, during);
    say(words, size);
    if (call && report_call) report_call(report_context, call - 1, true);
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
        char words[512], during[256];  // a host that is killed for its silence cannot say it any more
        const int call = latest_call;
        name_step(during, sizeof during, call);
        say(words, std::snprintf(words, sizeof words, "a request takes long; the host is at %s\n", during));
        if (call && report_call) report_call(report_context, call - 1, false);
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
        char during[256];
        name_step(during, sizeof during, latest_call);
        if (now == last && now != answers && used - before >= least_work) reporter.report(reporter.context, during);
        last = now;
        before = used;
    }
}

}  // namespace

void doing(const char* what) { step = what; }

void calls(int number, const char* what) {
    step = what;
    latest_call = number + 1;
    TlsSetValue(calls_here, reinterpret_cast<void*>(static_cast<intptr_t>(number + 1)));
}

void called() {
    latest_call = 0;
    TlsSetValue(calls_here, nullptr);
}

void report_calls(void (*report)(void* context, int call, bool crashed), void* context) {
    report_context = context;
    report_call = report;
}

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
