// SHA-256 by Windows' own library.
#pragma once

#include <cstdint>
#include <string>

/// In hexadecimal, 64 digits; empty if Windows refuses.
std::string sha256(const void* data, uint64_t size);
