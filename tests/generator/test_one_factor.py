"""One-factor sweeps: one thing of each is unusual, and nothing else; each kind of data comes in large sizes too."""

from functools import cache
from itertools import permutations
from math import prod

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.engine import sizes_of
from dmlcts.generator.sweeps.one_factor.data import one_factor_data_cases
from dmlcts.generator.sweeps.one_factor.layouts import one_factor_layout_cases
from dmlcts.generator.sweeps.one_factor.sizes import one_factor_size_cases
from dmlcts.generator.sweeps.one_factor.ways import typical_ways
from dmlcts.generator.sweeps.table import BEYOND_16_BITS as FAR
from dmlcts.generator.sweeps.table import BEYOND_1024_GROUPS as FARTHER
from dmlcts.generator.sweeps.table import BEYOND_A_GROUP as LONG
from dmlcts.generator.sweeps.table import EVEN_UNITS as UNITS
from dmlcts.generator.sweeps.table import PLANE_BEYOND_16_BITS as PLANE
from dmlcts.generator.values.layouts import layout_of
from dmlcts.spec.model.desc import packed_strides
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations

SAMPLE = ("ELEMENT_WISE_ADD", "REDUCE", "GEMM", "CONVOLUTION", "MULTIHEAD_ATTENTION", "JOIN")


@cache
def cases(name: str) -> tuple[Case, ...]:
    return tuple(one_factor_size_cases(plan_of(load(name))))


@cache
def layout_cases(name: str) -> tuple[Case, ...]:
    return tuple(one_factor_layout_cases(plan_of(load(name))))


@cache
def data_cases(name: str) -> tuple[Case, ...]:
    return tuple(one_factor_data_cases(plan_of(load(name))))


def label(case: Case) -> str:
    return case.id.split("/")[3]


@pytest.mark.parametrize("name", SAMPLE)
def test_cases_are_of_level_full_valid_and_have_ids_of_their_own(name: str) -> None:
    found = (*cases(name), *layout_cases(name), *data_cases(name))
    assert len({case.id for case in found}) == len(found) > 50
    assert {case.level for case in found} == {"full"}
    assert all(not violations(case.operator, case.desc) for case in found)
    assert not any(
        [*maker(plan_of(load(name)), "core")] for maker in (one_factor_size_cases, one_factor_layout_cases, one_factor_data_cases)
    )


def test_one_size_is_uneven_and_the_others_are_even() -> None:
    plan = plan_of(load("GEMM"))
    names = model_of(plan).dimensions
    seen: dict[str, set[int]] = {}
    for case in cases("GEMM"):
        name, _, rest = label(case).partition("=")
        size, _, _ = rest.partition(".beside-")
        if size.isdigit() and int(size) in (13, 24, 31, 33, 40, 47, 65):
            sizes = sizes_of(plan, case.desc)
            assert sizes.pop(names[name]) == int(size)
            assert set(sizes.values()) <= {1, *UNITS}
            seen.setdefault(name, set()).add(int(size))
    assert seen == {name: {13, 24, 31, 33, 40, 47, 65} for name in ("A[-1]", "A[-2]", "A[-3]", "A[-4]", "N")}


def test_two_sizes_are_large_at_once_and_batches_are_not() -> None:
    plan = plan_of(load("GEMM"))
    names = model_of(plan).dimensions
    pairs = {label(case): case for case in cases("GEMM") if label(case).count("=") == 2}
    assert {name.partition(".beside")[0] for name in pairs} == {
        f"{one}=80.{other}=96" for one, other in (("A[-1]", "A[-2]"), ("A[-1]", "N"), ("A[-2]", "N"))
    } | {f"{one}=1.{other}=40" for one, other in permutations(("A[-1]", "A[-2]", "N"), 2)}
    for name, case in pairs.items():
        wanted = {names[one]: int(size) for one, _, size in (part.partition("=") for part in name.split(".")[:2])}
        sizes = sizes_of(plan, case.desc)
        assert wanted.items() <= sizes.items()
        assert {size for at, size in sizes.items() if at[1] < -2} == {3 if 1 in wanted.values() else 1}
    bare = [case for case in pairs.values() if case.desc.fields["CTensor"] is case.desc.fields["FusedActivation"] is None]
    assert any(case.desc.tensor("BTensor").count > 64 * 64 for case in bare)


