"""The kernels of a record: who runs them, how many there may be, and what changed since another record."""

import random
from dataclasses import replace
from math import exp, isclose, log, sqrt
from pathlib import Path

import pytest
from records import result, run

from dmlcts.reports.formats.html import write_html
from dmlcts.reports.kernels.changes import Changes, changes
from dmlcts.reports.kernels.known import cases_by_kernel, find_lacking
from dmlcts.reports.kernels.page import kernels_of_page
from dmlcts.reports.kernels.richness import curve, richness
from dmlcts.reports.kernels.table import coverage, coverages, kernels, without_kernel
from dmlcts.reports.kernels.text import changes_lines, coverage_text, kernel_text, not_created_text, without_kernel_text
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import Record, Result


def ran(number: int, *labels: str, status: str = "pass", operator: str = "GEMM", groups: tuple[int, ...] = (8, 1, 1)) -> Result:
    return result(status, number, operator, paths=tuple(CodePath(label, groups) for label in labels))


RECORD = run(
    ran(0, "a"), ran(1, "a", "b", status="fail"), ran(2, "b", "b", status="waived", groups=(64, 2, 1)), ran(3, "c"), ran(4),
    ran(5, "a", operator="CONVOLUTION"), ran(6, status="fail"),
)  # fmt: skip


def test_a_kernel_has_its_operators_cases_failures_and_groups() -> None:
    b, a, c = kernels(RECORD.results)
    assert (b.label, a.label, c.label) == ("b", "a", "c")
    assert (len(b.cases), len(b.failing), b.operators) == (2, 2, {"GEMM": 2})
    assert (len(a.cases), len(a.failing), a.operators) == (3, 1, {"GEMM": 2, "CONVOLUTION": 1})
    assert (b.smallest, b.largest) == ((8, 1, 1), (64, 2, 1))
    assert kernel_text(b) == "b: 2 of 2 cases fail; GEMM; groups 8x1x1 to 64x2x1"
    assert kernel_text(c) == "c: 1 case; GEMM; groups 8x1x1; only GEMM/FLOAT16/3"
    assert kernel_text(a) == "a: 1 of 3 cases fail; GEMM, CONVOLUTION; groups 8x1x1"


def test_a_kernel_as_data_names_its_failures_and_its_only_case() -> None:
    b, _, c = (each.to_json() for each in kernels(RECORD.results))
    assert (b["failing"], b["only"], b["numbers"]["different"]) == (["GEMM/FLOAT16/1", "GEMM/FLOAT16/2"], "", 2)
    assert (c["failing"], c["only"]) == ([], "GEMM/FLOAT16/3")


def test_what_others_reach_and_a_record_does_not_is_lacking_with_a_case_that_does() -> None:
    other = run(ran(7, "a", "d"), ran(8, "d", "e"), ran(9, "x (not created)"), ran(10, "f", operator="CONVOLUTION"))
    found = find_lacking(RECORD.results, [cases_by_kernel(other.results), {"e": "a/second", "g": "GEMM/FLOAT16/11"}])
    assert found.reached == 3
    assert found.lacking == {"d": "GEMM/FLOAT16/7", "e": "GEMM/FLOAT16/8", "f": "CONVOLUTION/FLOAT16/10", "g": "GEMM/FLOAT16/11"}
    assert found.by_operator() == {"GEMM": ["d", "e", "g"], "CONVOLUTION": ["f"]}
    assert isclose(found.share, 3 / 7)
    assert find_lacking(RECORD.results, [cases_by_kernel(RECORD.results)]).to_json() == {"reached": 3, "known": 3, "lacking": {}}


def test_cases_without_code_paths_count_for_no_coverage() -> None:
    gemm, convolution = coverages(RECORD)
    assert (gemm.operator, gemm.cases, gemm.richness.reached, gemm.richness.once, gemm.richness.twice) == ("GEMM", 4, 3, 1, 2)
    assert (convolution.operator, convolution.cases, convolution.richness.reached) == ("CONVOLUTION", 1, 1)
    assert coverage(RECORD.results).richness.reached == 3


def test_numbers_that_vary_make_no_kernel_more() -> None:
    (only,) = kernels([ran(number, "a", groups=(number, 1, 1)) for number in range(5)])
    assert len(only.numbers) == 5


def test_what_was_not_created_was_not_reached_and_is_said_of_all_at_once() -> None:
    lacking = run(
        ran(0, "a"), ran(1, "a", "b (not created)", status="fail"), ran(2, "c (not created)", operator="REDUCE", status="waived"), ran(3, "c (not created)")
    )  # fmt: skip
    assert coverage(lacking.results).richness.reached == 1
    found = kernels(lacking.results)
    assert not_created_text(found) == "2 kernels were not created, for 3 cases, 2 of which fail: GEMM, REDUCE"
    assert not_created_text([each for each in found if each.label == "a"]) == ""


def test_cases_that_ran_and_name_no_kernel_are_counted() -> None:
    rejection = replace(ran(9), kind="negative")
    found = without_kernel(
        run(*RECORD.results, rejection, ran(7, operator="JOIN"), ran(8, status="unsupported"), ran(10, status="not_run"))
    )
    assert found == {"GEMM": 2, "JOIN": 1}
    assert without_kernel_text(found) == "3 cases ran and name no kernel: GEMM, JOIN"
    assert without_kernel(run(ran(0), ran(1))) == {}
    assert without_kernel_text({}) == ""


def test_more_is_no_kernel() -> None:
    assert [each.label for each in kernels([ran(0, "a", "more"), ran(1, "more")])] == ["a"]


# How many there may be


