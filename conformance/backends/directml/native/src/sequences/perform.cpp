#include "sequences/perform.h"

#include <exception>

#include "guard.h"
#include "sequences/calls.h"

namespace sequences {

namespace {

/// Where threads meet, by name.
class Meetings {
public:
    /// Waits until so many threads are at the point. Throws protocol::Fault if one of them will never come.
    void meet(const std::string& point, uint32_t threads) {
        const hooks::Lock lock(lock_);
        const uint32_t mine = ++there_[point];
        const uint32_t all = (mine + threads - 1) / threads * threads;  // a point may be met at again
        WakeAllConditionVariable(&changed_);
        while (there_[point] < all && !failed_) SleepConditionVariableSRW(&changed_, &lock_, INFINITE, 0);
        if (there_[point] < all) throw protocol::Fault("another thread failed, and never came");
    }

    void fail() {
        const hooks::Lock lock(lock_);
        failed_ = true;
        WakeAllConditionVariable(&changed_);
    }

private:
    std::map<std::string, uint32_t> there_;
    bool failed_ = false;
    SRWLOCK lock_ = SRWLOCK_INIT;
    CONDITION_VARIABLE changed_ = CONDITION_VARIABLE_INIT;
};

const std::string& name_of(const json::Value& call) { return json::as_string(json::at(call, "call"), "call"); }

std::string thread_of(const json::Value& call) {
    const json::Value* found = json::find(call, "thread");
    return found ? json::as_string(*found, "thread") : std::string();
}

class Performance {
public:
    Performance(DirectMlDevice& device, const json::Array& calls, const uint8_t* contents, Kernels& kernels)
        : sequence_(device, kernels), calls_(calls), replies_(calls.size()) {
        for (const json::Value& call : calls) {
            bytes_.push_back(contents);
            contents += count_bytes(call);
        }
    }

    /// Calls that name a thread and stand together run at the same time, those of each thread in order; one that names none waits for all before it.
    std::vector<Reply> perform() {
        for (size_t i = 0; i < calls_.size();) {
            if (thread_of(calls_[i]).empty()) {
                perform(i++);
                continue;
            }
            std::map<std::string, std::vector<size_t>> threads;
            for (; i < calls_.size() && !thread_of(calls_[i]).empty(); ++i) threads[thread_of(calls_[i])].push_back(i);
            perform_at_once(threads);
        }
        return std::move(replies_);
    }

private:
    struct Thread {
        Performance& performance;
        const std::vector<size_t>& calls;
        std::exception_ptr failure;
        HANDLE handle;
    };

    static DWORD WINAPI run(void* given) {
        Thread& thread = *static_cast<Thread*>(given);
        try {
            for (const size_t index : thread.calls) thread.performance.perform(index);
        } catch (...) {
            thread.failure = std::current_exception();
            thread.performance.meetings_.fail();
        }
        return 0;
    }

    void perform_at_once(const std::map<std::string, std::vector<size_t>>& named) {
        std::deque<Thread> threads;
        for (const auto& [name, calls] : named) threads.push_back({*this, calls, nullptr, nullptr});
        for (Thread& thread : threads) {
            thread.handle = CreateThread(nullptr, 0, run, &thread, 0, nullptr);
            if (!thread.handle) {
                thread.failure = std::make_exception_ptr(protocol::Fault("CreateThread failed: " + last_error()));
                meetings_.fail();
            }
        }
        for (Thread& thread : threads) {
            if (!thread.handle) continue;
            WaitForSingleObject(thread.handle, INFINITE);
            CloseHandle(thread.handle);
        }
        for (Thread& thread : threads) {
            if (thread.failure) std::rethrow_exception(thread.failure);
        }
    }

    void perform(size_t index) {
        const std::string& name = name_of(calls_[index]);
        try {
            replies_[index] = answer(index, name);
        } catch (const json::Error& error) {
            throw json::Error("call " + std::to_string(index) + " (" + name + "): " + error.what());
        } catch (const protocol::Fault& fault) {
            throw protocol::Fault("call " + std::to_string(index) + " (" + name + "): " + fault.what());
        }
    }

    Reply answer(size_t index, const std::string& name) {
        Reply reply;
        reply.unsupported = first_unsupported();
        if (!reply.unsupported.empty()) return reply;
        const Function* function = find_function(name);
        try {
            if (name == "meet") meet(index);
            else if (function) {
                guard::calls(static_cast<int>(index), function->name);
                reply = function->perform(sequence_, {calls_[index], bytes_[index]});
                guard::called();
            } else reply.unsupported = "this host knows no call '" + name + "'";
        } catch (const Missing& missing) {
            reply.unsupported = missing.what();
        } catch (const protocol::Rejected& refused) {
            reply.code = static_cast<HRESULT>(refused.code);
            reply.message = refused.message;
        }
        reply.removed = sequence_.objects.newly_removed();
        if (!reply.unsupported.empty()) stop(reply.unsupported);
        return reply;
    }

    void meet(size_t index) {
        if (thread_of(calls_[index]).empty()) throw json::Error("it names no thread, and no other one runs then");
        meetings_.meet(json::as_string(json::at(calls_[index], "point"), "point"), number32(calls_[index], "threads"));
    }

    std::string first_unsupported() {
        const hooks::Lock lock(lock_);
        return unsupported_;
    }

    void stop(const std::string& why) {
        const hooks::Lock lock(lock_);
        if (unsupported_.empty()) unsupported_ = why;
    }

    Sequence sequence_;
    const json::Array& calls_;
    std::vector<const uint8_t*> bytes_;
    std::vector<Reply> replies_;
    Meetings meetings_;
    std::string unsupported_;  // why the first call was not performed: those after it may need what it was to make
    SRWLOCK lock_ = SRWLOCK_INIT;
};

const json::Array& calls_of(const json::Value& header) { return json::as_array(json::at(header, "calls"), "calls"); }

}  // namespace

uint64_t payload_of(const json::Value& header) {
    uint64_t total = 0;
    for (const json::Value& call : calls_of(header)) total += count_bytes(call);
    return total;
}

std::vector<Reply> perform(DirectMlDevice& device, const json::Value& header, const uint8_t* contents, Kernels& kernels) {
    return Performance(device, calls_of(header), contents, kernels).perform();
}

json::Array as_json(const std::vector<Reply>& replies) {
    json::Array found;
    for (const Reply& reply : replies) {
        json::Object members;
        if (reply.code != S_OK) members.push_back({"code", hex(reply.code)});
        if (reply.reads) members.push_back({"size", static_cast<uint64_t>(reply.bytes.size())});
        if (!reply.value.is_null()) members.push_back({"value", reply.value});
        if (reply.removed) members.push_back({"removed", true});
        if (!reply.message.empty()) members.push_back({"message", reply.message});
        if (!reply.unsupported.empty()) members.push_back({"unsupported", reply.unsupported});
        found.push_back(std::move(members));
    }
    return found;
}

}  // namespace sequences
