"""Pages of one look: templates, and what they need of texts: links between operators, prose, levels as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dmlcts.reports.record.verdict import count_of
from dmlcts.spec.model.abi import level_text


def render_page(template: str, **values: object) -> str:
    """A page of this site's look: a template with these values."""
    return _environment().get_template(template).render(**{"navigation": (), "here": "", **values})


def link_names(text: str, itself: str, names: Mapping[str, str]) -> Markup:
    """Text in which the names of other operators are links to their pages, and feature levels are as people write them."""
    words = _LEVEL.sub(r"\1.\2", escape(text)).split(" ")
    for place, word in enumerate(words):
        name = word.strip(".,:;()[]{}'")
        if name != itself and name in names:
            words[place] = word.replace(name, f'<a href="{names[name]}">{name}</a>')
    return Markup(" ".join(words))  # noqa: S704 - escaped above


_LEVEL = re.compile(r"(?<=level )([1-9])_([0-9])\b")


def _prose(text: str) -> Markup:
    """A docstring as paragraphs, with what stands in double backticks as code."""
    paragraphs = re.sub(r"``(.+?)``", r"<code>\1</code>", escape(text), flags=re.DOTALL).split("\n\n")
    return Markup("".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs))  # noqa: S704 - escaped above


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = Markup(_template("style.css") + _template("site/site.css"))  # noqa: S704 - ours
    environment.globals["filter_script"] = Markup(_template("site/filter.js"))  # noqa: S704 - ours
    environment.filters["hash"] = lambda text: quote(text, safe="/.")
    environment.filters["prose"] = _prose
    environment.filters["dotted"] = lambda level: level_text(str(level))
    environment.globals["count_of"] = count_of
    return environment


def _template(name: str) -> str:
    return (files("dmlcts.reports") / "templates" / name).read_text(encoding="utf-8")
