// DirectML's COM interfaces and their structs: own declarations of the ABI, down to IDMLDevice1. Methods stand in vtable order.
#pragma once

#include "directml_types.h"
#include "windows_api.h"

namespace dml {

struct BindingProperties {
    uint32_t required_descriptor_count;
    uint64_t temporary_resource_size;
    uint64_t persistent_resource_size;
};

using BindingDesc = TypedDesc;
constexpr uint32_t binding_none = 0, binding_buffer = 1, binding_buffer_array = 2;

struct BufferBinding {
    ID3D12Resource* buffer;
    uint64_t offset;
    uint64_t size_in_bytes;
};

struct BufferArrayBinding {
    uint32_t binding_count;
    const BufferBinding* bindings;
};

struct IDispatchable;

struct BindingTableDesc {
    IDispatchable* dispatchable;
    D3D12_CPU_DESCRIPTOR_HANDLE cpu;
    D3D12_GPU_DESCRIPTOR_HANDLE gpu;
    uint32_t size_in_descriptors;
};

struct IObject : IUnknown {
    virtual HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) = 0;
    virtual HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) = 0;
    virtual HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, IUnknown*) = 0;
    virtual HRESULT STDMETHODCALLTYPE SetName(PCWSTR) = 0;
};

struct IDeviceChild : IObject {
    virtual HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void**) = 0;
};

struct IOperator : IDeviceChild {
    static constexpr GUID iid = {0x26caae7a, 0x3081, 0x4633, {0x95, 0x81, 0x22, 0x6f, 0xbe, 0x57, 0x69, 0x5d}};
};

struct IDispatchable : IDeviceChild {
    // The ABI returns a struct from a method through a pointer after `this`; said openly, every compiler agrees on it.
    virtual BindingProperties* STDMETHODCALLTYPE GetBindingProperties(BindingProperties* returned) = 0;
};

struct ICompiledOperator : IDispatchable {
    static constexpr GUID iid = {0x6b15e56a, 0xbf5c, 0x4902, {0x92, 0xd8, 0xda, 0x3a, 0x65, 0x0a, 0xfe, 0xa4}};
};

struct IOperatorInitializer : IDispatchable {
    static constexpr GUID iid = {0x427c1113, 0x435c, 0x469c, {0x86, 0x76, 0x4d, 0x5d, 0xd0, 0x72, 0xf8, 0x13}};
    virtual HRESULT STDMETHODCALLTYPE Reset(UINT, ICompiledOperator* const*) = 0;
};

struct IBindingTable : IDeviceChild {
    static constexpr GUID iid = {0x29c687dc, 0xde74, 0x4e3b, {0xab, 0x00, 0x11, 0x68, 0xf2, 0xfc, 0x3c, 0xfc}};
    virtual void STDMETHODCALLTYPE BindInputs(UINT, const BindingDesc*) = 0;
    virtual void STDMETHODCALLTYPE BindOutputs(UINT, const BindingDesc*) = 0;
    virtual void STDMETHODCALLTYPE BindTemporaryResource(const BindingDesc*) = 0;
    virtual void STDMETHODCALLTYPE BindPersistentResource(const BindingDesc*) = 0;
    virtual HRESULT STDMETHODCALLTYPE Reset(const BindingTableDesc*) = 0;
};

struct ICommandRecorder : IDeviceChild {
    static constexpr GUID iid = {0xe6857a76, 0x2e3e, 0x4fdd, {0xbf, 0xf4, 0x5d, 0x2b, 0xa1, 0x0f, 0xb4, 0x53}};
    virtual void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList*, IDispatchable*, IBindingTable*) = 0;
};

struct IDevice : IObject {
    static constexpr GUID iid = {0x6dbd6437, 0x96fd, 0x423f, {0xa9, 0x8c, 0xae, 0x5e, 0x7c, 0x2a, 0x57, 0x3f}};
    virtual HRESULT STDMETHODCALLTYPE CheckFeatureSupport(UINT feature, UINT, const void*, UINT, void*) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateOperator(const TypedDesc*, REFIID, void**) = 0;
    virtual HRESULT STDMETHODCALLTYPE CompileOperator(IOperator*, UINT flags, REFIID, void**) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT, ICompiledOperator* const*, REFIID, void**) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID, void**) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateBindingTable(const BindingTableDesc*, REFIID, void**) = 0;
    virtual HRESULT STDMETHODCALLTYPE Evict(UINT, void* const*) = 0;
    virtual HRESULT STDMETHODCALLTYPE MakeResident(UINT, void* const*) = 0;
    virtual HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() = 0;
    virtual HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID, void**) = 0;
};

constexpr UINT feature_tensor_data_type_support = 0, feature_feature_levels = 1;

struct FeatureLevelsQuery {
    uint32_t count;
    const uint32_t* levels;
};

// Graphs: the `type` of a node or an edge is one of these.
constexpr uint32_t node_operator = 1, node_constant = 2, edge_input = 1, edge_output = 2, edge_intermediate = 3;

struct OperatorNodeDesc {
    IOperator* op;
    const char* name;
};

struct ConstantNodeDesc {
    const void* data;
    size_t size;
    const char* name;
};

struct InputEdgeDesc {
    uint32_t graph_input, to_node, to_node_input;
    const char* name;
};

struct OutputEdgeDesc {
    uint32_t from_node, from_node_output, graph_output;
    const char* name;
};

struct IntermediateEdgeDesc {
    uint32_t from_node, from_node_output, to_node, to_node_input;
    const char* name;
};

struct GraphDesc {
    uint32_t input_count, output_count, node_count;
    const TypedDesc* nodes;
    uint32_t input_edge_count;
    const TypedDesc* input_edges;
    uint32_t output_edge_count;
    const TypedDesc* output_edges;
    uint32_t intermediate_edge_count;
    const TypedDesc* intermediate_edges;
};

struct IDevice1 : IDevice {
    static constexpr GUID iid = {0xa0884f9a, 0xd2be, 0x4355, {0xaa, 0x5d, 0x59, 0x01, 0x28, 0x1a, 0xd1, 0xd2}};
    virtual HRESULT STDMETHODCALLTYPE CompileGraph(const GraphDesc*, UINT flags, REFIID, void**) = 0;
};

using CreateDevice = HRESULT WINAPI(ID3D12Device*, UINT flags, REFIID, void**);
using CreateDevice1 = HRESULT WINAPI(ID3D12Device*, UINT flags, UINT min_feature_level, REFIID, void**);

}  // namespace dml
