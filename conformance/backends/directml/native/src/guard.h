// What has to be done where the host's own thread cannot do it: say what crashed or hangs, and end a host that nobody listens to.
#pragma once

namespace guard {

/// Names what comes next, for the words that a crash or a hang leaves. A string literal.
void doing(const char* what);

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
