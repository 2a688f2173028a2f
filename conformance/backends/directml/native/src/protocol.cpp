#include "protocol.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#define dup _dup
#define dup2 _dup2
#define fdopen _fdopen
#else
#include <unistd.h>
#endif

namespace protocol {

namespace {

constexpr unsigned char magic[8] = {'D', 'M', 'L', 'C', 'T', 'S', 1, '\n'};
constexpr size_t prefix_size = 20;

// A pipe gives 64 KiB at a time, and Wine looks at all of the memory that it is to read into each time: one read of a large resource
// would cost the square of its size.
constexpr uint64_t chunk = 1 << 18;

// Of standard input, for a whole part of a frame, or a byte that is looked at. The C library's own locks of streams do not do for that:
// mingw-w64's _lock_file is not the lock that Wine's fread takes.
std::mutex input;

// Of standard output, for a whole frame, and of the id of the request that is being executed. Not in the header: the C++ library of mingw-w64 with
// Windows' own threads has no mutex, and what only includes this builds with it.
std::mutex output;

// Both ends are little endian, but what is assembled from bytes needs no packed struct.
uint64_t little(const unsigned char* bytes, int count) {
    uint64_t number = 0;
    for (int i = count - 1; i >= 0; --i) number = number << 8 | bytes[i];
    return number;
}

void put_little(unsigned char* bytes, int count, uint64_t number) {
    for (int i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
}

std::string hex_bytes(const unsigned char* bytes, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, i ? " %02x" : "%02x", bytes[i]);
        text += digits;
    }
    return text;
}

}  // namespace

Streams::Streams() {
    std::fflush(stdout);
    const int frames = dup(1);
    if (frames < 0 || dup2(2, 1) < 0) throw StreamError("standard output cannot be kept apart");
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(2, _O_BINARY);  // the suite shows what stands there, and a carriage return would be noise
    _setmode(frames, _O_BINARY);
#endif
    out_ = fdopen(frames, "wb");
    if (!out_) throw StreamError("standard output cannot be written");
    std::setvbuf(stdin, nullptr, _IOFBF, 1 << 16);
    std::setvbuf(out_, nullptr, _IOFBF, 1 << 16);
}

std::optional<std::string> Streams::next() {
    unsigned char prefix[prefix_size];
    size_t came;
    {
        const std::lock_guard<std::mutex> alone(input);
        came = std::fread(prefix, 1, prefix_size, stdin);
    }
    if (came == 0 && !std::ferror(stdin)) return std::nullopt;
    ++requests_;
    if (std::memcmp(prefix, magic, std::min(came, sizeof magic)) != 0) {
        throw StreamError("request " + std::to_string(requests_) + " begins with " + hex_bytes(prefix, came) + " and not with " +
                          hex_bytes(magic, sizeof magic) + ", the magic number of the protocol's version 1");
    }
    if (came < prefix_size) cut_off("prefix", came, prefix_size);
    const uint64_t length = little(prefix + 8, 4);
    payload_ = payload_size_ = little(prefix + 12, 8);
    if (length > max_header) {
        throw StreamError("request " + std::to_string(requests_) + " has a header of " + std::to_string(length) +
                          " bytes; the maximum is " + std::to_string(max_header));
    }
    std::string header(static_cast<size_t>(length), '\0');
    fill(header.data(), length, "header", 0, length);
    return header;
}

bool Streams::input_ended() {
    const std::lock_guard<std::mutex> alone(input);
    const int byte = std::getc(stdin);
    if (byte != EOF) std::ungetc(byte, stdin);
    return byte == EOF;
}

void Streams::read(void* to, uint64_t size) {
    if (size > payload_) throw StreamError("more was asked of a payload than there is");  // a mistake of this program's own
    fill(to, size, "payload", payload_size_ - payload_, payload_size_);
    payload_ -= size;
}

/// Reads `size` bytes of a part of a frame that has `length`, after `before`.
void Streams::fill(void* to, uint64_t size, const char* part, uint64_t before, uint64_t length) {
    if (!size) return;  // the lock may be with who waits for the next request, which comes after the answer to this one
    const std::lock_guard<std::mutex> alone(input);
    for (uint64_t done = 0; done < size;) {
        const size_t wanted = static_cast<size_t>(std::min(size - done, chunk));
        const size_t came = std::fread(static_cast<char*>(to) + done, 1, wanted, stdin);
        done += came;
        if (came != wanted) cut_off(part, before + done, length);
    }
}

