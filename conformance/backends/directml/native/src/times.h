// Where the time goes, for --times.
#pragma once

#include <array>
#include <chrono>
#include <utility>

/// Milliseconds, summed up over all requests, by what they were spent on.
struct Times {
    enum Part { read, layout, create, compile, memory, initialize, bind, dispatch, gpu, release, write, renew, parts };
    static constexpr const char* names[parts] = {
        "JSON and payload of a request, without waiting for it",
        "layout of the desc",
        "CreateOperator",
        "CompileOperator or CompileGraph, CreateOperatorInitializer",
        "buffers and upload",
        "initialization: descriptors, binding, recording",
        "binding",
        "recording the dispatch",
        "execution of all that was recorded, copies included",
        "release",
        "writing the answer",
        "devices made, or made anew",
    };
    std::array<double, parts> spent{};
};

/// Adds the time since the last lap to a part.
class Stopwatch {
public:
    explicit Stopwatch(Times& times) : times_(times) {}

    void lap(Times::Part part) {
        const auto now = Clock::now();
        times_.spent[part] += std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
    }

private:
    using Clock = std::chrono::steady_clock;
    Times& times_;
    Clock::time_point last_ = Clock::now();
};
