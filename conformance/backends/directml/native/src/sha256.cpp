#include "sha256.h"

#include "windows_api.h"

#include <bcrypt.h>

#include <algorithm>

namespace {

/// Opening it takes longer than a hash of a shader does: it stays open.
BCRYPT_ALG_HANDLE algorithm() {
    static const BCRYPT_ALG_HANDLE opened = [] {
        BCRYPT_ALG_HANDLE handle = nullptr;
        return BCryptOpenAlgorithmProvider(&handle, BCRYPT_SHA256_ALGORITHM, nullptr, 0) < 0 ? nullptr : handle;
    }();
    return opened;
}

}  // namespace

std::string sha256(const void* data, uint64_t size) {
    BCRYPT_HASH_HANDLE hash = nullptr;
    unsigned char found[32];
    std::string text;
    bool good = algorithm() && BCryptCreateHash(algorithm(), &hash, nullptr, 0, nullptr, 0, 0) >= 0;
    unsigned char* at = static_cast<unsigned char*>(const_cast<void*>(data));
    while (good && size) {
        const ULONG part = static_cast<ULONG>(std::min<uint64_t>(size, 1u << 30));
        good = BCryptHashData(hash, at, part, 0) >= 0;
        at += part;
        size -= part;
    }
    if (good && BCryptFinishHash(hash, found, sizeof found, 0) >= 0) {
        for (const unsigned char byte : found) {
            char digits[3];
            std::snprintf(digits, sizeof digits, "%02x", byte);
            text += digits;
        }
    }
    if (hash) BCryptDestroyHash(hash);
    return text;
}
