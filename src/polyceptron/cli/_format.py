"""Answers as lines of CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyceptron.rule import Decision


def quoted_field(text: str) -> bytes:
    """Return text as a field of CSV.

    Examples
    --------
    >>> quoted_field("red"), quoted_field('a "b", c')
    (b'red', b'"a ""b"", c"')
    """
    if any(character in text for character in ',"\r\n') or text != text.strip() or not text:
        text = '"' + text.replace('"', '""') + '"'
    return text.encode("utf-8")


class Formatter:
    """Turns answers into lines.

    Parameters
    ----------
    classes : list
        The labels, in order.
    explain : bool
        Whether lines say what decided.
    """

    def __init__(self, classes: list[Any], explain: bool) -> None:
        import numpy as np

        labels = [quoted_field(str(label)) for label in classes]
        self._labels = np.frombuffer(b"".join(labels), dtype=np.uint8)
        self._ends = np.cumsum([len(label) for label in labels])
        self._widest = max(map(len, labels))
        self._explain = explain
        self.header = b"prediction,score" + b",face,slack" * explain + b"\n"

    def __call__(self, answers: Decision) -> bytes:
        import numpy as np

        from polyceptron.cli._lines import WIDEST, put_lines

        n = len(answers.place)
        out = np.empty(n * (self._widest + 3 * WIDEST + 4), dtype=np.uint8)
        none = np.empty(0)
        face, slack = (answers.face, answers.slack) if self._explain else (none, none)
        length = put_lines(
            out,
            self._labels,
            self._ends,
            np.asarray(answers.place, dtype=np.int64),
            np.asarray(answers.score, dtype=np.float64),
            np.asarray(face, dtype=np.int64),
            np.asarray(slack, dtype=np.float64),
        )
        return out[:length].tobytes()
