"""Text with numbers in it, from templates of this package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def fill_words(name: str, **facts: Any) -> str:
    """A template filled with these facts, which are not escaped."""
    import jinja2

    source = files("polyceptron.paper").joinpath(name).read_text("utf-8")
    text: str = jinja2.Template(source, trim_blocks=True, keep_trailing_newline=True).render(facts)
    return text


def paragraphs(name: str, **facts: Any) -> list[str]:
    """The paragraphs of a filled template, each on one line."""
    parts = fill_words(name, **facts).split("\n\n")
    return [" ".join(part.split()) for part in parts if part.strip()]
