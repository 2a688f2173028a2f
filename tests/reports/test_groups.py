"""Groups of failures: what differs in numbers alone is one."""

from dataclasses import replace

from dmlcts.reports.record.groups import deciding_results, groups, message_form, spread, words
from dmlcts.reports.record.record import ERROR, FAIL, PASS, UNSUPPORTED, Result


def result(case: str, message: str = "off", kind: str = "layout", status: str = FAIL) -> Result:
    operator, data_type, *_ = case.split("/")
    return Result(case, operator, data_type, kind, "documented", "6_4", status, message)


def test_failures_that_differ_in_numbers_are_one_group_the_largest_first() -> None:
    first, second = (
        "1 of 30 elements wrong (3.3 %), worst at [0, 2]: expected -1.5e-7, actual nan",
        "30 of 30 elements wrong (100 %), worst at [7]: expected 0x7F, actual inf",
    )
    results = [
        result("GEMM/FLOAT32/layout/A-packed", "refused"),
        result("GEMM/FLOAT32/layout/A-strided/Axis=1", first),
        result("GEMM/FLOAT32/layout/A-strided/Axis=2", second),
        result("GEMM/FLOAT32/layout/A-strided/Axis=3", status=PASS),
        result("GEMM/FLOAT32/layout/A-strided/Axis=4", second, status=ERROR),
        result("GEMM/FLOAT32/table/A-strided/Axis=5", second, kind="table"),
        result("GEMM/FLOAT16/layout/A-strided/Axis=6", second),
    ]
    found = groups(results)
    assert [group.rows for group in found] == [(1, 2), (0,), (4,), (5,), (6,)]
    assert found[0].factors == ("FLOAT32", "A-strided")
    assert found[0].example is results[1]


def test_what_is_unsupported_within_the_claim_is_a_group_too() -> None:
    lacking = [result(f"GEMM/INT8/layout/{word}", "not implemented", status=UNSUPPORTED) for word in ("packed", "strided")]
    outside = replace(result("GEMM/INT4/layout/packed", "no INT4", status=UNSUPPORTED), undeclared="data type")
    (group,) = groups([outside, *lacking])
    assert (group.status, group.rows) == (UNSUPPORTED, (1, 2))


def test_the_cases_that_decide_are_the_failures_or_else_what_is_unsupported_within_the_claim() -> None:
    lacking = result("GEMM/INT8/layout/packed", status=UNSUPPORTED)
    outside = replace(result("GEMM/INT4/layout/packed", status=UNSUPPORTED), undeclared="data type")
    passed, failed, crashed = (result(f"GEMM/INT8/layout/{status}", status=status) for status in (PASS, FAIL, ERROR))
    assert deciding_results([passed, outside]) == []
    assert deciding_results([passed, outside, lacking]) == [lacking]
    assert deciding_results([outside, failed, lacking, crashed]) == [failed, crashed]


def test_the_factors_of_a_group_are_those_that_its_cases_share() -> None:
    layouts = ("packed", "strided", "padded", "permuted")
    ids = [f"ADD/INT8/layout/A-{a}.B-{b}.Output-{a}" for a in layouts for b in layouts]

    def failing(*wrong: str) -> tuple[str, ...]:
        (group,) = groups([result(case, status=FAIL if any(word in case for word in wrong) else PASS) for case in ids])
        return group.factors

    assert failing("B-strided") == ("INT8", "B-strided")
    assert failing("B-strided", "B-padded") == ("INT8", "B-padded|strided")
    assert failing("A-strided.B-padded") == ("INT8", "A-strided", "B-padded", "Output-strided")
    assert failing("INT8") == ("INT8",)


def test_a_case_that_names_itself_in_its_message_has_the_form_of_the_others() -> None:
    one, other = (result(f"GEMM/FLOAT32/layout/{word}", f"GEMM/FLOAT32/layout/{word} crashed after 1,200 ms") for word in "ab")
    assert message_form(one) == message_form(other) == "… crashed after # ms"


def test_the_words_of_an_id_are_without_numbers_and_attributes() -> None:
    pooling = result("POOL/FLOAT32-UINT64/layout/single/Input-packed.Output-padded/Strides=1,1/N=2.C=3")
    assert words(pooling) == ("FLOAT32-UINT64", "single", "Input-packed", "Output-padded")
    assert words(result("POOL/INT8/4d/1x2x3", kind="table")) == ("INT8",)


def test_values_that_fail_are_named_among_those_tested() -> None:
    assert spread(["a", "b"], ["a", "b"]) == "all 2"
    assert spread(["b", "a"], "abc") == "a, b (of 3)"
    assert spread("abcdef", "abcdefgh") == "a, b, c and 3 more (of 8)"
    assert spread(["a"], ["a"]) == ""
