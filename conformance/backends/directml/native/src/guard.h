// What has to be done where the host's own thread cannot do it: say what crashed or hangs, and end a host that nobody listens to.
#pragma once

namespace guard {

/// Names what comes next, for the words that a crash or a hang leaves. A string literal.
void doing(const char* what);

/// Names the call of a sequence that comes next on this thread, and that it has returned. A crash between the two has its number.
void calls(int number, const char* what);
void called();

/// From now on a crash in a call, and one that takes long, is reported with the call's number. `report` must take no memory where `crashed`.
void report_calls(void (*report)(void* context, int call, bool crashed), void* context);

/// From now on a crash says on standard error what it was, where, and during what. The program ends with the exception's code.
void report_crashes();

/// From now on a request that takes long says so on standard error, with what the host is at; and where the suite is gone and the request
/// hangs, the program ends by itself.
void watch_requests();

/// From now on `report` is called once a second, with what the host is at, while a request takes long and the program uses a processor:
/// one that waits for what never happens does not.
void report_progress(void (*report)(void* context, const char* step), void* context);

/// A request begins, or was answered.
void begins();
void ends();

}  // namespace guard