def test_the_estimate_and_its_interval_are_those_of_the_formulas() -> None:
    """Worked out by hand: 10 kernels in one case, 5 in two, 20 in seven, of 100 cases."""
    found = richness([1] * 10 + [2] * 5 + [7] * 20, 100)
    assert (found.reached, found.once, found.twice) == (35, 10, 5)
    assert isclose(found.estimate, 35 + 0.99 * 100 / 10)
    variance = 5 * (0.495 * 4 + 0.9801 * 8 + 0.9801 / 4 * 16)
    factor = exp(1.96 * sqrt(log(1 + variance / 9.9**2)))
    assert isclose(found.least, 35 + 9.9 / factor)
    assert isclose(found.most, 35 + 9.9 * factor)


def test_the_estimate_without_any_that_two_cases_reach() -> None:
    assert isclose(richness([1] * 4 + [9] * 3, 50).estimate, 7 + 0.98 * 4 * 3 / 2)


@pytest.mark.parametrize("counts", [[], [5, 7], [2, 2, 9], [1, 8]])
def test_without_signs_of_more_there_are_no_more(counts: list[int]) -> None:
    found = richness(counts, 30)
    assert found.least == found.estimate == found.most == len(counts)


def test_the_interval_has_the_true_number_of_kernels_of_a_drawn_run() -> None:
    chance, inside = random.Random(5), 0
    for _ in range(100):
        weights = [chance.random() + 0.1 for _ in range(80)]
        drawn = chance.choices(range(80), weights, k=150)
        found = richness([drawn.count(each) for each in set(drawn)], 150)
        inside += found.least <= 80 <= found.most
    assert 85 <= inside < 100  # an interval that holds always is too wide


def test_the_curve_is_the_mean_over_all_orders_of_the_cases() -> None:
    owners = [0, 0, 0, 1, 1, 2]
    points = dict(curve([3, 2, 1], 6, 6))
    assert sorted(points) == [1, 2, 3, 4, 5, 6]
    chance = random.Random(1)
    for drawn, expected in points.items():
        mean = sum(len(set(chance.sample(owners, drawn))) for _ in range(4000)) / 4000
        assert abs(mean - expected) < 0.05
    assert points[6] == 3


def test_a_curve_never_falls_and_ends_at_all() -> None:
    found = [kernels for _, kernels in curve([1] * 30 + [4] * 9 + [500], 2_000)]
    assert found == sorted(found)
    assert isclose(found[-1], 40)


# What changed


def test_cases_that_run_other_kernels_and_the_failures_that_go_with_them() -> None:
    old = run(ran(0, "a"), ran(1, "a"), ran(2, "b"), ran(3, "b", status="fail"), ran(4, "c"), ran(9, "only old"))
    new = run(
        ran(0, "x", status="fail"), ran(1, "x"), ran(2, "b", status="fail"), ran(3, "y"), ran(4, "c", groups=(9, 1, 1)), ran(8, "only new")
    )  # fmt: skip
    (found,) = changes(new, old)
    assert (found.both, found.other, found.regrouped) == (5, [f"GEMM/FLOAT16/{number}" for number in (0, 1, 3)], 1)
    assert (found.new, found.gone) == (["x", "y"], ["a"])
    assert (found.failing, found.fixed) == (["GEMM/FLOAT16/0", "GEMM/FLOAT16/2"], ["GEMM/FLOAT16/3"])
    assert found.with_change == ["GEMM/FLOAT16/0", "GEMM/FLOAT16/3"]
    assert found.instead.most_common(1) == [(("a", "x"), 2)]
    assert list(changes_lines(found)) == [
        "GEMM: 3 of 5 cases run other kernels (2 new kernels, 1 gone); 1 run the same with other groups",
        "  x in place of a: 2 cases",
        "  y in place of b: 1 case",
        "  2 newly fail, 1 of them with other kernels: GEMM/FLOAT16/0",
        "  1 fail no more, 1 of them with other kernels: GEMM/FLOAT16/3",
    ]


def test_a_run_has_not_changed_since_itself() -> None:
    gemm, convolution = sorted(changes(RECORD, RECORD), key=lambda each: -each.both)
    assert (gemm, convolution) == (Changes("GEMM", both=4), Changes("CONVOLUTION", both=1))


def test_cases_that_did_not_run_say_nothing_about_a_change() -> None:
    old, new = run(ran(0, "a", status="unsupported"), ran(1, "a", status="not_run")), run(ran(0, "a", status="fail"), ran(1, "a"))
    (found,) = changes(new, old)
    assert (found.failing, found.fixed) == ([], [])


def test_a_kernel_more_is_another_sequence() -> None:
    (found,) = changes(run(ran(0, "a", "b")), run(ran(0, "a")))
    assert found.instead == {("a", "a then b"): 1}


# The page


def page(record: Record, folder: Path) -> str:
    return write_html(record, folder).read_text(encoding="utf-8")


def test_the_page_has_the_kernels_of_each_operator_and_a_curve(tmp_path: Path) -> None:
    text = page(RECORD, tmp_path)
    assert coverage_text(coverage(RECORD.results)) in text
    assert '<th scope="row">CONVOLUTION</th><td>1</td><td>1</td>' in text
    found = kernels_of_page(RECORD)
    assert found is not None
    assert f'points="{found.points}"' in text
    assert found.points.startswith("0.0,100.0 ")
    assert found.points.endswith(" 200.0,0.0")


def test_the_page_of_a_record_without_code_paths_says_nothing_of_kernels(tmp_path: Path) -> None:
    text = page(run(*(replace(each, paths=()) for each in RECORD.results)), tmp_path)
    assert "ernels" not in text.partition("<body")[2].partition("<script")[0]
