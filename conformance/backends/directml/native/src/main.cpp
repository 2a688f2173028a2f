// The host: reads requests, and answers them, until the suite is gone.
#include <cstdio>
#include <memory>
#include <new>

#include "directml_device.h"
#include "guard.h"
#include "kernels.h"
#include "operator_run.h"
#include "options.h"
#include "protocol.h"
#include "sequences/perform.h"

#include <shellapi.h>

namespace {

/// What lives as long as the host, with the device, which may have to be made anew.
class Host {
public:
    explicit Host(const Options& options) : options_(options), kernels_(options) {
        guard::report_progress(report_progress, &streams_);
        guard::report_calls(report_call, &streams_);
    }

    /// Answers requests. Returns the exit code.
    int serve() {
        while (const std::optional<std::string> text = streams_.next()) {
            guard::begins();
            json::Value id;
            wants_paths_ = false;
            Stopwatch watch(times_);
            try {
                const json::Value header = json::read(*text);
                if (const json::Value* given = json::find(header, "id"); given && given->get<uint64_t>()) id = *given;
                const std::string& request = json::as_string(json::at(header, "request"), "request");
                if (request == "close") break;
                if (request == "describe") streams_.write(device().describe(details()));
                else if (request == "run") run(header, id, watch);
                else if (request == "perform") perform(header, id);
                else throw json::Error("there is no request '" + request + "'");
            } catch (const protocol::Rejected& refused) {
                streams_.write(with_paths({{"status", "rejected"},
                                           {"id", id},
                                           {"stage", refused.stage},
                                           {"code", hex(static_cast<HRESULT>(refused.code))},
                                           {"message", refused.message}}));
            } catch (const protocol::StreamError&) {
                throw;
            } catch (const json::Error& error) {
                fail(id, "the request is wrong: " + std::string(error.what()));
            } catch (const std::bad_alloc&) {
                fail(id, "out of memory");
            } catch (const protocol::Fault& fault) {
                fail(id, fault.what());
            }
            guard::called();
            guard::ends();
            renew();
        }
        if (options_.times) report();
        return 0;
    }

private:
    static void report_progress(void* streams, const char* step) {
        try {
            static_cast<protocol::Streams*>(streams)->progress(step);
        } catch (const protocol::StreamError&) {  // the suite is gone, as the answer will find
        }
    }

    static void report_call(void* streams, int call, bool crashed) { static_cast<protocol::Streams*>(streams)->calling(call, crashed); }

    DirectMlDevice& device() {
        Stopwatch watch(times_);
        if (!library_) library_ = std::make_unique<DirectMlLibrary>(options_);
        if (!d3d12_) {
            d3d12_ = std::make_unique<D3d12Device>(options_);
            kernels_.follow(d3d12_->get(), d3d12_->list());  // before DirectML makes its first pipeline
        }
        if (!device_) device_ = std::make_unique<DirectMlDevice>(*library_, *d3d12_, options_);
        watch.lap(Times::renew);
        return *device_;
    }

    /// Reads the payload, which must have so many bytes.
    void read_contents(uint64_t total, const char* whose) {
        if (total != streams_.payload()) {
            throw json::Error("the payload has " + std::to_string(streams_.payload()) + " bytes, and the " + whose + " " +
                              std::to_string(total));
        }
        if (contents_.size() < total) contents_.resize(static_cast<size_t>(total));
        streams_.read(contents_.data(), total);
    }

    void perform(const json::Value& header, const json::Value& id) {
        read_contents(sequences::payload_of(header), "calls");
        streams_.executes(id);
        DirectMlDevice& device = this->device();
        wants_paths_ = protocol::wants_paths(header);
        kernels_.begin(wants_paths_, Kernels::Lists::every);
        const std::vector<sequences::Reply> replies = sequences::perform(device, header, contents_.data(), kernels_);
        ++executed_;
        std::vector<protocol::Piece> pieces;
        for (const sequences::Reply& reply : replies) pieces.push_back({reply.bytes.data(), reply.bytes.size()});
        streams_.write(with_paths({{"status", "ok"}, {"id", id}, {"replies", sequences::as_json(replies)}}), pieces);
    }

