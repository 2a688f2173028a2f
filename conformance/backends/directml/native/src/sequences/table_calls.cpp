// Calls about descriptor heaps and binding tables.
#include "sequences/calls.h"

namespace sequences::calls {

namespace {

ID3D12DescriptorHeap* heap_of(Sequence& sequence, const Call& call, const char* name) {
    return sequence.objects.get(number(call.members, name), Kind::heap).as<ID3D12DescriptorHeap>();
}

Reply make_heap(Sequence& sequence, const Call& call, D3D12_DESCRIPTOR_HEAP_FLAGS flags) {
    D3D12_DESCRIPTOR_HEAP_DESC desc{};
    desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    desc.Flags = flags;
    desc.NumDescriptors = number32(call.members, "count");
    void* made = nullptr;
    const HRESULT code = sequence.d3d12().get()->CreateDescriptorHeap(&desc, __uuidof(ID3D12DescriptorHeap), &made);
    return reply_with(sequence, call, code, made, {Kind::heap, nullptr});
}

/// What a table is to be made for, and where its descriptors lie.
struct Place {
    dml::BindingTableDesc desc{};
    ID3D12DescriptorHeap* heap = nullptr;
};

/// The place that a call names; empty for an empty table. Without a heap it is one that nothing else has, also where the same table had
/// another: what was recorded with that may still have to be executed.
std::optional<Place> place_of(Sequence& sequence, const Call& call) {
    if (!json::find(call.members, "of")) return std::nullopt;
    const Object& of = sequence.objects.get(number(call.members, "of"), {Kind::compiled, Kind::initializer});
    const uint32_t required = properties_of(of).required_descriptor_count;
    const uint32_t count = number32_or(call.members, "count", required);
    Descriptors place{nullptr, number32_or(call.members, "first", 0)};
    if (json::find(call.members, "heap")) {
        place.heap = heap_of(sequence, call, "heap");
    } else {
        const hooks::Lock lock(sequence.lock);
        place = sequence.take_descriptors(required > 1 ? required : 1);
    }
    Place found;
    found.heap = place.heap;
    found.desc = {of.as<dml::IDispatchable>(), place.heap->GetCPUDescriptorHandleForHeapStart(),
                  place.heap->GetGPUDescriptorHandleForHeapStart(), count};
    found.desc.cpu.ptr += static_cast<SIZE_T>(place.first) * sequence.d3d12().descriptor_size();
    found.desc.gpu.ptr += static_cast<UINT64>(place.first) * sequence.d3d12().descriptor_size();
    return found;
}

dml::IBindingTable* table_of(Sequence& sequence, const Call& call) {
    return sequence.objects.get(number(call.members, "table"), Kind::table).as<dml::IBindingTable>();
}

/// A range of a resource; null where it has no bytes.
dml::BufferBinding range_of(Sequence& sequence, const json::Value& value) {
    if (value.is_null()) return {};
    const Object& resource = sequence.objects.get(number(value, "resource"), Kind::resource);
    const uint64_t offset = number_or(value, "offset", 0);
    const json::Value* given = json::find(value, "size");
    const uint64_t size = given ? size_in_bytes(sequence, *given) : offset < resource.size ? resource.size - offset : 0;
    if (!size || !resource.face) return {};
    return {resource.as<ID3D12Resource>(), offset, size};
}

/// The slots of a call as DML_BINDING_DESCs, which point into it.
class Slots {
public:
    Slots(Sequence& sequence, const json::Value& to, bool several) {
        if (!several) {
            add(sequence, to);
            return;
        }
        for (const json::Value& slot : json::as_array(to, "to")) add(sequence, slot);
    }
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    UINT count() const { return static_cast<UINT>(descs_.size()); }
    const dml::BindingDesc* get() const { return descs_.empty() ? nullptr : descs_.data(); }

private:
    void add(Sequence& sequence, const json::Value& slot) {
        if (const json::Array* ranges = slot.get<json::Array>()) {
            std::vector<dml::BufferBinding>& buffers = lists_.emplace_back();
            for (const json::Value& range : *ranges) buffers.push_back(range_of(sequence, range));
            arrays_.push_back({static_cast<uint32_t>(buffers.size()), buffers.data()});
            descs_.push_back({dml::binding_buffer_array, &arrays_.back()});
            return;
        }
        const dml::BufferBinding range = range_of(sequence, slot);
        if (range.buffer) buffers_.push_back(range);
        descs_.push_back(range.buffer ? dml::BindingDesc{dml::binding_buffer, &buffers_.back()} : dml::BindingDesc{});
    }

