"""What the parameters of Polyceptron may be, and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from polyceptron.learners._parameters import check_flag, check_inside, check_n_jobs, check_verbose
from polyceptron.learners.polyceptron.automatic import Faces
from polyceptron.learners.polyceptron.hyperplanes import Strength
from polyceptron.learners.polyceptron.knowledge import NAMES
from polyceptron.learners.polyceptron.selection import STRENGTHS
from polyceptron.learners.polyceptron.union_trials import (
    FIRST_FACES,
    FIRST_PIECES,
    ONE_FACES,
    Shape,
)
from polyceptron.optim.checkpoint import as_checkpoint
from polyceptron.utils.checks import as_count, as_real

if TYPE_CHECKING:
    from polyceptron.learners.polyceptron.learner import Polyceptron

USUAL_FACES, MOST_FACES = 16, 36
"""Of a union, where the caller gives no number."""
OF_ONE = ("margin", "penalty", "sampled")
"""Parameters that speak of one polyhedron."""


def is_auto(value: Any) -> bool:
    """Whether rows held out are to choose."""
    return isinstance(value, str) and value == "auto"


def number_or(value: Any, otherwise: int) -> int:
    """A number that is given, or that for "auto"."""
    return otherwise if is_auto(value) else int(value)


def allowed_faces(value: Any) -> Faces:
    """How many faces a union may keep: of "auto" more than usual where that is clearly better."""
    usual = number_or(value, USUAL_FACES)
    return Faces(usual, MOST_FACES if is_auto(value) else usual)


def possible_insides(inside: Any, classes: NDArray[Any]) -> list[int]:
    """The places of the classes of two that may be inside."""
    if is_auto(inside):
        return [0, 1]
    try:
        return [check_inside(inside, classes)]
    except ValueError as error:
        raise ValueError(_or("'auto'", error)) from None


def asked_shape(n_pieces: int, n_faces: int, most: int) -> Shape:
    """What a union begins with; 0 is a number that is not given."""
    if n_pieces > 1:
        return Shape(min(n_pieces, most), n_faces or FIRST_FACES, most)  # each has a face
    if n_pieces == 1:
        return Shape(1, max(n_faces, min(ONE_FACES, most)), n_faces or most)
    return Shape(FIRST_PIECES, FIRST_FACES, most)


def asked_strengths(margin: Any, penalty: Any) -> list[Strength]:
    """Those of online runs that are to be tried."""
    if not is_auto(margin):
        return [(float(margin), None if is_auto(penalty) else penalty)]
    if is_auto(penalty):
        return list(STRENGTHS)
    margins = [m for m, p in STRENGTHS if p is None] if penalty is None else [20.0]
    return [(m, penalty) for m in margins]


def check_parameters(model: Polyceptron) -> None:
    """Refuse what is wrong whatever the rows are."""
    _check_or_auto(model, "n_hyperplanes", as_count, "'auto'")
    if model.margin is not None:
        _check_or_auto(model, "margin", as_real, "None, 'auto'")
    elif model.penalty is None or (model.sampled and not is_auto(model.sampled)):
        raise ValueError(
            "margin=None needs a penalty, and samples need online runs: with it penalty must "
            f"be a number or 'auto' and sampled False or 'auto'; got {model.penalty!r} and "
            f"{model.sampled!r}"
        )
    if model.penalty is not None:
        _check_or_auto(model, "penalty", as_real, "None, 'auto'")
    check_flag("sampled", model.sampled, "auto")
    _check_or_auto(model, "n_polyhedra", as_count, "'auto'")
    if number_or(model.n_polyhedra, 1) > 1:
        _check_auto(model, OF_ONE, f"one polyhedron: with n_polyhedra={model.n_polyhedra!r}")
    _check_or_auto(model, "max_faces", as_count, "'auto'")
    for name in ("n_init", "max_iter"):
        as_count(getattr(model, name), name)
    check_n_jobs(model.n_jobs)
    check_verbose(model.verbose)
    check_flag("standardize", model.standardize)
    as_checkpoint(model.checkpoint)
    for name in ("digits", "max_terms"):
        if getattr(model, name) is not None:
            _check_or_auto(model, name, as_count, "None, 'auto'")
    _check_within(model)


def _check_within(model: Polyceptron) -> None:
    """Refuse parameters of other ways to learn, where terms are few or something is known."""
    names = [name for name in ("max_terms", *NAMES) if getattr(model, name) is not None]
    if names:
        _check_auto(model, ("margin", "sampled"), f"faces without limits: with {names[0]}")
        if model.penalty is None:
            raise ValueError(f"with {names[0]}, penalty must be a number or 'auto'; got None")


def _check_auto(model: Polyceptron, names: tuple[str, ...], what: str) -> None:
    """Refuse parameters that are for something else."""
    for name in names:
        if not is_auto(value := getattr(model, name)):
            raise ValueError(f"{name} is for {what} it must be 'auto'; got {value!r}")


def _check_or_auto(model: Polyceptron, name: str, check: Any, words: str) -> None:
    if not is_auto(getattr(model, name)):
        try:
            check(getattr(model, name), name)
        except ValueError as error:
            raise ValueError(_or(words, error)) from None


def _or(words: str, error: ValueError) -> str:
    """The message of an error with what else is allowed."""
    return str(error).replace("must be ", f"must be {words} or ", 1)
