/* Places of D3D12's methods in vtables. IUnknown has three, ID3D12Object four more; then come those of the first interface, and of each that
 * extends it. In C as well, since only C's headers have vtables to compare them with: tests/slots.c. */
#pragma once

enum d3d12_slots {
    slot_create_compute_pipeline = 11, /* ID3D12Device */
    slot_create_pipeline = 47,         /* ID3D12Device2 */
    slot_enumerate_metacommands = 59,  /* ID3D12Device5 */
    slot_create_metacommand = 61,

    slot_clear_state = 11, /* ID3D12GraphicsCommandList */
    slot_dispatch = 14,
    slot_set_pipeline = 25,
    slot_execute_indirect = 59,
    slot_execute_metacommand = 71, /* ID3D12GraphicsCommandList4 */
};

/* How many methods an interface has with all that it extends. */
enum d3d12_methods {
    methods_of_device = 44,
    methods_of_device1 = 47,
    methods_of_device2 = 48,
    methods_of_device3 = 51,
    methods_of_device4 = 57,
    methods_of_device5 = 65,
    methods_of_device6 = 66,
    methods_of_device7 = 68,
    methods_of_device8 = 73,

    methods_of_list = 60,
    methods_of_list1 = 66,
    methods_of_list2 = 67,
    methods_of_list3 = 68,
    methods_of_list4 = 77,
    methods_of_list5 = 79,
    methods_of_list6 = 80,
};
