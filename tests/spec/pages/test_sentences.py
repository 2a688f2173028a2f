"""Sentences of pages: which tensors must be the same in what, and which outputs may alias which inputs."""

from __future__ import annotations

import re

import pytest
from rendered_pages import render_page

from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import read_page
from dmlcts.spec.pages.sentences import alias_rule, permits_aliasing, same_rules
from dmlcts.spec.reading.loader import load


@pytest.mark.parametrize(
    ("sentence", "properties", "tensors"),
    [
        (
            "*ATensor*, *BTensor*, and `CTensor` must have the same *DataType* and *Sizes*.",
            "DataType Sizes",
            "ATensor BTensor CTensor",
        ),
        (
            "*ATensor,* *BTensor* y *CTensor* deben tener los mismos *tamaños DataType,* y *.*",
            "DataType Sizes",
            "ATensor BTensor CTensor",
        ),
        ("*ATensor* e *BTensor* devono avere lo stesso *tipo* di dati e *dimensioni*.", "DataType Sizes", "ATensor BTensor"),
        ("El tensor de entrada y salida debe tener los mismos *sizes,* aunque pueden diferir *en DataType.*", "Sizes", ""),
        ("Il tensore di input e di output deve avere lo stesso *DimensionCount*.", "DimensionCount", ""),
        ("The input and output tensors must have the same *Sizes*.", "Sizes", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* (always).", "Sizes", "ATensor BTensor"),
        ("*ATensor* and *BTensor* must have the same *Sizes*, except in the last dimension.", "", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* (except in the last dimension).", "", ""),
        ("*ATensor* and *BTensor* must not have the same *Sizes*.", "", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* if *Axis* is 0.", "", ""),
        ("*ATensor* must have the same *Sizes*.", "", ""),
        ("*ATensor* and *BTensor* must have the same meaning.", "", ""),
    ],
)
def test_what_sentences_say_is_the_same(sentence: str, properties: str, tensors: str) -> None:
    rules = same_rules(re.sub(r"[*`]", "", sentence), 7)
    assert sorted(rule.property for rule in rules) == sorted(properties.split())
    assert {rule.tensors for rule in rules} == ({tuple(tensors.split())} if properties else set())


def test_a_member_is_the_subject_of_its_description() -> None:
    (rule,) = same_rules("The Sizes of this tensor must match InputTensor.Sizes", 1, "OutputTensor")
    assert rule.tensors == ("OutputTensor", "InputTensor")


@pytest.mark.parametrize(
    ("sentence", "names", "any_output", "any_input", "several"),
    [
        ("The output tensor may alias one or more of the input tensors.", (), True, True, True),
        ("OutputTensor may alias one of the input tensors.", ("OutputTensor",), False, True, False),
        ("OutputTensor puede crear un alias de uno de los tensores de entrada.", ("OutputTensor",), False, True, False),
        ("Il tensore di output può essere l'alias di uno o più dei tensori di input.", (), True, True, True),
        ("OutputTensor puede usar InputTensor como alias.", ("OutputTensor", "InputTensor"), False, False, False),
    ],
)
def test_what_sentences_permit_to_alias(
    sentence: str, names: tuple[str, ...], any_output: bool, any_input: bool, several: bool
) -> None:
    rule = alias_rule(sentence, 1)
    assert rule is not None
    assert (rule.names, rule.any_output, rule.any_input, rule.several) == (names, any_output, any_input, several)


@pytest.mark.parametrize(
    "sentence", ["OutputTensor must not alias InputTensor.", "It uses antialiasing.", "OutputTensor is written."]
)
def test_what_permits_no_aliasing(sentence: str) -> None:
    assert not permits_aliasing(sentence)


def test_an_input_that_is_excepted_from_aliasing() -> None:
    op = load("ELEMENT_WISE_BIT_OR")
    general = "Each output tensor may alias an input tensor. With the exception of *BTensor*, all may be aliased so."
    text = re.sub(r".*may alias.*", general, render_page(op))
    (difference,) = compare(read_page(text), op)
    assert (difference.key, difference.page_says) == ("in-place", "OutputTensor may alias ATensor")
