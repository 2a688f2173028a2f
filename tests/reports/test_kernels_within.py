"""What the cases of a kernel meet of structural conditions, what is missing, and what the kernel excludes."""

from __future__ import annotations

from itertools import product

import pytest

from dmlcts.reports.kernels.text import missing_lines, table_lines, within_text
from dmlcts.reports.kernels.within import Condition, Share, Within, often_missing, share_alone, share_of_pairs, tables

Case = tuple[tuple[str, ...], frozenset[Condition]]


def case(kernel: str, **values: object) -> Case:
    """A case of a kernel that meets these conditions."""
    return (kernel,), frozenset((name, str(value)) for name, value in values.items())


def table(*cases: Case, label: str = "k") -> Within:
    return next(each for each in tables("GEMM", cases) if each.label == label)


TWELVE = [case("k", a=number % 2, b=number % 3) for number in range(12)]


def test_conditions_are_counted_alone_and_in_pairs() -> None:
    found = table(*TWELVE)
    assert (found.operator, found.cases) == ("GEMM", 12)
    assert found.alone == {("a", "0"): 6, ("a", "1"): 6, ("b", "0"): 4, ("b", "1"): 4, ("b", "2"): 4}
    assert found.pairs == {(("a", str(one)), ("b", str(other))): 2 for one, other in product(range(2), range(3))}
    assert (found.missing, found.excluded, found.missing_pairs, found.excluded_pairs) == ((), (), (), 0)


def test_a_kernel_of_few_cases_has_no_table() -> None:
    assert len(tables("GEMM", TWELVE[:10])) == 1
    assert tables("GEMM", TWELVE[:9]) == []


def test_what_no_case_of_the_operator_meets_is_not_missing() -> None:
    """The spec allows what some case has."""
    found = table(*TWELVE, case("other", a=7, b=0), case("other", a=0, b=8))
    assert set(found.missing) == {("a", "7"), ("b", "8")}
    assert table(*[each for each in TWELVE if ("a", "0") not in each[1] or ("b", "0") not in each[1]]).missing_pairs == ()


def test_a_pair_that_another_kernel_met_is_missing() -> None:
    lacking = [each for each in TWELVE if not {("a", "0"), ("b", "0")} <= each[1]]
    found = table(*lacking, case("other", a=0, b=0))
    assert found.missing_pairs == ((("a", "0"), ("b", "0")),)
    assert found.excluded_pairs == 0
    assert share_of_pairs([found]) == Share(5, 1)


def test_what_chance_would_have_brought_is_excluded() -> None:
    """Half of the operator's cases have it, and none of 14; of 13, six and a half are expected, which may be chance."""
    for count, missing, excluded in ((13, (("a", "2"),), ()), (14, (), (("a", "2"),))):
        own = [case("k", a=number % 2) for number in range(count)]
        found = table(*own, *(case("other", a=2) for _ in range(count)))
        assert (found.missing, found.excluded) == (missing, excluded)


def test_a_pair_that_chance_would_have_brought_is_excluded() -> None:
    own = [case("k", a=number % 2, b=number % 2) for number in range(28)]
    found = table(*own, case("other", a=0, b=1))
    assert (found.missing_pairs, found.excluded_pairs) == ((), 1)  # 7 of 28 were to be expected
    found = table(*own[:26], case("other", a=0, b=1))
    assert (len(found.missing_pairs), found.excluded_pairs) == (1, 0)


def test_a_kernel_that_is_made_for_one_value_excludes_even_rare_ones() -> None:
    own = [case("k", type="FLOAT16") for _ in range(12)]
    others = [case("other", type="FLOAT32") for _ in range(11)] + [case("other", type="INT8")]
    assert table(*own, *others).excluded == (("type", "FLOAT32"), ("type", "INT8"))
    mostly = [case("other", type="FLOAT16") for _ in range(200)]
    assert table(*own, *others, *mostly).missing == (("type", "FLOAT32"), ("type", "INT8"))


def test_kernels_that_lack_most_come_first_and_share_what_they_lack() -> None:
    gaps = [case("gaps", a=number % 2, b=number % 2) for number in range(10)]
    found = tables("GEMM", [*TWELVE, *gaps])
    assert [each.label for each in found] == ["gaps", "k"]
    assert often_missing(found) == {(("b", "2"),): 1, (("a", "0"), ("b", "1")): 1, (("a", "1"), ("b", "0")): 1}
    assert share_alone(found) == Share(9, 1)
    assert within_text(found) == "2 kernels in 10 cases or more; 90.0% of 10 conditions alone, 80.0% of 10 pairs"
    assert list(missing_lines(found)) == [
        "  missing in 1 kernel: b is 2",
        "  missing in 1 kernel: a is 0 and b is 1",
        "  missing in 1 kernel: a is 1 and b is 0",
    ]
    assert list(table_lines(found[0])) == [
        "gaps: 10 cases of GEMM",
        "  a: 0 5, 1 5",
        "  b: 0 5, 1 5",
        "  missing: b is 2",
        "  pairs: 2 of 4 ran; it excludes 0 more",
        "    missing: a is 0 and b is 1",
        "    missing: a is 1 and b is 0",
    ]


@pytest.mark.parametrize(("share", "part"), [(Share(0, 0), 1.0), (Share(0, 3), 0.0), (Share(19, 1), 0.95)])
def test_the_part_of_what_there_is(share: Share, part: float) -> None:
    assert share.part == part