    // Deques, because the descs point into them.
    std::deque<dml::BufferBinding> buffers_;
    std::deque<std::vector<dml::BufferBinding>> lists_;
    std::deque<dml::BufferArrayBinding> arrays_;
    std::vector<dml::BindingDesc> descs_;
};

}  // namespace

Reply create_heap(Sequence& sequence, const Call& call) {
    return make_heap(sequence, call, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
}

Reply create_staging_heap(Sequence& sequence, const Call& call) { return make_heap(sequence, call, D3D12_DESCRIPTOR_HEAP_FLAG_NONE); }

Reply copy_descriptors(Sequence& sequence, const Call& call) {
    sequence.d3d12().get()->CopyDescriptorsSimple(number32(call.members, "count"),
                                                  heap_of(sequence, call, "heap")->GetCPUDescriptorHandleForHeapStart(),
                                                  heap_of(sequence, call, "staging")->GetCPUDescriptorHandleForHeapStart(),
                                                  D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    return {};
}

Reply create_staged_table(Sequence& sequence, const Call& call) {
    const Object& of = sequence.objects.get(number(call.members, "of"), {Kind::compiled, Kind::initializer});
    Object object{Kind::table, nullptr};
    object.descriptors = heap_of(sequence, call, "heap");
    const dml::BindingTableDesc desc{of.as<dml::IDispatchable>(),
                                     heap_of(sequence, call, "staging")->GetCPUDescriptorHandleForHeapStart(),
                                     object.descriptors->GetGPUDescriptorHandleForHeapStart(),
                                     properties_of(of).required_descriptor_count};
    void* made = nullptr;
    const HRESULT code = device_of(sequence, call)->CreateBindingTable(&desc, dml::IBindingTable::iid, &made);
    return reply_with(sequence, call, code, made, std::move(object));
}

Reply create_table(Sequence& sequence, const Call& call) {
    const std::optional<Place> place = place_of(sequence, call);
    void* made = nullptr;
    const HRESULT code =
        device_of(sequence, call)->CreateBindingTable(place ? &place->desc : nullptr, dml::IBindingTable::iid, &made);
    Object object{Kind::table, nullptr};
    object.descriptors = place ? place->heap : nullptr;
    return reply_with(sequence, call, code, made, std::move(object));
}

Reply reset_table(Sequence& sequence, const Call& call) {
    Object& table = sequence.objects.get(number(call.members, "table"), Kind::table);
    const std::optional<Place> place = place_of(sequence, call);
    const HRESULT code = table.as<dml::IBindingTable>()->Reset(place ? &place->desc : nullptr);
    if (SUCCEEDED(code)) table.descriptors = place ? place->heap : nullptr;
    return {code};
}

Reply bind_inputs(Sequence& sequence, const Call& call) {
    const Slots slots(sequence, json::at(call.members, "to"), true);
    table_of(sequence, call)->BindInputs(slots.count(), slots.get());
    return {};
}

Reply bind_outputs(Sequence& sequence, const Call& call) {
    const Slots slots(sequence, json::at(call.members, "to"), true);
    table_of(sequence, call)->BindOutputs(slots.count(), slots.get());
    return {};
}

Reply bind_temporary(Sequence& sequence, const Call& call) {
    const Slots slots(sequence, json::at(call.members, "to"), false);
    table_of(sequence, call)->BindTemporaryResource(slots.get());
    return {};
}

Reply bind_persistent(Sequence& sequence, const Call& call) {
    const Slots slots(sequence, json::at(call.members, "to"), false);
    table_of(sequence, call)->BindPersistentResource(slots.get());
    return {};
}

}  // namespace sequences::calls
