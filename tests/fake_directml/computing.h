// A DirectML that computes ELEMENT_WISE_BIT_XOR, and nothing else, on the fake D3D12: for tests of sequences, which need something that can be
// wrong in the second dispatch and right in the first.
//
// | mode | what is wrong |
// |---|---|
// | `computes` | nothing. A table that is given too few or too many inputs or outputs removes the device |
// | `stale-result` | a compiled operator computes once, and gives the same result ever after |
// | `initializer-once` | an initializer does nothing when it is executed again |
// | `offset-remembered` | a compiled operator reads its inputs where they lay at first in their buffers |
// | `table-not-reset` | a table keeps, over a Reset and later bindings, what was bound first |
// | `temporary-zero` | temporary memory is thought to hold zeros |
// | `persistent-shared` | all operators keep their owned inputs in the same persistent memory: that of the last initialization |
// | `removal-unnoticed` | GetDeviceRemovedReason is S_OK whatever happened |
// | `reference-dropped` | a table and an initializer do not hold what they are for |
// | `object-leaked` | an object lets go of nothing when its last reference is gone |
// | `wrong-thread` | on any thread but the one that made the device, outputs are bound that another one has bound before |
// | `crashes-on-thread` | binding outputs on any thread but the one that made the device crashes |
#pragma once

#include "objects.h"

namespace fake {

/// Whether the mode is one of these.
bool is_computing();

HRESULT create_computing(void** out);

}  // namespace fake