@pytest.mark.parametrize(("name", "dimensions"), [("GEMM", (1, 80, 96, 72)), ("ELEMENT_WISE_ADD", (1, 36, 40, 34))])
def test_all_sizes_are_large_at_once(name: str, dimensions: tuple[int, ...]) -> None:
    every = [case for case in cases(name) if label(case).startswith("every=")]
    assert prod(dimensions) in {prod(sizes_of(plan_of(load(name)), case.desc).values()) for case in every}
    assert all(sum(tensor.count for _, tensor in case.desc.tensors()) <= 1 << 18 for case in every)


def test_long_dimensions_and_planes_are_beyond_16_and_20_bits() -> None:
    found = [label(case) for case in cases("ELEMENT_WISE_ADD")]
    assert {f"S[{at}]={FAR}.beside-2" for at in (-1, -2, -3, -4)} <= set(found)
    assert f"S[-1]={FARTHER}.beside-1" in found
    assert f"S={PLANE[0]}x{PLANE[1]}.beside-2" in found
    assert prod(PLANE) > 1 << 16 > max(PLANE)


def test_a_long_sum_stands_alone_and_in_a_tile_of_sums() -> None:
    long = [case.desc for case in cases("GEMM") if label(case).endswith((f"={FAR}.beside-1", f"={FAR}.beside-16"))]
    assert {desc.tensor("OutputTensor").sizes[-2:] for desc in long} == {(1, 1), (16, 16)}
    assert all(FAR in desc.tensor("ATensor").sizes for desc in long)
    assert not [case.id for case in cases("ELEMENT_WISE_ADD") if f"{FAR}.beside-16" in case.id]  # no sum, and far more elements


def test_one_tensor_has_an_unusual_layout_and_all_others_are_packed() -> None:
    found = [
        case
        for case in layout_cases("ELEMENT_WISE_ADD")
        if not label(case).startswith("all-") and "=" not in label(case) and f"of-{FAR}" not in label(case)
    ]
    assert {
        "A-permuted.of-16",
        "B-last-alone.of-16",
        "A-sliding.of-16",
        "Output-transposed.of-16",
        "A-permuted.of-19",
        "Output-channels-first.of-19",
        "A-middle-exchanged.of-4x128",
    } <= set(map(label, found))
    for case in found:
        strided = [name for name, tensor in case.desc.tensors() if tensor.strides is not None]
        assert strided == [f"{label(case).partition('-')[0]}Tensor"], case.id
        form = label(case).rpartition("-")[2]
        sizes = (1, 4, 4, 128) if form == "4x128" else (2, *[int(form)] * 3)
        assert all(tensor.sizes == sizes for _, tensor in case.desc.tensors())


def test_tensors_are_transposed_and_have_padded_rows_where_all_sizes_are_large() -> None:
    found = {label(case) for case in layout_cases("GEMM") if "of-every=80x96x72" in label(case)}
    tensors = ("A", "B", "C", "Output")
    assert found == {f"{tensor}-{layout}.of-every=80x96x72" for tensor in tensors for layout in ("transposed", "padded-rows")} | {
        f"{tensor}-broadcast-{which}.of-every=80x96x72" for tensor in tensors[:3] for which in ("all", "first", "last")
    }
    whole = {label(case): case for case in layout_cases("GEMM") if "of-every=64x64x128" in label(case)}
    assert whole["C-broadcast-last.of-every=64x64x128"].desc.tensor("CTensor").sizes[-2:] == (64, 128)


def test_rows_beyond_16_bits_are_kept_apart_by_their_layout() -> None:
    found = {label(case): case.desc for case in layout_cases("ELEMENT_WISE_ADD") if f"of-{FAR}x3" in label(case)}
    of_any, of_inputs = ("padded-rows", "transposed"), ("broadcast-first", "broadcast-last")
    assert found.keys() == {f"{tensor}-{layout}.of-{FAR}x3" for tensor in ("A", "B", "Output") for layout in of_any} | {
        f"{tensor}-{layout}.of-{FAR}x3" for tensor in ("A", "B") for layout in of_inputs
    }
    assert found[f"A-broadcast-last.of-{FAR}x3"].tensor("ATensor").strides == (FAR, FAR, 1, 0)


