"""Rules as HTML for notebooks: names and labels from data are text there, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from polyceptron.utils.palette import PAPER, colour_of, ink_on

_MOST_FACES = 100
_LONGEST = 1000
"""Characters of an inequality or a sentence: of more, a page shows so many."""

# It holds on light and dark pages, whose own colours of text and ground it leaves as they are.
_STYLE = """
.polyceptron-rule { margin: .5em 0; max-width: 100%; font-size: 13px; line-height: 1.5; }
.polyceptron-rule table { border-collapse: collapse; margin: 0; background: none; color: inherit; }
.polyceptron-rule tr, .polyceptron-rule tr:hover { background: none; }
.polyceptron-rule :is(th, td) { padding: .2em .6em .2em 0; border: 0; text-align: left;
  vertical-align: top; color: inherit; background: none; }
.polyceptron-rule td { border-top: 1px solid rgba(128, 128, 128, .35); }
.polyceptron-rule th { padding-top: .5em; overflow-wrap: anywhere; }
.polyceptron-rule code { display: block; max-height: 9em; overflow-y: auto; padding: 0;
  white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal; color: inherit;
  background: none; }
.polyceptron-rule :is(p, details) { margin: .4em 0; overflow-wrap: anywhere; }
.polyceptron-rule .face { display: inline-block; min-width: 1.5em; padding: 0 .2em;
  border: 1px solid #222; border-radius: 1em; text-align: center; line-height: 1.4; }
.polyceptron-rule .class { display: inline-block; width: .8em; height: .8em; margin-right: .5em;
  border: 1px solid #222; }
"""


class FaceGroup(NamedTuple):
    """The faces of one piece as text; several pieces have a heading each, and a colour."""

    faces: Sequence[str]
    heading: str = ""
    colour: str = ""


def rules_html(
    groups: Iterable[FaceGroup], remarks: Sequence[str] = (), details: Sequence[str] = ()
) -> str:
    """Return a table of rules, sentences below it, and others that open on a click.

    A face has the colour that pictures give it: its own, or where pieces have colours, none. What
    is too much for a page, `print` shows.
    """
    rows, shown, n_faces = [], 0, 0
    for group in groups:
        n_faces += len(group.faces)
        faces = group.faces[: max(0, _MOST_FACES - shown)]
        shown += len(faces)
        if faces and group.heading:
            swatch = f'<span class="class" style="background:{group.colour}"></span>'
            mark = swatch if group.colour else ""
            rows.append(f'<tr><th colspan="2">{mark}{_escaped_short(group.heading)}</th></tr>')
        rows += [_row_of_face(k, face, coloured=not group.colour) for k, face in enumerate(faces)]
    if shown < n_faces:
        remarks = [f"{n_faces - shown} more faces are not shown here: print shows all.", *remarks]
    told = _paragraphs(remarks)
    if details:
        told += (
            f"<details><summary>{_escaped_short(details[0])}</summary>{_paragraphs(details[1:])}"
        )
        told += "</details>"
    table = f"<table><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="polyceptron-rule"><style>{_STYLE}</style>{table}{told}</div>'


def _row_of_face(k: int, face: str, *, coloured: bool) -> str:
    ground = colour_of(k) if coloured else PAPER
    look = f"background:{ground};color:{ink_on(ground)}"
    mark = f'<span class="face" style="{look}">{k}</span>'
    return f"<tr><td>{mark}</td><td><code>{_escaped_short(face)}</code></td></tr>"


def _paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{_escaped_short(sentence)}</p>" for sentence in sentences)


def _escaped_short(text: str) -> str:
    return escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")