void Streams::cut_off(const char* part, uint64_t came, uint64_t length) const {
    throw StreamError(std::string("standard input ") + (std::ferror(stdin) ? "could not be read" : "ended, as its sender did,") +
                      " after " + std::to_string(came) + " of the " + std::to_string(length) + " bytes of the " + part + " of request " +
                      std::to_string(requests_));
}

void Streams::put(const void* data, uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        const size_t part = static_cast<size_t>(std::min(size - done, chunk));
        if (std::fwrite(static_cast<const char*>(data) + done, 1, part, out_) != part) throw StreamError("standard output was closed");
        done += part;
    }
}

void Streams::write(const json::Value& header, const std::vector<Piece>& payload) {
    std::vector<char> waste(static_cast<size_t>(std::min<uint64_t>(payload_, 1 << 16)));
    while (payload_) read(waste.data(), std::min<uint64_t>(payload_, waste.size()));
    const std::lock_guard<std::mutex> alone(output);
    executed_ = json::Value();
    put_frame(header, payload);
}

void Streams::executes(const json::Value& id) {
    const std::lock_guard<std::mutex> alone(output);
    executed_ = id;
}

void Streams::progress(const char* step) {
    const std::lock_guard<std::mutex> alone(output);
    if (!executed_.is_null()) put_frame(json::Object{{"status", "working"}, {"id", executed_}, {"at", step}}, {});
}

void Streams::calling(int call, bool crashed) {
    std::unique_lock<std::mutex> alone(output, std::defer_lock);
    if (crashed ? !alone.try_lock() : (alone.lock(), false)) return;
    const uint64_t* id = executed_.get<uint64_t>();
    if (!id) return;
    unsigned char bytes[256];
    char* text = reinterpret_cast<char*>(bytes) + prefix_size;
    const int size = std::snprintf(text, sizeof bytes - prefix_size, "{\"status\":\"calling\",\"id\":%llu,\"call\":%d}",
                                   static_cast<unsigned long long>(*id), call);
    std::memcpy(bytes, magic, sizeof magic);
    put_little(bytes + 8, 4, static_cast<uint64_t>(size));
    put_little(bytes + 12, 8, 0);
    if (std::fwrite(bytes, 1, prefix_size + static_cast<size_t>(size), out_)) std::fflush(out_);
}

void Streams::put_frame(const json::Value& header, const std::vector<Piece>& payload) {
    const std::string text = json::write(header);
    uint64_t length = 0;
    for (const Piece& piece : payload) length += piece.size;
    unsigned char prefix[prefix_size];
    std::memcpy(prefix, magic, sizeof magic);
    put_little(prefix + 8, 4, text.size());
    put_little(prefix + 12, 8, length);
    put(prefix, sizeof prefix);
    put(text.data(), text.size());
    for (const Piece& piece : payload) put(piece.data, piece.size);
    if (std::fflush(out_) != 0) throw StreamError("standard output was closed");
}

bool wants_paths(const json::Value& header) {
    const json::Value* given = json::find(header, "paths");
    return given && json::as<bool>(*given, "paths", "true or false");
}

RunRequest::RunRequest(const json::Value& header) : flags(0) {
    constexpr uint64_t most = uint64_t{1} << 40;  // so that no sum below overflows
    for (const json::Value& resource : json::as_array(json::at(header, "resources"), "resources")) {
        resources.push_back(json::as_uint(json::at(resource, "size"), "a resource's size", most));
        total += resources.back();
        if (total > most) throw json::Error("the resources are too large");
    }
    for (const json::Value& entry : json::as_array(json::at(header, "bindings"), "bindings")) {
        Binding binding{json::as_string(json::at(entry, "tensor"), "a binding's tensor"), 0,
                        json::as_uint(json::at(entry, "offset"), "a binding's offset"),
                        json::as_uint(json::at(entry, "size"), "a binding's size")};
        const uint64_t index = json::as_uint(json::at(entry, "resource"), "a binding's resource");
        if (index >= resources.size()) throw json::Error(binding.tensor + " is bound to a resource that there is not");
        if (find(binding.tensor)) throw json::Error(binding.tensor + " is bound twice");
        binding.resource = static_cast<size_t>(index);
        bindings.push_back(std::move(binding));
    }
    if (const json::Value* given = json::find(header, "flags")) flags = static_cast<uint32_t>(json::as_uint(*given, "flags", UINT32_MAX));
    paths = wants_paths(header);
    if (const json::Value* given = json::find(header, "execute")) execute = json::as<bool>(*given, "execute", "true or false");
}

const Binding* RunRequest::find(const std::string& tensor) const {
    const auto found = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& b) { return b.tensor == tensor; });
    return found == bindings.end() ? nullptr : &*found;
}

}  // namespace protocol
