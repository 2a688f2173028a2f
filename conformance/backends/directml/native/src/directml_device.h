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

    /// What DMLCreateDevice1 answers, or DMLCreateDevice where no level is given; `made` may be null. Throws protocol::Fault if the DLL has no such function.
    HRESULT try_create(ID3D12Device* device, uint32_t flags, std::optional<uint32_t> min_feature_level, void** made,
                       REFIID iid = dml::IDevice::iid) const;

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
    const DirectMlLibrary& library() const { return library_; }

    /// S_OK, or why this device or the one below it was removed. A binding that is wrong removes a device.
    HRESULT removed_reason() const;

    /// Compiles an operator as it is, or as the only node of a graph that has an input and an output for each of `slots`.
    HRESULT compile(dml::IOperator* op, const std::vector<struct TensorSlot>& slots, uint32_t flags, void** compiled) const {
        return compile_on(device_.get(), op, slots, flags, compiled);
    }

    /// The same on another device.
    HRESULT compile_on(dml::IDevice* device, dml::IOperator* op, const std::vector<struct TensorSlot>& slots, uint32_t flags,
                       void** compiled) const;

    /// The answer to `describe`, with further details.
    json::Value describe(const json::Object& further = {}) const;

private:
    uint32_t highest_feature_level() const;

    const DirectMlLibrary& library_;
    D3d12Device& d3d12_;
    const Options& options_;
    Com<dml::IDevice> device_;
    Com<dml::ICommandRecorder> recorder_;
};
