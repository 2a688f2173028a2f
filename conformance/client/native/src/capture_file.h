// The capture: one JSON object a line, and the bytes of buffers in a file beside it. docs/capture.md is its text.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "json.h"
#include "windows_api.h"

/// What the environment asks for.
struct Settings {
    enum Data { none, inputs, all };

    std::wstring file;  // DMLCTS_CAPTURE; empty: nothing is captured
    Data data = none;   // DMLCTS_CAPTURE_DATA
    uint64_t limit = uint64_t{1} << 30;  // DMLCTS_CAPTURE_LIMIT: bytes of the data file
    uint64_t every = 1;                  // DMLCTS_CAPTURE_EVERY: the first, and then every n-th execution has data

    static Settings of_environment();
    const char* data_name() const { return data == none ? "none" : data == inputs ? "inputs" : "all"; }
};

/// Used by one thread at a time. Every line is handed to the system at once, so that a client that crashes leaves it.
class CaptureFile {
public:
    /// Null, with a word on standard error, if the file cannot be made. One that another process writes to is not touched: the name gets this
    /// process's number.
    static std::unique_ptr<CaptureFile> create(const Settings& settings);
    ~CaptureFile();
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;

    void write(json::Object event);

    /// Bytes as an event refers to them. Kept once for each contents, until the limit is reached; without `keep`, never.
    json::Value bytes(const void* data, uint64_t size, bool keep);

    /// Whether so many bytes more are within the limit. Says in the capture when it is reached.
    bool has_room(uint64_t size);

private:
    CaptureFile(const Settings& settings, HANDLE lines, std::wstring name) : settings_(settings), lines_(lines), name_(std::move(name)) {}
    void full(const char* what);

    const Settings settings_;
    HANDLE lines_, data_ = INVALID_HANDLE_VALUE;
    const std::wstring name_;
    uint64_t written_ = 0, kept_ = 0;
    bool ended_ = false, full_ = false;
    std::map<std::string, uint64_t> known_;  // digest -> offset
};
