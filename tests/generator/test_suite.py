"""The choice among cases: levels, basis, feature level, words and shards."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from dmlcts.generator.case.case import LEVELS, Case
from dmlcts.generator.case.id_filter import matcher, may_match
from dmlcts.generator.random.cases import find_random
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.spec.model.abi import abi, feature_level
from dmlcts.spec.reading.loader import operator_names

# The first operators, and one whose ids hold attributes of every kind.
SAMPLE = tuple(f"ELEMENT_WISE_{name}" for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1"))
EVERY = [case for name in SAMPLE for case in operator_cases(name)]
ROUND = operator_cases("ELEMENT_WISE_ROUND")


def ids(cases: list[Case]) -> list[str]:
    return [case.id for case in cases]


# Levels and basis


def test_each_level_contains_the_ones_before_it() -> None:
    smoke, core, full = (set(ids(select(EVERY, level=level, basis="measured"))) for level in LEVELS[:3])
    assert smoke < core < full
    assert len(full) == len(EVERY)
    assert len(smoke) < 200
    assert {case.level for case in select(EVERY, level="smoke")} == {"smoke"}


def test_documented_leaves_out_what_is_measured_or_contested() -> None:
    documented, both = select(ROUND), select(ROUND, basis="measured")
    assert {case.basis for case in documented} == {"documented"}
    assert {case.basis for case in both} == {"documented", "measured", "contested"}
    assert ids(both) == ids(list(ROUND))
    assert [case.id for case in both if case.basis == "documented"] == ids(documented)


def test_the_order_is_kept() -> None:
    assert ids(select(EVERY, level="core")) == [case.id for case in EVERY if case.level != "full" and case.basis == "documented"]


# Feature levels


@pytest.mark.parametrize("at", ["1_0", "2_1", "3_0", "4_0", "4_1", "6_4"])
def test_a_feature_level_selects_what_it_and_older_ones_promise(at: str) -> None:
    level = feature_level(at)
    found = select(EVERY, at=level, basis="measured")
    assert all(feature_level(case.feature_level) <= level for case in found)
    assert ids(found) == [case.id for case in EVERY if feature_level(case.feature_level) <= level]
    assert bool(found) == (at != "1_0")


def test_levels_are_compared_as_numbers() -> None:
    case = replace(ROUND[0], feature_level="2_1")
    newest = max(abi().feature_levels.values())
    assert select([case], at=newest) == [case]
    assert select([replace(case, feature_level="6_4")], at=feature_level("2_1")) == []


def test_at_3_0_the_types_of_4_1_are_not_selected() -> None:
    found = select(operator_cases("ELEMENT_WISE_BIT_OR"), at=feature_level("3_0"))
    assert {case.data_type for case in found} == {"UINT32", "UINT16", "UINT8"}


# Shards


@pytest.mark.parametrize("count", [2, 3, 7])
def test_shards_are_a_partition(count: int) -> None:
    shards = [set(ids(select(EVERY, shard=(index, count), basis="measured"))) for index in range(1, count + 1)]
    assert sum(len(shard) for shard in shards) == len(EVERY)
    assert set().union(*shards) == set(ids(EVERY))
    assert all(len(EVERY) / count * 0.8 < len(shard) < len(EVERY) / count * 1.2 for shard in shards)


def test_which_shard_a_case_is_in_depends_on_its_id_alone() -> None:
    whole = set(ids(select(EVERY, shard=(2, 3))))
    alone = {case.id for case in EVERY if select([case], shard=(2, 3))}
    assert whole == alone
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    assert [bool(select([case], shard=(index, 4))) for index in (1, 2, 3, 4)] == [False, True, False, False]


# Words


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("round", True),
        ("ROUND", True),
        ("float32/values", True),
        ("halves and toward_zero", True),
        ("halves and toward_infinity", False),
        ("toward_infinity or toward_zero", True),
        ("not toward_zero", False),
        ("not toward_infinity and round", True),
        ("not (toward_infinity or bit)", True),
        ("(bit or round) and (float16 or float32)", True),
        ("bit or round and float16", False),  # and binds more than or
        ("not not round", True),
        ("VALUES/HALVES", True),
        ("andes", False),  # a word that begins like an operator
        ("[0]", False),
        ("'", False),
        ("", True),
    ],
)
def test_expressions(expression: str, matches: bool) -> None:
    assert matcher(expression)("ELEMENT_WISE_ROUND/FLOAT32/values/halves/TOWARD_ZERO") is matches


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("REDUCE", False),
        ("REDUCE or ROUND", True),
        ("not ELEMENT_WISE_ROUND", False),
        ("ELEMENT_WISE_ROUND and REDUCE", False),
        ("not (REDUCE and values)", True),
        ("not (REDUCE or ELEMENT_WISE_ROUND)", False),
        (" or ".join(["ARGMAX"] * 60), False),  # no way of combining the words is gone through
    ],
)
def test_an_expression_of_whole_names_leaves_operators_out(expression: str, may: bool) -> None:
    assert may_match(expression, "ELEMENT_WISE_ROUND") is may


@pytest.mark.parametrize("name", SAMPLE)
def test_no_word_of_an_operators_ids_leaves_it_out(name: str) -> None:
    for part in {part for case in operator_cases(name) for part in (case.id, *case.id.split("/"))}:
        for word in part.replace("(", " ").replace(")", " ").split():
            assert may_match(word, name), part


def test_no_end_of_a_part_of_an_id_leaves_its_operator_out() -> None:
    for case in (*EVERY, *operator_cases("GEMM", "core"), *operator_cases("REDUCE", "core")):
        for part in case.id.split("/")[:-1]:
            if " " not in part:
                assert may_match(f"{re.split('[_=.-]', part)[-1]}/", case.operator.name), case.id


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("ELEMENT_WISE_BIT_OR", {"ELEMENT_WISE_BIT_OR"}),
        ("bit_or", {"ELEMENT_WISE_BIT_OR"}),
        ("bit_or/", {"ELEMENT_WISE_BIT_OR"}),
        ("ELEMENT_WISE_BIT_OR/UINT8/4d", {"ELEMENT_WISE_BIT_OR"}),
        ("ELEMENT_WISE_BIT_ORR", set()),
        ("frobnicate", set()),
        ("bit_shift_left", {"ELEMENT_WISE_BIT_SHIFT_LEFT"}),
    ],
)
def test_a_word_leaves_out_the_operators_whose_specs_do_not_have_it(word: str, names: set[str]) -> None:
    assert {name for name in operator_names() if may_match(word, name)} == names


def test_a_fused_activation_is_found_in_the_operators_that_it_can_be_fused_into() -> None:
    found = {name for name in operator_names() if may_match("ACTIVATION_ELU", name)}
    assert {"ACTIVATION_ELU", "GEMM", "CONVOLUTION"} <= found
    assert not any(name.startswith("ELEMENT_WISE_BIT") for name in found)


def test_a_constant_is_found_where_the_operator_of_that_name_is_not_meant() -> None:
    assert may_match("ARGMAX", "REDUCE")
    assert any("/ARGMAX" in case.id for case in operator_cases("REDUCE", "core"))
    assert not may_match("ARGMAX", "GEMM")


def test_no_spec_is_parsed_to_tell_which_operators_a_word_means() -> None:
    code = (
        "from dmlcts.conformance.runner.planning.options import RunOptions;"
        "from dmlcts.conformance.runner.planning.selection import selected_cases; from dmlcts.spec.reading import loader;"
        "from contextlib import suppress; found = []\n"
        "with suppress(ValueError): found = selected_cases(RunOptions(expression={!r}, level='smoke'))\n"
        "print(len(found), loader._load.cache_info().currsize)"
    )
    for expression, parsed in (("ELEMENT_WISE_BIT_OR", 1), ("BIT_OR", 1), ("ELEMENT_WISE_BIT_ORR", 0), ("frobnicate and core", 0)):
        done = subprocess.run([sys.executable, "-c", code.format(expression)], capture_output=True, text=True, check=True)
        count, loaded = map(int, done.stdout.split())
        assert (count > 0, loaded) == (parsed > 0, parsed), expression


@pytest.mark.parametrize(
    "expression",
    ["a b", "a (b)", "(a)(b)", "a or b c", "and", "or a", "a and", "not", "a not b", "()", "a or ()", "(a", "a)", ")("],
)
def test_what_is_no_expression_is_said_to_be_none(expression: str) -> None:
    with pytest.raises(ValueError, match="not an expression of words, and, or, not") as error:
        matcher(expression)
    assert repr(expression) in str(error.value)


def test_words_are_no_python() -> None:
    test = matcher("__import__('os').system('true')".replace("(", "").replace(")", ""))
    assert test("ELEMENT_WISE_ROUND") is False
    with pytest.raises(ValueError, match="not an expression"):
        matcher("__import__('os')")


def test_select_uses_the_expression_on_ids() -> None:
    found = select(EVERY, matching=matcher("bit_count and uint16-uint32 and gaps and spread"))
    assert ids(found) == []  # they are measured
    found = select(EVERY, matching=matcher("bit_count and uint16-uint32 and gaps and spread"), basis="measured")
    assert ids(found) == ["ELEMENT_WISE_BIT_COUNT/UINT16-UINT32/gaps/Output-spread"]


# One case


def test_a_case_is_found_by_its_id() -> None:
    assert find_case("ELEMENT_WISE_ROUND/FLOAT32/4d/HALVES_TO_NEAREST_EVEN").kind == "table"


@pytest.mark.parametrize(
    ("case_id", "message"),
    [
        ("ELEMENT_WISE_BIT_NAND/UINT8/4d", "there is no operator 'ELEMENT_WISE_BIT_NAND'"),
        ("", "there is no operator ''"),
        ("ELEMENT_WISE_BIT_OR/UINT8/4D", "similar ids: .*ELEMENT_WISE_BIT_OR/UINT8/4d"),
        ("ELEMENT_WISE_BIT_OR", "no case 'ELEMENT_WISE_BIT_OR'; similar ids"),
    ],
)
def test_an_unknown_id_is_answered_with_what_there_is(case_id: str, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        find_case(case_id)


def test_a_random_dispatch_is_found_alone() -> None:
    found = [case for case in ROUND if case.kind == "random"][::90]
    assert len(found) == 20
    assert [find_random(case.id) for case in found] == found
    assert find_random(found[0].id.replace("random-", "random-9")) is None
    assert all(find_random(case.id) is None for case in ROUND if case.kind != "random")


def test_outputs_that_may_be_smaller_are_often_as_large_as_they_may_be() -> None:
    """As most slices are: of a window whose elements are all copied."""
    random = [case for case in operator_cases("SLICE1", "full") if case.kind == "random"]
    large = [case for case in random if max(case.desc.tensor("OutputTensor").sizes) > 256]
    assert len(large) > len(random) / 20
