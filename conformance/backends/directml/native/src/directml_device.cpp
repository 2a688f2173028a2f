#include "directml_device.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "desc_layout.h"
#include "guard.h"

namespace {

constexpr uint32_t feature_levels[] = {0x1000, 0x2000, 0x2100, 0x3000, 0x3100, 0x4000, 0x4100, 0x5000,
                                       0x5100, 0x5200, 0x6000, 0x6100, 0x6200, 0x6300, 0x6400};

/// In the order of DML_TENSOR_DATA_TYPE, which begins with 1.
constexpr const char* data_types[] = {"FLOAT32", "FLOAT16", "UINT32",  "UINT16", "UINT8", "INT32", "INT16",
                                      "INT8",    "FLOAT64", "UINT64", "INT64",  "UINT4", "INT4"};

/// Compiles an operator as the only node of a graph.
HRESULT compile_graph(dml::IDevice1* device, dml::IOperator* op, const std::vector<TensorSlot>& slots, uint32_t flags, void** compiled) {
    std::deque<dml::InputEdgeDesc> ins;  // deques, because the edges point into them
    std::deque<dml::OutputEdgeDesc> outs;
    std::vector<dml::TypedDesc> in_edges, out_edges;
    uint32_t inputs = 0, outputs = 0;
    for (const TensorSlot& slot : slots) {
        uint32_t& index = slot.output ? outputs : inputs;
        if (slot.present && slot.output) {
            outs.push_back({0, index, index, nullptr});
            out_edges.push_back({dml::edge_output, &outs.back()});
        } else if (slot.present) {
            ins.push_back({index, 0, index, nullptr});
            in_edges.push_back({dml::edge_input, &ins.back()});
        }
        ++index;
    }
    const dml::OperatorNodeDesc node{op, nullptr};
    const dml::TypedDesc nodes[] = {{dml::node_operator, &node}};
    const dml::GraphDesc graph{inputs,           outputs,          1, nodes,  static_cast<uint32_t>(in_edges.size()),
                               in_edges.data(),  static_cast<uint32_t>(out_edges.size()),
                               out_edges.data(), 0,                nullptr};
    return device->CompileGraph(&graph, flags, dml::ICompiledOperator::iid, compiled);
}

}  // namespace

DirectMlLibrary::DirectMlLibrary(const Options& options) {
    const bool named = !options.dll.empty();
    wchar_t full[4096] = L"DirectML.dll";
    if (named && !GetFullPathNameW(wide(options.dll).c_str(), 4096, full, nullptr)) throw protocol::Fault("--dll: " + last_error());
    const DWORD where = named ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS
                              : LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
    guard::doing("loading DirectML.dll");
    module_ = LoadLibraryExW(full, nullptr, where);
    if (!module_) throw protocol::Fault(utf8(full) + " cannot be loaded: " + last_error());
    wchar_t found[4096] = L"";
    GetModuleFileNameW(module_, found, 4096);
    path = utf8(found);
    version = file_version(found);
}

Com<dml::IDevice> DirectMlLibrary::create_device(ID3D12Device* device, uint32_t min_feature_level) const {
    Com<dml::IDevice> made;
    guard::doing("DMLCreateDevice1");
    need(try_create(device, 0, min_feature_level, made.out()), "DMLCreateDevice1", made);
    return made;
}

HRESULT DirectMlLibrary::try_create(ID3D12Device* device, uint32_t flags, std::optional<uint32_t> min_feature_level, void** made,
                                    REFIID iid) const {
    if (!min_feature_level) return function<dml::CreateDevice>(module_, "DMLCreateDevice", path)(device, flags, iid, made);
    return function<dml::CreateDevice1>(module_, "DMLCreateDevice1", path)(device, flags, *min_feature_level, iid, made);
}

