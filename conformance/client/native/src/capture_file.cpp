#include "capture_file.h"

#include <algorithm>

#include "sha256.h"

namespace {

/// The most bytes of a line and of all lines: what the suite reads.
constexpr uint64_t longest_line = 16u << 20, most_lines = 1000u << 20;

std::wstring variable(const wchar_t* name) {
    std::wstring value(GetEnvironmentVariableW(name, nullptr, 0), L'\0');
    value.resize(GetEnvironmentVariableW(name, &value[0], static_cast<DWORD>(value.size())));
    return value;
}

void say(const std::string& text) { std::fprintf(stderr, "dmlcts capture: %s\n", text.c_str()); }

/// A number from 1 on, `otherwise` where there is none.
uint64_t number(const wchar_t* name, uint64_t otherwise) {
    const std::string text = utf8(variable(name).c_str());
    if (text.empty()) return otherwise;
    uint64_t found = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), found);
    if (result.ec == std::errc() && result.ptr == text.data() + text.size() && found) return found;
    say(utf8(name) + "=" + text + " is no number from 1 on; taken is " + std::to_string(otherwise));
    return otherwise;
}

HANDLE made(const std::wstring& name) {
    return CreateFileW(name.c_str(), GENERIC_WRITE, FILE_SHARE_READ, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
}

bool append(HANDLE file, const void* data, uint64_t size) {
    const char* at = static_cast<const char*>(data);
    while (size) {
        DWORD done = 0;
        if (!WriteFile(file, at, static_cast<DWORD>(std::min<uint64_t>(size, 1u << 30)), &done, nullptr) || !done) return false;
        at += done;
        size -= done;
    }
    return true;
}

}  // namespace

Settings Settings::of_environment() {
    Settings found;
    found.file = variable(L"DMLCTS_CAPTURE");
    const std::string data = utf8(variable(L"DMLCTS_CAPTURE_DATA").c_str());
    if (data == "inputs") found.data = inputs;
    else if (data == "all") found.data = all;
    else if (!data.empty() && data != "none") say("DMLCTS_CAPTURE_DATA is none, inputs or all, not " + data + "; taken is none");
    found.limit = number(L"DMLCTS_CAPTURE_LIMIT", found.limit);
    found.every = number(L"DMLCTS_CAPTURE_EVERY", found.every);
    return found;
}

std::unique_ptr<CaptureFile> CaptureFile::create(const Settings& settings) {
    std::wstring name = settings.file;
    HANDLE lines = made(name);
    if (lines == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION) {
        name += L"." + std::to_wstring(GetCurrentProcessId());
        lines = made(name);
    }
    if (lines != INVALID_HANDLE_VALUE) return std::unique_ptr<CaptureFile>(new CaptureFile(settings, lines, name));
    say(utf8(name.c_str()) + " cannot be written: " + last_error() + "; nothing is captured");
    return nullptr;
}

CaptureFile::~CaptureFile() {
    CloseHandle(lines_);
    if (data_ != INVALID_HANDLE_VALUE) CloseHandle(data_);
}

void CaptureFile::write(json::Object event) {
    if (ended_) return;
    std::string line = json::write(std::move(event));
    line += '\n';
    if (line.size() > longest_line || written_ + line.size() > most_lines) {
        ended_ = true;
        line = "{\"event\":\"full\",\"what\":\"events\"}\n";
    }
    written_ += line.size();
    if (!append(lines_, line.data(), line.size())) ended_ = true;
}

bool CaptureFile::has_room(uint64_t size) {
    if (!full_ && size > settings_.limit - kept_) {
        full_ = true;
        write({{"event", "full"}, {"what", "data"}});
    }
    return !full_;
}

json::Value CaptureFile::bytes(const void* data, uint64_t size, bool keep) {
    const std::string hash = sha256(data, size);
    if (hash.empty()) return nullptr;
    json::Object found{{"size", size}, {"sha256", hash}};
    if (!keep) return found;
    auto known = known_.find(hash);
    if (known == known_.end()) {
        if (!has_room(size)) return found;
        if (data_ == INVALID_HANDLE_VALUE) data_ = made(name_ + L".data");
        if (data_ == INVALID_HANDLE_VALUE || !append(data_, data, size)) {
            full_ = true;  // what was written of it is followed by nothing
            return found;
        }
        known = known_.emplace(hash, kept_).first;
        kept_ += size;
    }
    found.push_back({"offset", known->second});
    return found;
}
