// A host of nothing but the streams of conformance/backends/directml/native: an answer is its request. A second thread looks for the end of
// standard input all the time, as the host's own does while a request takes long. With an argument, each request takes long before its payload
// is read.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "protocol.h"

int main(int count, char**) {
    try {
        protocol::Streams streams;
        std::thread([] {
            while (!protocol::Streams::input_ended()) std::this_thread::sleep_for(std::chrono::microseconds(100));  // the lock is not fair
        }).detach();
        while (const std::optional<std::string> header = streams.next()) {
            if (count > 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            std::vector<char> payload(static_cast<size_t>(streams.payload()));
            streams.read(payload.data(), payload.size());
            streams.write(json::read(*header), {{payload.data(), payload.size()}});
        }
    } catch (const protocol::StreamError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::_Exit(2);
    }
    std::_Exit(0);
}
