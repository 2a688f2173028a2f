"""The promises in a page's sentences: which properties are equal in which tensors, and what may alias what.

A sentence about equality is read only if every word of it is understood: names of tensors, terms for the three properties, and a few
connecting words. The machine-translated pages mix languages within a sentence ("los mismos *tamaños DataType,*
*DimensionCount* y"), so there is one vocabulary. To support another language, add its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.spec.pages.markdown import plain

LANGUAGES = ("en", "es", "it")
"""The languages of the words below."""

TENSOR = re.compile(r"\b[A-Z]\w*Tensors?\b")
"""A tensor's name: every tensor field of every operator ends like this."""

PROPERTIES = {  # in this order: a term for the dimension count contains one for sizes
    "DimensionCount": r"dimension ?counts?|(?:recuentos?|números?) de(?: las)? dimensiones|(?:conteggio|numero) (?:di |delle )?dimensioni",
    "DataType": r"data ?types?|tipos? de (?:datos|data ?type)|tip[oi] (?:di )?(?:dati|data ?type)",
    "Sizes": r"sizes?|tamaños?|dimensiones|dimensioni",
}
_SAME = re.compile(
    r"\b(?:same|match(?:es)?|equal|identical|mism[oa]s?|iguales|idéntic[oa]s|stess[oaie]|uguali|identic[oaie])\b", re.IGNORECASE
)
_JOINING = re.compile(
    r"\b(?:must|have|has|be|the|all|and|to|exactly|those|of|that|this|tensors?|also|as"
    r"|debe|deben|tener|ser|el|la|los|las|y|e|de|del"
    r"|deve|devono|avere|essere|il|lo|gli|le|i|l|ed|di|a)\b",
    re.IGNORECASE,
)
_EVERY_TENSOR = re.compile(  # "the input and output tensor", "il tensore di input e di output"
    r"\b(?:input|output)s? and (?:input|output)s? tensors?\b"
    r"|\btensor(?:es)? de (?:entrada|salida) y (?:de )?(?:entrada|salida)\b"
    r"|\btensor[ei] di (?:input|output) e (?:di )?(?:input|output)\b",
    re.IGNORECASE,
)
_ALTHOUGH = re.compile(r",?\s*\b(?:although|though|aunque|anche se|sebbene)\b.*", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except\w*|excepto|salvo|excepción|eccezione|tranne)\b", re.IGNORECASE)

_ALIAS = re.compile(r"\balias", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|cannot|can't|never|no (?:se )?(?:puede|admite|debe)|non)\b", re.IGNORECASE)
_AN_INPUT = re.compile(r"\b(?:input|entrada|ingresso)\b", re.IGNORECASE)
_AN_OUTPUT = re.compile(r"\b(?:output|salida|uscita)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\b(?:one or more|un[oa] o (?:varios|varias|más)|un[oa] o più)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SameRule:
    """A sentence's promise that a property is equal in ``tensors``; empty stands for every tensor of the operator."""

    property: str
    tensors: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class AliasRule:
    """A sentence's permission to alias during binding, or an exception to one.

    ``names`` are the tensors that it names; ``any_output`` and ``any_input`` say that it mentions outputs or inputs without naming
    them; ``several`` that one output may alias several inputs at once.
    """

    names: tuple[str, ...]
    any_output: bool
    any_input: bool
    several: bool
    exception: bool
    line: int


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph, without emphasis and links."""
    yield from (sentence for sentence in re.split(r"(?<=[.!?])\s+(?=[\w\"(¿])", plain(text)) if sentence)


def same_rules(sentence: str, line: int, subject: str = "") -> list[SameRule]:
    """The equality rules in a sentence, empty if it is not understood. ``subject`` is the field that the sentence describes."""
    if _EXCEPT.search(sentence):
        return []
    words = re.sub(r"\([^)]*\)", " ", _ALTHOUGH.sub("", sentence))
    every = bool(_EVERY_TENSOR.search(words))
    words = _EVERY_TENSOR.sub(" ", words)
    names = dict.fromkeys([subject] if subject else []) | dict.fromkeys(TENSOR.findall(words))
    properties, rest = _properties(words)
    understood = not re.search(r"\w", _JOINING.sub("", _SAME.sub("", rest)))
    if not (properties and _SAME.search(rest) and understood and (every or len(names) > 1)):
        return []
    return [SameRule(name, () if every else tuple(names), line) for name in properties]


def properties_in(sentence: str) -> tuple[str, ...]:
    """The properties that a sentence mentions, whether it is understood or not."""
    return _properties(sentence)[0]


def _properties(sentence: str) -> tuple[tuple[str, ...], str]:
    """The properties in a sentence, and the rest without them and the tensors' names."""
    found, rest = [], TENSOR.sub(" ", sentence)
    for name, terms in PROPERTIES.items():
        shorter = re.sub(rf"\b(?:{terms})\b", " ", rest, flags=re.IGNORECASE)
        found += [name] if shorter != rest else []
        rest = shorter
    return tuple(found), rest


def permits_aliasing(sentence: str) -> bool:
    """Whether a sentence permits aliasing, so that ``alias_rule`` must understand it. A sentence that denies it promises nothing."""
    return bool(_ALIAS.search(sentence)) and not _DENIED.search(sentence)


def alias_rule(sentence: str, line: int) -> AliasRule | None:
    """The rule in a sentence that permits aliasing, None if it is not understood."""
    names = tuple(dict.fromkeys(TENSOR.findall(sentence)))
    rest = TENSOR.sub(" ", sentence)
    any_output, any_input = bool(_AN_OUTPUT.search(rest)), bool(_AN_INPUT.search(rest))
    if not names and not (any_output and any_input):
        return None
    return AliasRule(names, any_output, any_input, bool(_SEVERAL.search(rest)), bool(_EXCEPT.search(rest)), line)
