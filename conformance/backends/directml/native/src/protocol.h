// The suite's process protocol: frames on the standard streams, and requests to run. docs/process-protocol.md is its text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "json.h"

namespace protocol {

/// The implementation refuses: a desc or bindings are wrong. `stage` is one of the protocol's, `code` an HRESULT.
struct Rejected {
    const char* stage;
    uint32_t code;
    std::string message;
};

/// Something else went wrong; it costs this request.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What came is no frame: where the next one begins cannot be known, so that the host has to end.
struct StreamError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr uint64_t max_header = 16u << 20;

/// Bytes of a payload.
struct Piece {
    const void* data;
    uint64_t size;
};

/// Standard input and output, for frames alone: from now on what anybody else prints goes to standard error.
class Streams {
public:
    Streams();

    /// The next frame's header; empty where the suite is gone. Throws StreamError.
    std::optional<std::string> next();

    /// Whether nothing more comes. Waits for the next byte, and whoever reads a frame waits meanwhile: for a thread beside the one that
    /// executes a request. The byte stays for the next frame.
    static bool input_ended();

    /// Bytes of the payload that are still to be read.
    uint64_t payload() const { return payload_; }

    /// Reads part of the payload. Throws StreamError at the end of the stream.
    void read(void* to, uint64_t size);

    /// Writes a frame, after what was left unread of the payload: an answer comes after the end of its request.
    /// Throws StreamError if the suite is gone.
    void write(const json::Value& header, const std::vector<Piece>& payload = {});

    /// The request that is being executed has this id: from now on, until its answer is written, `progress` writes.
    void executes(const json::Value& id);

    /// Says that the request being executed is still worked on, at `step`. For a thread beside the one that executes it.
    void progress(const char* step);

    /// Says that the request being executed is in this call. Without waiting and without memory where the program crashed: then it says
    /// nothing if another thread writes, or was the one to crash while it did.
    void calling(int call, bool crashed);

private:
    void fill(void* to, uint64_t size, const char* part, uint64_t before, uint64_t length);
    void put(const void* data, uint64_t size);
    void put_frame(const json::Value& header, const std::vector<Piece>& payload);
    [[noreturn]] void cut_off(const char* part, uint64_t came, uint64_t length) const;

    std::FILE* out_;
    json::Value executed_;  // the id of the request that is being executed; null between the requests
    uint64_t requests_ = 0;                   // that have begun
    uint64_t payload_ = 0, payload_size_ = 0;  // of the latest: bytes still to be read, and all
};

struct Binding {
    std::string tensor;
    size_t resource;
    uint64_t offset, size;
};

/// Whether the answer to a request is to say what ran. Throws json::Error.
bool wants_paths(const json::Value& header);

/// A request to run, without its desc, which is the header itself, and without the resources' contents, which are the payload.
struct RunRequest {
    std::vector<uint64_t> resources;  // sizes in bytes
    std::vector<Binding> bindings;
    uint32_t flags;
    uint64_t total = 0;  // bytes of all resources
    bool paths = false;   // the answer is to have them
    bool execute = true;  // without, they are all that is asked for

    /// Throws json::Error for a request that is not what the protocol says.
    explicit RunRequest(const json::Value& header);

    const Binding* find(const std::string& tensor) const;
};

}  // namespace protocol
