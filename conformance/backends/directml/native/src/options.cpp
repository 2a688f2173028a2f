#include "options.h"

#include <algorithm>
#include <map>

const char* const usage =
    "usage: dmlcts-directml-host [options]\n"
    "Speaks the process protocol of directml-conformance on its standard streams, and executes on a DirectML.dll.\n"
    "  --dll PATH               DirectML.dll; the default is the one beside this program, else the system's\n"
    "  --adapter N              DXGI's number of the adapter; the default is the first\n"
    "  --warp                   the software adapter of Windows\n"
    "  --min-feature-level L    what the DirectML device must have, such as 4_1; the default is 1_0\n"
    "  --execution-flags NAMES  names of DML_EXECUTION_FLAGS with commas between them; they are added to a request's\n"
    "  --compile HOW            operator (the default), or graph: each operator as a graph of one node\n"
    "  --replace-kernels DIR    makes pipelines of DIR/DIGEST.bin instead of the bytecode with this digest\n"
    "  --dump-kernels DIR       writes the bytecode of each pipeline as DIR/DIGEST.bin\n"
    "  --d3d12 NAME             the DLL to load D3D12CreateDevice from; the default is d3d12.dll, and vkd3dn.dll under Wine\n"
    "  --times                  say at the end, on standard error, where the time went\n"
    "  --help                   this text\n";

namespace {

uint32_t number(const std::string& text, const std::string& option) {
    if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) {
        throw OptionError(option + " needs a number, not '" + text + "'");
    }
    return static_cast<uint32_t>(std::stoul(text));
}

const std::string& folder(const std::string& text, const std::string& option) {
    if (text.empty()) throw OptionError(option + " needs a folder");
    return text;
}

uint32_t flags(const std::string& names) {
    static const std::map<std::string, uint32_t> known = {
        {"NONE", 0}, {"ALLOW_HALF_PRECISION_COMPUTATION", 1}, {"DISABLE_META_COMMANDS", 2}, {"DESCRIPTORS_VOLATILE", 4}};
    uint32_t found = 0;
    for (size_t start = 0; start <= names.size();) {
        const size_t end = std::min(names.find(',', start), names.size());
        const auto flag = known.find(names.substr(start, end - start));
        if (flag == known.end()) {
            throw OptionError("--execution-flags has an unknown name: '" + names.substr(start, end - start) +
                              "'; there are NONE, ALLOW_HALF_PRECISION_COMPUTATION, DISABLE_META_COMMANDS and DESCRIPTORS_VOLATILE");
        }
        found |= flag->second;
        start = end + 1;
    }
    return found;
}

}  // namespace

uint32_t feature_level_value(const std::string& name) {
    const bool good = name.size() == 3 && name[1] == '_' && name[0] >= '1' && name[0] <= '9' && name[2] >= '0' && name[2] <= '9';
    if (!good) throw OptionError("a feature level looks like 4_1, not '" + name + "'");
    return static_cast<uint32_t>(name[0] - '0') << 12 | static_cast<uint32_t>(name[2] - '0') << 8;
}

std::string feature_level_name(uint32_t value) { return std::to_string(value >> 12) + "_" + std::to_string(value >> 8 & 15); }

Options read_options(const std::vector<std::string>& arguments, bool under_wine) {
    Options options;
    options.d3d12 = under_wine ? "vkd3dn.dll" : "d3d12.dll";
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& option = arguments[i];
        const auto value = [&]() -> const std::string& {
            if (++i >= arguments.size()) throw OptionError(option + " needs a value");
            return arguments[i];
        };
        if (option == "--dll") options.dll = value();
        else if (option == "--d3d12") options.d3d12 = value();
        else if (option == "--adapter") options.adapter = number(value(), option);
        else if (option == "--warp") options.warp = true;
        else if (option == "--min-feature-level") options.min_feature_level = feature_level_value(value());
        else if (option == "--execution-flags") options.execution_flags = flags(options.execution_flag_names = value());
        else if (option == "--compile") {
            const std::string& how = value();
            if (how != "operator" && how != "graph") throw OptionError("--compile is operator or graph, not '" + how + "'");
            options.graph = how == "graph";
        } else if (option == "--replace-kernels") options.replace_kernels = folder(value(), option);
        else if (option == "--dump-kernels") options.dump_kernels = folder(value(), option);
        else if (option == "--times") options.times = true;
        else if (option == "--help") options.help = true;
        else throw OptionError("unknown option '" + option + "'");
    }
    if (options.warp && options.adapter) throw OptionError("--warp and --adapter exclude each other");
    return options;
}