    void run(const json::Value& header, const json::Value& id, Stopwatch& watch) {
        const protocol::RunRequest request(header);
        read_contents(request.total, "resources");
        streams_.executes(id);
        watch.lap(Times::read);
        DirectMlDevice& device = this->device();
        wants_paths_ = request.paths;
        const uint8_t* returned = run_operator(device, header, request, contents_.data(), kernels_, times_);
        ++executed_;
        Stopwatch writing(times_);
        if (!returned) {
            streams_.write(with_paths({{"status", "ok"}, {"id", id}, {"resources", json::Array()}}));
            return;
        }
        // All resources go back, inputs as well: the suite looks for stray writes in them.
        json::Array indices;
        for (size_t i = 0; i < request.resources.size(); ++i) indices.push_back(static_cast<uint64_t>(i));
        streams_.write(with_paths({{"status", "ok"}, {"id", id}, {"resources", std::move(indices)}}), {{returned, request.total}});
        writing.lap(Times::write);
    }

    void fail(const json::Value& id, const std::string& message) {
        json::Object answer{{"status", "error"}, {"message", message}};
        if (!id.is_null()) answer.push_back({"id", id});
        streams_.write(with_paths(std::move(answer)));
    }

    json::Object with_paths(json::Object answer) {
        if (wants_paths_) answer.push_back({"paths", kernels_.paths()});
        return answer;
    }

    /// What a record of a run must have beside what the device says.
    json::Object details() const {
        json::Object found, replaced = kernels_.replacements();
        if (!replaced.empty()) found.push_back({"replaced_kernels", std::move(replaced)});
        return found;
    }

    /// Makes a removed device anew, while the suite judges the answer. What prevents it, the next request will say.
    void renew() {
        if (!device_ || SUCCEEDED(device_->removed_reason())) return;
        device_.reset();
        if (FAILED(d3d12_->removed_reason())) {  // on Windows; vkd3d's stays, and a new one costs 0.3 s
            kernels_.leave();
            d3d12_.reset();
        }
        ++renewed_;
        try {
            device();
        } catch (const protocol::Fault& fault) {
            std::fprintf(stderr, "the removed device cannot be made anew: %s\n", fault.what());
        }
    }

    void report() const {
        std::fprintf(stderr, "%llu executed, %llu devices made anew; milliseconds:\n", executed_, renewed_);
        for (int part = 0; part < Times::parts; ++part) std::fprintf(stderr, "%10.1f  %s\n", times_.spent[part], Times::names[part]);
    }

    const Options& options_;
    protocol::Streams streams_;
    std::unique_ptr<DirectMlLibrary> library_;
    std::unique_ptr<D3d12Device> d3d12_;
    Kernels kernels_;  // leaves the device after DirectML has, and before it is gone
    bool wants_paths_ = false;
    std::unique_ptr<DirectMlDevice> device_;
    std::vector<uint8_t> contents_;  // kept, so that it need not be filled with zeros for every request
    Times times_;
    unsigned long long executed_ = 0, renewed_ = 0;
};

std::vector<std::string> arguments() {
    int count = 0;
    wchar_t** words = CommandLineToArgvW(GetCommandLineW(), &count);
    std::vector<std::string> found;
    for (int i = 1; i < count; ++i) found.push_back(utf8(words[i]));
    LocalFree(words);
    return found;
}

int guarded() {
    try {
        const Options options = read_options(arguments(), !wine::version().empty());
        if (options.help) return std::fputs(usage, stderr), 0;
        return Host(options).serve();
    } catch (const OptionError& error) {
        std::fprintf(stderr, "%s\n%s", error.what(), usage);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dmlcts-directml-host: %s\n", error.what());
    }
    return 2;
}

}  // namespace

int main() {
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);  // a crash must not wait for a click
    guard::report_crashes();
    guard::watch_requests();
    const int code = guarded();
    std::fflush(stderr);  // not all streams: the thread that watches may hold the lock of standard input
    // Without the drivers' farewell: there is nothing left to save, and some take longer over it than the suite waits.
    TerminateProcess(GetCurrentProcess(), static_cast<UINT>(code));
    return code;
}
