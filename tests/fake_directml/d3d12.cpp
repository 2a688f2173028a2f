#include "d3d12.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fake_d3d12 {

namespace {

constexpr size_t slots = 96;  // more than any interface of a device or a list has

struct Table {
    void* methods[slots];
};

/// What every object is. A second face, where there is one, is another object of the same identity with a vtable of its own.
struct Thing {
    void** vtable;
    ULONG references;
    Thing* owner;  // of a face: the object itself
    Thing* face;
    char label[256];
    UINT label_size;
    std::vector<char>* memory;
    std::vector<std::function<void()>>* work;  // of a list
};

Thing* self_of(Thing* thing) { return thing->owner ? thing->owner : thing; }

bool device_is_removed = false;

HRESULT WINAPI nothing() { return S_OK; }
HRESULT WINAPI get_private_data(Thing* self, const GUID*, UINT* size, void* data) {
    if (!self->label_size || *size < self->label_size) return DXGI_ERROR_NOT_FOUND;
    std::memcpy(data, self->label, *size = self->label_size);
    return S_OK;
}
HRESULT WINAPI set_private_data(Thing* self, const GUID*, UINT size, const void* data) {
    if (size > sizeof self->label) return E_INVALIDARG;
    std::memcpy(self->label, data, self->label_size = size);
    return S_OK;
}
ULONG WINAPI add_reference(Thing* self) { return self->owner ? add_reference(self->owner) : ++self->references; }
HRESULT WINAPI query(Thing* self, const GUID* iid, void** out);
ULONG WINAPI release(Thing* self);

template <class Function> void* address(Function function) { return reinterpret_cast<void*>(function); }

struct Row {
    size_t slot;
    void* method;
};

Table table(std::initializer_list<Row> rows) {
    Table made;
    for (void*& method : made.methods) method = address(nothing);
    for (const Row& row : {Row{0, address(query)}, {1, address(add_reference)}, {2, address(release)}, {3, address(get_private_data)},
                           {4, address(set_private_data)}}) {
        made.methods[row.slot] = row.method;
    }
    for (const Row& row : rows) made.methods[row.slot] = row.method;
    return made;
}

/// Objects that were released, the last first: an address is used again as soon as it can be.
std::vector<Thing*>& unused() {
    static std::vector<Thing*> things;
    return things;
}

Thing* make(Table& of) {
    Thing* made = unused().empty() ? new Thing : unused().back();
    if (!unused().empty()) unused().pop_back();
    *made = {of.methods, 1, nullptr, nullptr, {}, 0, nullptr, nullptr};
    return made;
}

template <Table& of> HRESULT give(void** out) {
    if (out) *out = make(of);
    return S_OK;
}

// Methods, each with the arguments before what it gives

HRESULT WINAPI map(Thing* self, UINT, const void*, void** out) {
    *out = self->memory->data();
    return S_OK;
}
UINT64 WINAPI completed(Thing*) { return UINT64_MAX; }
UINT64* WINAPI handle(Thing*, UINT64* returned) {
    *returned = 0x10000;
    return returned;
}
HRESULT WINAPI removed_reason(Thing*) { return device_is_removed ? DXGI_ERROR_DEVICE_REMOVED : S_OK; }

// Lists and queues

HRESULT WINAPI reset_list(Thing* self, void*, void*) {
    if (self_of(self)->work) self_of(self)->work->clear();
    return S_OK;
}
void WINAPI copy_region(Thing* self, Thing* to, UINT64 at, Thing* from, UINT64 start, UINT64 size) {
    record(reinterpret_cast<ID3D12CommandList*>(self), [=] { std::memcpy(to->memory->data() + at, from->memory->data() + start, size); });
}
void WINAPI execute(Thing*, UINT count, Thing* const* lists) {
    for (UINT i = 0; i < count; ++i) {
        if (!self_of(lists[i])->work) continue;
        for (const std::function<void()>& work : *self_of(lists[i])->work) work();
    }
}
Table pipeline_table = table({}), metacommand_table = table({}), plain_table = table({}), resource_table = table({{8, address(map)}}),
      queue_table = table({{10, address(execute)}}), fence_table = table({{8, address(completed)}}), heap_table = table({{9, address(handle)}, {10, address(handle)}});

template <Table& of> HRESULT WINAPI make_2(Thing*, const void*, const GUID*, void** out) { return give<of>(out); }
template <Table& of> HRESULT WINAPI make_3(Thing*, UINT64, UINT, const GUID*, void** out) { return give<of>(out); }
/// In a heap of its own or placed in another's: the desc is the third argument of both.
HRESULT WINAPI make_resource(Thing*, const void*, UINT64, const D3D12_RESOURCE_DESC* desc, UINT, const void*, const GUID*, void** out) {
    Thing* made = make(resource_table);
    made->memory = new std::vector<char>(static_cast<size_t>(desc->Width));
    *out = made;
    return S_OK;
}

HRESULT WINAPI make_compute_pipeline(Thing*, const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, const GUID*, void** out) {
    const auto* bytecode = static_cast<const char*>(desc->CS.pShaderBytecode);
    if (desc->CS.BytecodeLength && bytecode[0] == '!') return E_INVALIDARG;
    std::fprintf(stderr, "made of: %.*s\n", static_cast<int>(desc->CS.BytecodeLength), bytecode);
    return give<pipeline_table>(out);
}
/// D3D12_PIPELINE_STATE_STREAM_DESC, whose first part is the shader here.
struct Stream {
    SIZE_T size;
    const void* parts;
};
HRESULT WINAPI make_pipeline(Thing*, const Stream* desc, const GUID*, void** out) {
    D3D12_SHADER_BYTECODE bytecode;
    std::memcpy(&bytecode, static_cast<const char*>(desc->parts) + 8, sizeof bytecode);
    std::fprintf(stderr, "made of: %.*s\n", static_cast<int>(bytecode.BytecodeLength), static_cast<const char*>(bytecode.pShaderBytecode));
    return give<pipeline_table>(out);
}
constexpr GUID metacommand_id = {0x01234567, 0x89ab, 0xcdef, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}};