def test_a_stride_that_counts_for_nothing_differs_from_the_packed_one() -> None:
    found = {label(case): case.desc.tensor("FilterTensor") for case in layout_cases("CONVOLUTION")}
    filters = found["Filter-channels-last.of-19.C=1"]
    assert filters.sizes[1] == 1
    assert filters.strides == (9, 1, 3, 1)
    assert packed_strides(filters.sizes) == (9, 9, 3, 1)
    lone = [tensor for name, tensor in found.items() if name.startswith("Filter") and "=1" in name]
    assert all(tensor.strides != packed_strides(tensor.sizes) for tensor in lone)


def test_all_tensors_have_channels_last_but_for_one_that_is_broadcast() -> None:
    found = {label(case): case for case in layout_cases("ELEMENT_WISE_ADD") if "all-channels-last" in label(case)}
    of_a_bias = found["all-channels-last.B-per-channel.of-16"].desc
    assert [layout_of(tensor) for _, tensor in of_a_bias.tensors()] == ["channels-last", "per-channel", "channels-last"]
    assert of_a_bias.tensor("ATensor").strides == (4096, 1, 256, 16)


def test_each_configuration_has_them_and_fused_activations_by_themselves() -> None:
    functions = {case.desc.fields["Function"] for case in (*cases("REDUCE"), *layout_cases("REDUCE"))}
    assert {"SUM", "AVERAGE", "MAX", "LOG_SUM_EXP", "L2", "ARGMIN"} <= functions
    stacked = [case for case in layout_cases("MULTIHEAD_ATTENTION") if case.desc.fields["StackedQueryKeyValueTensor"]]
    assert any(case.desc.tensor("StackedQueryKeyValueTensor").strides for case in stacked)
    ways = typical_ways(plan_of(load("GEMM")))
    fused = {name: {bool(way[1]["FusedActivation"]) for way in own} for name, own in ways.items()}
    assert {name for name, own in fused.items() if own == {True}} == {" fused"}
    assert {False} == set.union(*(own for name, own in fused.items() if name != " fused"))


def test_each_value_of_an_enumeration_has_them_too() -> None:
    ways = typical_ways(plan_of(load("CONVOLUTION")))
    assert {way[1]["Direction"] for way in ways["Direction BACKWARD"]} == {"BACKWARD"}
    assert {way[1]["Mode"] for way in ways["Direction BACKWARD"]} == {"CROSS_CORRELATION", "CONVOLUTION"}
    layouts = {(case.desc.fields["Direction"], label(case)) for case in layout_cases("CONVOLUTION")}
    assert {(direction, "Filter-transposed.of-19") for direction in ("FORWARD", "BACKWARD")} <= layouts


def test_a_window_of_one_element_stands_beside_each_size() -> None:
    found = [case for case in cases("CONVOLUTION") if ".window-1." in label(case)]
    assert {label(case).partition("=")[0] for case in found} >= {"N", "C", "M", "Spatial[-1]", "Spatial[-2]"}
    assert all(case.desc.tensor("FilterTensor").sizes[2:] == (1, 1) for case in found)


def test_queries_are_not_long_with_keys_that_are_stacked_with_them() -> None:
    for case in cases("MULTIHEAD_ATTENTION"):
        stacked = case.desc.fields["StackedQueryKeyTensor"] or case.desc.fields["StackedQueryKeyValueTensor"]
        assert not stacked or stacked.sizes[1] < FAR, case.id


def test_packed_tensors_stay_packed() -> None:
    for case in layout_cases("MAX_POOLING_GRAD"):
        for field, _, tensor in case.desc.by_field():
            if case.operator.field(field).packed:
                assert tensor.strides in (None, packed_strides(tensor.sizes))


