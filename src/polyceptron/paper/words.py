"""Sentences with numbers in them, from templates."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def paragraphs(name: str, **facts: Any) -> list[str]:
    """The paragraphs of a template of this package filled with these facts, each on one line."""
    import jinja2

    source = files("polyceptron.paper").joinpath(name).read_text("utf-8")
    text = jinja2.Template(source, trim_blocks=True).render(facts)
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