struct MetacommandDesc {
    GUID id;
    const wchar_t* name;
    UINT dirty_state, execution_state;
};
HRESULT WINAPI enumerate_metacommands(Thing*, UINT* count, MetacommandDesc* descs) {
    if (descs) *descs = {metacommand_id, L"Convolution of some driver", 0, 0};
    *count = 1;
    return S_OK;
}
HRESULT WINAPI make_metacommand(Thing*, const GUID*, UINT, const void*, SIZE_T, const GUID*, void** out) { return give<metacommand_table>(out); }

HRESULT WINAPI make_list(Thing*, UINT, UINT, void*, void*, const GUID*, void** out);

Table list_table = table({{10, address(reset_list)}, {15, address(copy_region)}}), newest_list_table = list_table;
Table device_table = table({{8, address(make_2<queue_table>)},
                            {9, address(make_2<plain_table>)},
                            {11, address(make_compute_pipeline)},
                            {12, address(make_list)},
                            {14, address(make_2<heap_table>)},
                            {27, address(make_resource)},
                            {28, address(make_2<plain_table>)},
                            {29, address(make_resource)},
                            {36, address(make_3<fence_table>)},
                            {37, address(removed_reason)},
                            {47, address(make_pipeline)},
                            {59, address(enumerate_metacommands)},
                            {61, address(make_metacommand)}}),
      newest_device_table = device_table;
const Table lists = list_table, newest_lists = list_table, devices = device_table, newest_devices = device_table;  // as they were

Thing* with_face(Table& own, Table& newer) {
    Thing* made = make(own);
    made->face = make(newer);
    made->face->owner = made;
    return made;
}

HRESULT WINAPI make_list(Thing*, UINT, UINT, void*, void*, const GUID*, void** out) {
    *out = with_face(list_table, newest_list_table);
    return S_OK;
}

/// Device3 and List3, and what is newer, are answered with the second face.
bool is_newer(const GUID& iid) {
    static const unsigned long ids[] = {0x81dadc15, 0xe865df17, 0x8b4f173b, 0xc70b221b, 0x5c014b53, 0x9218e6bb,   // ID3D12Device3 to 8
                                        0x6fda83a7, 0x8754318e, 0x55050859, 0xc3827890};                          // lists 3 to 6
    for (const unsigned long id : ids) {
        if (iid.Data1 == id) return true;
    }
    return false;
}

HRESULT WINAPI query(Thing* self, const GUID* iid, void** out) {
    Thing* object = self->owner ? self->owner : self;
    ++object->references;
    *out = object->face && is_newer(*iid) ? object->face : object;
    return S_OK;
}

int differences(const Table& now, const Table& before) {
    int found = 0;
    for (size_t i = 0; i < slots; ++i) found += now.methods[i] != before.methods[i];
    return found;
}

ULONG WINAPI release(Thing* self) {
    Thing* object = self->owner ? self->owner : self;
    if (--object->references) return object->references;
    if (object->vtable == device_table.methods) {
        std::fprintf(stderr, "a device ends with %d methods of others\n",
                     differences(device_table, devices) + differences(newest_device_table, newest_devices) + differences(list_table, lists) +
                         differences(newest_list_table, newest_lists));
    }
    delete object->memory;
    delete object->work;
    if (object->face) unused().push_back(object->face);
    unused().push_back(object);
    return 0;
}

// What is performed

template <class Result, class... Arguments> Result call(void* object, size_t slot, Arguments... arguments) {
    using Method = Result(WINAPI*)(void*, Arguments...);
    return reinterpret_cast<Method>((*static_cast<void***>(object))[slot])(object, arguments...);
}

void* face_of(void* object) { return static_cast<Thing*>(object)->face; }

std::string bytecode(char kernel) { return std::string("bytecode of ") + kernel; }

void* compute_pipeline(void* device, const std::string& bytes) {
    D3D12_COMPUTE_PIPELINE_STATE_DESC desc{};
    desc.CS = {bytes.data(), bytes.size()};
    void* made = nullptr;
    call<HRESULT>(device, 11, &desc, &__uuidof(ID3D12PipelineState), &made);
    return made;
}

