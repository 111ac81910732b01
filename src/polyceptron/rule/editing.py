"""Rules that people change by hand: face by face, with what it does to rows, and a record of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from polyceptron.calibration import calibrated
from polyceptron.inequalities import parse_inequality
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, show_label
from polyceptron.rule._answers import scores_of_classes
from polyceptron.scoring import check_finite_rows
from polyceptron.utils.checks import as_count, as_floats
from polyceptron.utils.text import (
    MOST_SHORT,
    count_digits,
    inequality,
    printable,
    printed_face,
    quoted_names,
    two_sides,
)
from polyceptron.utils.types import Floats, Indices

FaceName = int | str | tuple[Any, int]
"""A face as it is printed: its number, where there are several pieces (piece, number) or "2/0"."""


MOST_WHY = 10_000
"""Characters of the reason of an edit."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was done to a rule, when and why.

    Attributes
    ----------
    what : str
        "drop", "move", "replace", "round", "lock", "unlock", "calibrate", or "refit": the other
        faces were learned again.
    face : str
        As it was printed then: its number, after that of its piece, or its class, and a slash. Of
        "refit" those that stayed, with commas, as they are numbered since.
    before, after : str
        The inequality; empty where there is none. Of "refit" those that stayed, with semicolons.
    when : str
        In UTC, as 2026-01-31T12:00:00Z.
    why : str
        What the user said of it, in at most 10,000 characters.
    """

    what: Literal["drop", "move", "replace", "round", "lock", "unlock", "calibrate", "refit"]
    face: str = ""
    before: str = ""
    after: str = ""
    when: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    why: Annotated[str, Meta(max_length=MOST_WHY)] = ""

    def __str__(self) -> str:
        if self.what == "refit":
            which = f"face{'s' * (',' in self.face)} {self.face}: {self.after}"
            return f"refit, but for {which}{f' ({printable(self.why)})' if self.why else ''}"
        which = f" face {self.face}: {self.before}" if self.face else ""
        became = f" -> {self.after}" if self.after else ""
        return f"{self.what}{which}{became}{f' ({printable(self.why)})' if self.why else ''}"


class Change(NamedTuple):
    """What becomes of some rows where one rule takes the place of another.

    ``switched`` has the numbers, from 0, of the rows that are answered otherwise. ``before`` and
    ``after`` are confusion matrices, a line for each class of the rows and a column for each
    answer; None where the classes are not known.
    """

    labels: list[Any]
    n_rows: int
    switched: Indices
    before: NDArray[np.intp] | None = None
    after: NDArray[np.intp] | None = None

    @classmethod
    def between(cls, old: Rule, new: Rule, X: Any, places: Indices | None = None) -> Change:
        """What changes from one rule to another of the same classes; these are at `places`."""
        answers = old.decide(X).place, new.decide(X).place
        switched, C = np.flatnonzero(answers[0] != answers[1]), len(old.classes)
        matrices = () if places is None else (
            np.bincount(C * places + one, minlength=C**2).reshape(C, C) for one in answers
        )  # fmt: skip
        return cls(old.labels, len(answers[0]), switched, *matrices)

    def __str__(self) -> str:
        text = f"{len(self.switched)} of {self.n_rows} rows switch."
        if self.before is None or self.after is None:
            return text
        right = f"{self.before.trace()} were answered right, {self.after.trace()} are now."
        names = list(map(show_label, self.labels))
        lines = [["class \\ answer", *names]]
        for name, old, new in zip(names, self.before.tolist(), self.after.tolist(), strict=True):
            pairs = zip(old, new, strict=True)
            lines.append([name, *(str(a) if a == b else f"{a} -> {b}" for a, b in pairs)])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join([f"{text} {right}", *table])


@dataclass(frozen=True)
class Editing:
    r"""A rule to be changed by hand; every change gives a new one of these.

    Faces are numbered as ``print(rule)`` numbers them: ``2``. Where there are several pieces, it is
    ``(1, 2)`` or ``"1/2"``, face 2 of piece 1; where each class has one piece, so that pieces have
    no numbers, ``("setosa", 2)``. Each method takes ``why``, which is kept in ``rule.edits`` and in
    the model file. In a tree all leaves that share a face change with it.

    Probabilities are those of the scores before, as a new face is made about as large as the old
    one, until `calibrate` finds them again.

    Attributes
    ----------
    rule : Rule
        The rule as it is now.
    before : Rule
        The rule before the last change.
    change : Change
        What that did to the rows.

    Examples
    --------
    >>> from polyceptron import Polyhedron, Rule
    >>> box = Polyhedron([[1, 0], [-1, 0], [0, 1]], [-18, 65, -2], ["age", "dose"])
    >>> rule = Rule.inside(["no", "yes"], 1, box)
    >>> rows, labels = [[20, 3], [70, 3], [30, 1]], ["yes", "yes", "no"]
    >>> step = rule.edit(rows, labels).move(1, to=72, why="the trial was extended")
    >>> print(step.rule)
    yes if all 3 hold:
      face 0: age >= 18
      face 1: age <= 72
      face 2: dose >= 2
    Otherwise no.
    >>> print(step.change)
    1 of 3 rows switch. 2 were answered right, 3 are now.
    class \ answer  no      yes
    no              1       0
    yes             1 -> 0  1 -> 2
    >>> step.change.switched
    array([1])
    >>> print(step.replace(2, "2*dose - age >= -40").lock(0).drop(1).rule.edits[-1])
    drop face 1: age <= 72
    """

    rule: Rule
    before: Rule
    rows: Any = field(default=None, repr=False)
    places: Indices | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rule: Rule, X: Any = None, y: Any = None) -> Editing:
        """The beginning; see `Rule.edit`."""
        if X is None:
            if y is not None:
                raise ValueError("X must be given with y")
            return cls(rule, rule)
        rows, places = rule._rows(X), None
        check_finite_rows(rows, rule.feature_names)
        if rows.shape[0] == 0:
            raise ValueError("X must have at least one row; got none")
        if y is not None:
            labels, codes = np.unique(np.asarray(y), return_inverse=True)
            places = rule.places_of(labels)[codes]
            if places.shape != (rows.shape[0],):
                raise ValueError(f"y must have {rows.shape[0]} labels; got shape {places.shape}")
        return cls(rule, rule, rows, places)

    @cached_property
    def change(self) -> Change:
        """What the last change did to the rows that were given to `Rule.edit`."""
        if self.rows is None:
            raise ValueError("rows are needed to see what changes: rule.edit(X, y)")
        return Change.between(self.before, self.rule, self.rows, self.places)

    @cached_property
    def addresses(self) -> dict[str, tuple[int, int]]:
        """What each face is called, and its place: piece and face, both from 0."""
        found: dict[str, tuple[int, int]] = {}
        for p, (polyhedron, place, _) in enumerate(self.rule.pieces):
            name = f"{p + 1}/" if self.rule.which(p) else f"{self.rule.labels[place]}/"
            name = name if len(self.rule.pieces) > 1 else ""
            found |= {f"{name}{k}": (p, k) for k in range(polyhedron.n_faces)}
        return found

    def drop(self, face: FaceName, *, why: str = "") -> Editing:
        """Without a face; a piece keeps at least one."""
        name, (p, k) = self._unlocked(face)
        one = self.rule.pieces[p].polyhedron
        if self.rule.is_partition:
            raise ValueError(
                f"face {name} is a test of a tree, which cannot do without it: replace it instead"
            )
        if one.n_faces == 1:
            raise ValueError(
                f"face {name} is the last one, and without it every row would be inside: replace "
                "it, or learn with fewer polyhedra"
            )
        rest = Polyhedron(np.delete(one.W, k, 0), np.delete(one.b, k), one.feature_names)
        pieces = list(self.rule.pieces)
        pieces[p] = pieces[p]._replace(polyhedron=rest)
        locked = tuple((q, j - (q == p and j > k)) for q, j in self.rule.locked)
        new = replace(self.rule, pieces=tuple(pieces), locked=locked)
        return self._next(new, "drop", name, why, inequality_at(self.rule, p, k))

    def move(
        self, face: FaceName, *, by: float | None = None, to: float | None = None, why: str = ""
    ) -> Editing:
        """A face whose text has another number on its right side: this one, or more by so much."""
        name, (p, k) = self._unlocked(face)
        if (by is None) == (to is None):
            raise ValueError("move takes one of by= and to=")
        one = self.rule.pieces[p].polyhedron
        w, b, e = printed_face(one.W[k], float(one.b[k]))
        upper = two_sides(w, b, self.rule.names, str)[1] == "<="
        number = _checked_number(by if to is None else to, "by" if to is None else "to")
        if to is None:  # in decimals: 0.1 and 0.2 are 0.3
            number = float(Decimal(repr(b if upper else -b)) + Decimal(repr(number)))
        with np.errstate(over="ignore", under="ignore"):
            moved = float(np.ldexp(number if upper else -number, e))
        return self._with_face("move", name, (p, k), one.W[k], moved, why)

    def replace(self, face: FaceName, new: Any, *, why: str = "") -> Editing:
        """A face replaced by text such as "2*age - bmi >= 14", or by w and b of w . x + b >= 0."""
        name, (p, k) = self._unlocked(face)
        if isinstance(new, str):
            w, b = parse_inequality(new, self.rule.names)
        else:
            try:
                w, b = as_floats(new[0], "w"), _checked_number(new[1], "b")
            except (TypeError, LookupError):
                raise ValueError(f"new must be text or a pair (w, b); got {new!r:.60}") from None
        if w.shape != (self.rule.n_features,):
            raise ValueError(f"w must have {self.rule.n_features} numbers; got shape {w.shape}")
        Polyhedron([w], [b])  # which refuses what is no face
        like = self.rule.pieces[p].polyhedron.W[k]
        return self._with_face("replace", name, (p, k), *_as_large(w, b, like), why)

    def round(self, face: FaceName, digits: int, *, why: str = "") -> Editing:
        """A face whose numbers have so many significant digits."""
        name, (p, k) = self._unlocked(face)
        one = self.rule.pieces[p].polyhedron
        short = Polyhedron(one.W[[k]], one.b[[k]]).rounded(as_count(digits, "digits"))
        return self._with_face("round", name, (p, k), short.W[0], float(short.b[0]), why)

    def lock(self, face: FaceName, *, why: str = "") -> Editing:
        """A face that refuses to be changed."""
        name, at = self._find(face)
        if at in self.rule.locked:
            raise ValueError(f"face {name} is locked already")
        new = replace(self.rule, locked=(*self.rule.locked, at))
        return self._next(new, "lock", name, why, inequality_at(self.rule, *at))

    def unlock(self, face: FaceName, *, why: str = "") -> Editing:
        """A face that can be changed again."""
        name, at = self._find(face)
        locked = tuple(one for one in self.rule.locked if one not in self._same(at))
        if locked == self.rule.locked:
            raise ValueError(f"face {name} is not locked")
        new = replace(self.rule, locked=locked)
        return self._next(new, "unlock", name, why, inequality_at(self.rule, *at))

    def calibrate(self, *, why: str = "") -> Editing:
        """Probabilities found again from the labelled rows: best of others than learned from."""
        if self.places is None:
            raise ValueError("labelled rows are needed to calibrate: rule.edit(X, y)")
        if not self.rule.links:
            raise ValueError("this rule has no probabilities that come from scores")
        best = scores_of_classes(self.rule, self.rule.scores(self.rows))
        links = list(self.rule.links)
        for place, link in enumerate(links):
            if link is not None:
                ones = np.ones(len(best))
                links[place] = calibrated(best[:, place], self.places == place, ones)
        return self._next(replace(self.rule, links=tuple(links)), "calibrate", "", why)

    def _find(self, face: FaceName) -> tuple[str, tuple[int, int]]:
        """What a face is called, and its place."""
        name = face_name(face)
        if self.rule.is_partition and len(self.rule.pieces) == 1:
            raise ValueError("this tree has one leaf and no face")
        if name not in self.addresses:
            known = quoted_names(list(self.addresses))
            raise ValueError(f"face must be one of {known}, as it is printed; got {name!r:.60}")
        return name, self.addresses[name]

    def _unlocked(self, face: FaceName) -> tuple[str, tuple[int, int]]:
        name, at = self._find(face)
        if not self._same(at).keys().isdisjoint(self.rule.locked):
            raise ValueError(f"face {name} is locked: unlock it before it is changed")
        return name, at

    def _same(self, at: tuple[int, int]) -> dict[tuple[int, int], float]:
        """Where a face is, and -1.0 where its other side is: once, but in the leaves of a tree."""
        if not self.rule.is_partition:
            return {at: 1.0}
        numbers = self.rule.faces[1]
        own = numbers[at[0]][at[1]]
        places = ((p, k, n) for p, line in enumerate(numbers) for k, n in enumerate(line))
        return {(p, k): 1.0 if n == own else -1.0 for p, k, n in places if abs(n) == abs(own)}

    def _with_face(
        self, what: str, name: str, at: tuple[int, int], w: Floats, b: float, why: str
    ) -> Editing:
        pieces = list(self.rule.pieces)
        for (p, k), sign in self._same(at).items():
            W, offsets = (array.copy() for array in (pieces[p][0].W, pieces[p][0].b))
            W[k], offsets[k] = sign * w, sign * b
            polyhedron = Polyhedron(W, offsets, self.rule.feature_names)
            pieces[p] = pieces[p]._replace(polyhedron=polyhedron)
        new = replace(self.rule, pieces=tuple(pieces))
        text = inequality(w, b, self.rule.names)
        return self._next(new, what, name, why, inequality_at(self.rule, *at), text)

    def refitted(self, new: Rule, *, why: str = "") -> Editing:
        """A rule that was learned again, but for the faces that are locked in it."""
        kept = {name: at for name, at in replace(self, rule=new).addresses.items()
                if at in new.locked}  # fmt: skip
        texts = [inequality_at(new, *at) for at in kept.values()]
        new = replace(new, edits=self.rule.edits)
        # Of the pieces of a union each has them.
        after = "; ".join(dict.fromkeys(texts))
        return self._next(new, "refit", ", ".join(kept), why, "", after)

    def _next(self, new: Rule, what: Any, face: str, why: str, *texts: str) -> Editing:
        why = str(why or "")
        if len(why) > MOST_WHY:
            raise ValueError(f"why has {len(why):,} characters; it may have {MOST_WHY:,}")
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        named = dict(zip(("before", "after"), texts, strict=False))
        edit = Edit(what=what, face=face, when=when, why=why, **named)
        new = replace(new, edits=(*new.edits, edit))
        return replace(self, rule=new, before=self.rule)


def face_name(face: FaceName) -> str:
    """A face as it is printed, however it was said."""
    return "/".join(map(str, face)) if isinstance(face, tuple) else str(face)


def inequality_at(rule: Rule, p: int, k: int) -> str:
    """The text of face k of piece p."""
    one = rule.pieces[p].polyhedron
    return inequality(one.W[k], float(one.b[k]), rule.names)


def _checked_number(value: Any, name: str) -> float:
    number = as_floats(value, name)
    if number.shape != () or not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {value!r:.60}")
    return float(number)


def _as_large(w: Floats, b: float, like: Floats) -> tuple[Floats, float]:
    """The same inequality times a power of two, so that w is about as long as another normal.

    Then scores of faces can be compared as before. Decimals may become whole numbers, of which text
    leaves out powers of two. What is as large already, or has long numbers, stays as it is.
    """
    is_long = any(count_digits(c) > MOST_SHORT for c in [*w.tolist(), b])
    if is_long or abs(round(_log2_length(like) - _log2_length(w))) <= 1:
        return w, b
    places = max(-int(Decimal(repr(c)).normalize().as_tuple().exponent) for c in w.tolist())
    sized = []
    for factor in (Decimal(1), Decimal(10) ** min(max(places, 0), MOST_SHORT)):
        face = np.array([float(Decimal(repr(c)) * factor) for c in [*w.tolist(), b]])
        best = round(_log2_length(like) - _log2_length(face[:-1]))
        with np.errstate(over="ignore", under="ignore"):
            sized += [np.ldexp(face, best + near) for near in (0, 1, -1, 2, -2)]
    found = min(sized, key=_text_length)
    is_short = _text_length(found)[0] <= MOST_SHORT * len(found)
    return (found[:-1], float(found[-1])) if is_short else (w, b)


def _text_length(face: Floats) -> tuple[float, float]:
    """Digits of the text of a face [w, b], and how large its numbers are."""
    if not np.isfinite(face).all():
        return math.inf, math.inf
    w, b, _ = printed_face(face[:-1], float(face[-1]))
    return sum(map(count_digits, [*w.tolist(), b])), float(np.abs(w).sum())


def _log2_length(w: Floats) -> float:
    """Of the normal, which may be longer than numbers can be."""
    most = float(np.abs(w).max())
    return math.log2(most) + math.log2(float(np.linalg.norm(w / most)))
