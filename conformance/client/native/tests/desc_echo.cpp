// Reads operator descs as requests of the process protocol have them, one a line, lays each out as a struct, and writes what desc_json reads
// from that struct: needs no Windows.
#include <cstring>
#include <iostream>

#include "desc_json.h"
#include "desc_layout.h"
#include "protocol.h"

namespace {

bool copy(void* to, const void* from, size_t size) {
    std::memcpy(to, from, size);
    return true;
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::cout << json::write(desc_json(OperatorDesc(json::read(line)).get(), copy)) << "\n";
        } catch (const protocol::Rejected& refused) {
            std::cout << "rejected: " << refused.message << "\n";
        } catch (const std::runtime_error& error) {  // json::Error, Unreadable
            std::cout << error.what() << "\n";
        }
    }
}