void* stream_pipeline(void* device, const std::string& bytes) {
    struct {
        UINT64 type;
        D3D12_SHADER_BYTECODE shader;
        UINT node_mask, mask;
    } parts{6, {bytes.data(), bytes.size()}, 18, 1};
    const Stream desc{sizeof parts, &parts};
    void* made = nullptr;
    call<HRESULT>(device, 47, &desc, &__uuidof(ID3D12PipelineState), &made);
    return made;
}

struct Making {
    void* device;
    std::string bytes;
    void* made;
};
DWORD WINAPI make_on_thread(void* given) {
    Making& making = *static_cast<Making*>(given);
    making.made = compute_pipeline(making.device, making.bytes);
    return 0;
}
void* pipeline_of_thread(void* device, const std::string& bytes) {
    Making making{device, bytes, nullptr};
    const HANDLE thread = CreateThread(nullptr, 0, make_on_thread, &making, 0, nullptr);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    return making.made;
}

void* second_device() {
    static Thing* device = with_face(device_table, newest_device_table);
    return device;
}
void* second_list() {
    static Thing* list = with_face(list_table, newest_list_table);
    return list;
}

void set(void* list, void* pipeline) { call<void>(list, 25, pipeline); }
void dispatch(void* list, UINT x) { call<void>(list, 14, x, 2u, 1u); }

std::map<char, void*>& kept() {
    static std::map<char, void*> pipelines;
    return pipelines;
}

/// Sets what was just made, which takes the place of the one that was kept.
void keep(char kernel, void* pipeline, void* list) { set(list, kept()[kernel] = pipeline); }

void on_second_device(char kernel) {
    void* pipeline = compute_pipeline(second_device(), bytecode(kernel));
    set(second_list(), pipeline);
    dispatch(second_list(), 3);
    call<ULONG>(pipeline, 2);
}

void execute_metacommand(void* device, void* list) {
    static void* metacommand = nullptr;
    if (!metacommand) call<HRESULT>(face_of(device), 61, &metacommand_id, 0u, nullptr, SIZE_T{0}, &metacommand_id, &metacommand);
    call<void>(face_of(list), 71, metacommand, nullptr, SIZE_T{0});
}

}  // namespace

void perform(const char* letters, size_t count, ID3D12Device* device, ID3D12GraphicsCommandList* list) {
    for (size_t i = 0; i < count; ++i) {
        const char letter = letters[i], kernel = i + 1 < count ? letters[i + 1] : '\0';
        const bool of_kernel = letter == '2' || letter == '!' || (letter >= 'a' && letter <= 'z' && letter != 'm' && letter != 'x');
        if (letter >= 'A' && letter <= 'F') {
            if (!kept()[letter]) kept()[letter] = compute_pipeline(device, bytecode(letter));
            if (list) set(list, kept()[letter]);
        } else if (letter == 's') keep(kernel, stream_pipeline(device, bytecode(kernel)), list);
        else if (letter == 'n') keep(kernel, compute_pipeline(face_of(device), bytecode(kernel)), list);
        else if (letter == 't') keep(kernel, pipeline_of_thread(device, bytecode(kernel)), list);
        else if (letter == 'l') keep(kernel, make(pipeline_table), list);
        else if (letter == 'r') call<ULONG>(std::exchange(kept()[kernel], nullptr), 2);
        else if (letter == '2') on_second_device(kernel);
        else if (letter == '!') compute_pipeline(device, "!" + bytecode(kernel));
        else if (letter == '.') dispatch(list, 3);
        else if (letter == ':') dispatch(face_of(list), 3);
        else if (letter == '*') call<void>(list, 59, nullptr, 1u, nullptr, UINT64{0}, nullptr, UINT64{0});
        else if (letter == '#') for (int n = 0; n < 3000; ++n) dispatch(list, 3);
        else if (letter == 'm') execute_metacommand(device, list);
        else if (letter == '0') call<void>(list, 11, nullptr);
        else if (letter == 'x') device_is_removed = true;
        if (of_kernel) ++i;
    }
}

bool removed() { return device_is_removed; }

std::vector<char>& bytes_of(ID3D12Resource* buffer) { return *reinterpret_cast<Thing*>(buffer)->memory; }

void record(ID3D12CommandList* list, std::function<void()> work) {
    Thing* self = self_of(reinterpret_cast<Thing*>(list));
    if (!self->work) self->work = new std::vector<std::function<void()>>;
    self->work->push_back(std::move(work));
}

}  // namespace fake_d3d12

extern "C" __declspec(dllexport) HRESULT WINAPI D3D12CreateDevice(IUnknown*, D3D_FEATURE_LEVEL, REFIID, void** out) {
    fake_d3d12::device_is_removed = false;  // one that is made anew is not
    *out = fake_d3d12::with_face(fake_d3d12::device_table, fake_d3d12::newest_device_table);
    return S_OK;
}
