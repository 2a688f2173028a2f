// Barriers of a command list: what the host and the capture DLL record around copies of buffers.
#pragma once

#include <vector>

#include "windows_api.h"

/// Moves buffers from one state to another; records nothing where there are none.
inline void transition(ID3D12GraphicsCommandList* list, const std::vector<ID3D12Resource*>& buffers, D3D12_RESOURCE_STATES before,
                       D3D12_RESOURCE_STATES after) {
    std::vector<D3D12_RESOURCE_BARRIER> barriers;
    for (ID3D12Resource* buffer : buffers) {
        D3D12_RESOURCE_BARRIER barrier{};
        barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
        barrier.Transition.pResource = buffer;
        barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
        barrier.Transition.StateBefore = before;
        barrier.Transition.StateAfter = after;
        barriers.push_back(barrier);
    }
    if (!barriers.empty()) list->ResourceBarrier(static_cast<UINT>(barriers.size()), barriers.data());
}

/// Lets what follows see what was written so far, to one resource or to all.
inline void await_writes(ID3D12GraphicsCommandList* list, ID3D12Resource* resource = nullptr) {
    D3D12_RESOURCE_BARRIER barrier{};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
    barrier.UAV.pResource = resource;
    list->ResourceBarrier(1, &barrier);
}
