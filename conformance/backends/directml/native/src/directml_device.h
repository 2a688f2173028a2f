// DirectML.dll, and a DirectML device on a D3D12 device.
#pragma once

#include "d3d12_device.h"
#include "directml_api.h"
#include "json.h"

/// The DLL. Stays loaded until the program ends.
class DirectMlLibrary {
public:
    /// Throws protocol::Fault if it cannot be loaded.
    explicit DirectMlLibrary(const Options& options);

    /// Throws protocol::Fault with the HRESULT.
    Com<dml::IDevice> create_device(ID3D12Device* device, uint32_t min_feature_level) const;

    std::string path, version;

private:
    HMODULE module_;
};

class DirectMlDevice {
public:
    /// All three must outlive it. Throws protocol::Fault.
    DirectMlDevice(const DirectMlLibrary& library, D3d12Device& d3d12, const Options& options);

    dml::IDevice* get() const { return device_.get(); }
    dml::ICommandRecorder* recorder() const { return recorder_.get(); }
    D3d12Device& d3d12() const { return d3d12_; }

    /// S_OK, or why this device or the one below it was removed. A binding that is wrong removes a device.
    HRESULT removed_reason() const;

    /// Compiles an operator as it is, or as the only node of a graph that has an input and an output for each of `slots`.
    HRESULT compile(dml::IOperator* op, const std::vector<struct TensorSlot>& slots, uint32_t flags, void** compiled) const;

    /// The answer to `describe`, with further details.
    json::Value describe(const json::Object& further = {}) const;

private:
    uint32_t highest_feature_level() const;
    HRESULT compile_graph(dml::IOperator* op, const std::vector<struct TensorSlot>& slots, uint32_t flags, void** compiled) const;

    const DirectMlLibrary& library_;
    D3d12Device& d3d12_;
    const Options& options_;
    Com<dml::IDevice> device_;
    Com<dml::IDevice1> device1_;
    Com<dml::ICommandRecorder> recorder_;
};