def test_each_kind_of_data_comes_at_even_sizes_and_with_each_dimension_long() -> None:
    found = set(map(label, data_cases("ACTIVATION_SOFTMAX1")))
    kinds = {"zeros", "growing", "falling"}
    assert {f"of-{kind}" for kind in kinds} <= found
    assert {f"S[{at}]={LONG}.of-{kind}" for at in (-1, -2, -3, -4) for kind in kinds} <= found
    assert all(case.basis == MEASURED for case in data_cases("REDUCE") if label(case).endswith("of-nans"))


def test_only_measured_special_values_ask_for_the_sign_of_a_zero() -> None:
    nans = [case for case in data_cases("REDUCE") if label(case).endswith("of-nans")]
    assert nans
    assert all(case.checks == ("zero-sign",) for case in nans)
    measured = [case for case in data_cases("MEAN_VARIANCE_NORMALIZATION1") if label(case).endswith("of-Input-far-from-zero")]
    assert measured
    assert all(case.basis == MEASURED and not case.checks for case in measured)


def test_each_kind_of_data_comes_in_other_layouts() -> None:
    found = {label(case): case.desc.tensor("InputTensor") for case in data_cases("ELEMENT_WISE_COS") if "=" not in label(case)}
    kinds = {name.partition("of-")[2] for name in found if name.startswith("of-")}
    assert kinds
    for layout in ("transposed", "channels-last", "padded-rows"):
        assert {layout_of(found[f"{layout}.of-{kind}"]) for kind in kinds} == {layout}


def test_each_kind_of_data_comes_where_blocks_of_rows_and_columns_are_not_full() -> None:
    found = [case for case in data_cases("GEMM") if label(case).startswith("95x95.of-")]
    assert {label(case).partition("of-")[2] for case in found} >= {"infinity-among", "A-large"}
    assert {case.data_type for case in found} == {"FLOAT32", "FLOAT16"}
    assert {size for case in found for size in case.desc.tensor("ATensor").sizes[-2:]} == {95}


def test_further_random_data_come_in_planes_beyond_16_bits() -> None:
    found = [case for case in data_cases("MEAN_VARIANCE_NORMALIZATION") if label(case) == "S=257x256.of-Input-outlier-last"]
    assert {case.desc.fields["NormalizeVariance"] for case in found} == {True, False}
    assert all(inputs(case)["InputTensor"][..., -1, -1].max() == 40 for case in found)


def test_without_axes_the_last_two_dimensions_are_long() -> None:
    long = {label(case).partition("=")[0] for case in data_cases("ELEMENT_WISE_ADD") if "=" in label(case)}
    assert long - {"S"} == {"S[-1]", "S[-2]"}


@pytest.mark.parametrize(("name", "places"), [("SCATTER", "InputTensor"), ("GATHER_ELEMENTS", "InputTensor")])
def test_last_indices_are_beyond_16_bits(name: str, places: str) -> None:
    found = [case for case in data_cases(name) if label(case).endswith(".of-Indices-last") and f"={FAR}." in label(case)]
    along = [case for case in found if case.desc.tensor(places).sizes[_axis(case)] == FAR]
    assert along
    for case in along:
        indices = inputs(case)["IndicesTensor"].astype(int)
        assert (indices % FAR).min() >= FAR - max(16, indices.shape[_axis(case)])


def _axis(case: Case) -> int:
    axis = case.desc.fields["Axis"]
    assert isinstance(axis, int)
    return axis


def test_they_are_a_small_part_of_level_full() -> None:
    found = sum(len(cases(name)) + len(layout_cases(name)) + len(data_cases(name)) for name in operator_names()[::8])
    assert found < 750 * len(operator_names()[::8])


def test_rows_may_begin_at_multiples_of_a_vector_and_have_a_rest() -> None:
    found = {label(case): dict(case.desc.tensors()) for case in layout_cases("ELEMENT_WISE_ADD") if "aligned-rows" in label(case)}
    assert set(found) == {f"{name}-aligned-rows.of-19" for name in ("A", "B", "Output", "all")}
    every = found["all-aligned-rows.of-19"]
    assert {tensor.strides for tensor in every.values()} == {(19 * 19 * 24, 19 * 24, 24, 1)}
    assert [name for name, tensor in found["B-aligned-rows.of-19"].items() if tensor.strides is not None] == ["BTensor"]