DirectMlDevice::DirectMlDevice(const DirectMlLibrary& library, D3d12Device& d3d12, const Options& options)
    : library_(library), d3d12_(d3d12), options_(options), device_(library.create_device(d3d12.get(), options.min_feature_level)) {
    guard::doing("CreateCommandRecorder");
    need(device_->CreateCommandRecorder(dml::ICommandRecorder::iid, recorder_.out()), "CreateCommandRecorder", recorder_);
    Com<dml::IDevice1> graphs;
    if (options.graph) need(device_->QueryInterface(dml::IDevice1::iid, graphs.out()), "--compile graph: asking for IDMLDevice1", graphs);
    need(removed_reason(), "the new DirectML device is a removed one: GetDeviceRemovedReason");
}

HRESULT DirectMlDevice::removed_reason() const {
    const HRESULT reason = device_->GetDeviceRemovedReason();
    return FAILED(reason) ? reason : d3d12_.removed_reason();
}

HRESULT DirectMlDevice::compile_on(dml::IDevice* device, dml::IOperator* op, const std::vector<TensorSlot>& slots, uint32_t flags,
                                   void** compiled) const {
    flags |= options_.execution_flags;
    if (!options_.graph) return device->CompileOperator(op, flags, dml::ICompiledOperator::iid, compiled);
    Com<dml::IDevice1> graphs;
    const HRESULT found = device->QueryInterface(dml::IDevice1::iid, graphs.out());
    return FAILED(found) ? found : compile_graph(graphs.get(), op, slots, flags, compiled);
}

uint32_t DirectMlDevice::highest_feature_level() const {
    HRESULT code = S_OK;
    // A DLL may refuse a list with levels that are newer than itself: then the list is made shorter.
    for (uint32_t count = static_cast<uint32_t>(std::size(feature_levels)); count; --count) {
        const dml::FeatureLevelsQuery query{count, feature_levels};
        uint32_t highest = 0;
        code = device_->CheckFeatureSupport(dml::feature_feature_levels, sizeof query, &query, sizeof highest, &highest);
        if (FAILED(code)) continue;
        const auto end = feature_levels + count;
        if (std::find(feature_levels, end, highest) == end) {
            throw protocol::Fault("CheckFeatureSupport answered the feature level " + hex(static_cast<HRESULT>(highest)) +
                                  ", which it was not asked for");
        }
        return highest;
    }
    throw protocol::Fault("CheckFeatureSupport failed with " + hex(code) + ", asked for the highest feature level");
}

json::Value DirectMlDevice::describe(const json::Object& further) const {
    guard::doing("CheckFeatureSupport");
    const std::string level = feature_level_name(highest_feature_level());
    json::Array types;
    for (uint32_t type = 1; type <= std::size(data_types); ++type) {
        BOOL supported = FALSE;
        const HRESULT code =
            device_->CheckFeatureSupport(dml::feature_tensor_data_type_support, sizeof type, &type, sizeof supported, &supported);
        if (SUCCEEDED(code) && supported) types.push_back(data_types[type - 1]);
    }
    const bool software = d3d12_.software_under_wine;
    json::Object details{{"driver", d3d12_.driver},
                         {"dll", library_.path},
                         {"wine", wine::version()},
                         {"d3d12", options_.d3d12},
                         {"adapter", options_.warp ? json::Value("warp") : json::Value(options_.adapter.value_or(0))},
                         {"min_feature_level", feature_level_name(options_.min_feature_level)},
                         {"execution_flags", options_.execution_flag_names},
                         {"compile", options_.graph ? "graph" : "operator"}};
    details.insert(details.end(), further.begin(), further.end());
    return json::Object{
        {"status", "ok"},
        {"name", "DirectML"},
        {"version", library_.version},
        {"device", d3d12_.name},
        {"feature_level", level},
        {"data_types", std::move(types)},
        // Known of the software adapter under Wine alone, by measurement: lavapipe flushes in arithmetic, and truncates to FLOAT16.
        {"denormals", software ? "flush" : "any"},
        {"half_store", software ? "truncate" : "nearest"},
        {"progress", true},
        {"protocol", 2},
        {"details", std::move(details)},
    };
}
