/* The places of D3D12's methods are those of the headers: it is enough that this compiles. */
#define CINTERFACE
#define COBJMACROS
#include <stddef.h>
#include <windows.h>

#include <d3d12.h>

#include "d3d12_slots.h"

#define CHECK(name, condition) typedef char name[(condition) ? 1 : -1]
#define SLOT(interface_name, method, slot) CHECK(place_of_##method, offsetof(interface_name##Vtbl, method) == (slot) * sizeof(void *))
#define METHODS(interface_name, count) CHECK(methods_of_##interface_name, sizeof(interface_name##Vtbl) == (count) * sizeof(void *))

SLOT(ID3D12Device5, CreateComputePipelineState, slot_create_compute_pipeline);
SLOT(ID3D12Device5, CreatePipelineState, slot_create_pipeline);
SLOT(ID3D12Device5, EnumerateMetaCommands, slot_enumerate_metacommands);
SLOT(ID3D12Device5, CreateMetaCommand, slot_create_metacommand);
SLOT(ID3D12GraphicsCommandList4, ClearState, slot_clear_state);
SLOT(ID3D12GraphicsCommandList4, Dispatch, slot_dispatch);
SLOT(ID3D12GraphicsCommandList4, SetPipelineState, slot_set_pipeline);
SLOT(ID3D12GraphicsCommandList4, ExecuteIndirect, slot_execute_indirect);
SLOT(ID3D12GraphicsCommandList4, ExecuteMetaCommand, slot_execute_metacommand);
METHODS(ID3D12Device, methods_of_device);
METHODS(ID3D12Device1, methods_of_device1);
METHODS(ID3D12Device2, methods_of_device2);
METHODS(ID3D12Device3, methods_of_device3);
METHODS(ID3D12Device4, methods_of_device4);
METHODS(ID3D12Device5, methods_of_device5);
METHODS(ID3D12Device6, methods_of_device6);
METHODS(ID3D12Device7, methods_of_device7);
METHODS(ID3D12Device8, methods_of_device8);
METHODS(ID3D12GraphicsCommandList, methods_of_list);
METHODS(ID3D12GraphicsCommandList1, methods_of_list1);
METHODS(ID3D12GraphicsCommandList2, methods_of_list2);
METHODS(ID3D12GraphicsCommandList3, methods_of_list3);
METHODS(ID3D12GraphicsCommandList4, methods_of_list4);
METHODS(ID3D12GraphicsCommandList5, methods_of_list5);
METHODS(ID3D12GraphicsCommandList6, methods_of_list6);
