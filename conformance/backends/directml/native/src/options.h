// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct Options {
    std::string dll;                  // empty: DirectML.dll beside this program, else the system's
    std::string d3d12;                // the DLL that D3D12CreateDevice is loaded from
    std::optional<uint32_t> adapter;  // DXGI's number of it
    bool warp = false;
    uint32_t min_feature_level = 0x1000;
    uint32_t execution_flags = 0;
    std::string execution_flag_names;
    bool graph = false;  // compile as a graph of one node
    std::string replace_kernels, dump_kernels;  // folders; empty: nothing is replaced, or dumped
    bool times = false;
    bool help = false;
};

struct OptionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws OptionError with a message for the user. `under_wine` chooses the default of --d3d12.
Options read_options(const std::vector<std::string>& arguments, bool under_wine);

extern const char* const usage;

/// 0x6400 for "6_4"; OptionError for what is no feature level.
uint32_t feature_level_value(const std::string& name);
std::string feature_level_name(uint32_t value);
