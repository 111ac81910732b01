"""Text with numbers in it, from templates of this package."""

from __future__ import annotations

from functools import cache
from typing import Any

from polyceptron.utils.lazy import need


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, always, and that which typographers use."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def three_digits(value: float) -> str:
    """A number with three digits, or as many as it has before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2g} s"


@cache
def _templates() -> Any:
    jinja2 = need("jinja2", "the report", "report")
    environment = jinja2.Environment(
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.PackageLoader("polyceptron.paper", ""),
    )
    environment.filters |= {"signed": signed, "three_digits": three_digits, "duration": duration}
    return environment


def fill_words(name: str, **facts: Any) -> str:
    """A template filled with these facts, which are escaped in HTML alone."""
    text: str = _templates().get_template(name).render(facts)
    return text


def paragraphs(name: str, **facts: Any) -> list[str]:
    """The paragraphs of a filled template, each on one line."""
    parts = fill_words(name, **facts).split("\n\n")
    return [" ".join(part.split()) for part in parts if part.strip()]
