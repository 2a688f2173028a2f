// The methods of DirectML's objects, and of D3D12's queues and lists, that are seen.
#pragma once

#include "directml_api.h"

/// From now on a device is captured, and all that is made with it; or that it could not be made is. `feature_level` is null for DMLCreateDevice.
void capture_device(IUnknown* device, HRESULT result, ID3D12Device* d3d12, UINT flags, const UINT* feature_level);
