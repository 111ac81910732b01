"""From rows to answers: scores of pieces, the piece that decides, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.polyhedron import Polyhedron
from polyceptron.rule._tree import leaf_of_rows
from polyceptron.scoring import least_margins, rows_for_kernels, scores
from polyceptron.utils.text import printed_faces
from polyceptron.utils.types import Floats, Indices

if TYPE_CHECKING:
    from polyceptron.rule._rule import Rule


class Decision(NamedTuple):
    """The answers to some rows, and what they rest on: an array each.

    ``place`` is that of the class among the classes of the rule. ``piece`` decides: it is the best
    one where none contains the row, or where all are of one class. ``score`` is that of
    `Rule.decision_function`, of several columns that of the answer; in a leaf, its share. If they
    were asked for, ``face`` is that of least margin, ``slack`` how much that is in the numbers of
    its text, and ``probabilities`` are those of `Rule.predict_proba`.
    """

    place: Indices
    piece: Indices
    score: Floats
    face: Indices | None = None
    slack: Floats | None = None
    probabilities: Floats | None = None


def features_of(rule: Rule, X: Any) -> Any:
    """The features of the rows of a table, by the encoding of the rule."""
    if rule.encoding is None or X is None:
        return X
    names, attributes = rule.encoding.names, ("column_names", "columns", "keys")
    named = next((getattr(X, name) for name in attributes if hasattr(X, name)), None)
    if named is not None:
        there = {*(named() if callable(named) else named)}
        return rule.encoding.transform(X) if there.issuperset(names) else X
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        return X
    numbers = set(rule.encoding.kinds[0])
    return rule.encoding.transform(
        {
            name: values.astype(float) if name in numbers else values
            for name, values in zip(names, array.T, strict=True)
        }
    )


def rows_of(rule: Rule, X: Any) -> Any:
    """The rows as the kernels take them: validated arrays as they are."""
    return rows_for_kernels(features_of(rule, X), rule.n_features, rule.feature_names)


def scores_of_pieces(rule: Rule, rows: Any, n_jobs: int | None) -> Floats:
    """h(x) of every row by every piece."""
    return np.column_stack([_least_scores(rows, piece.polyhedron, n_jobs) for piece in rule.pieces])


def decided(
    rule: Rule, rows: Any, n_jobs: int | None, *, faces: bool, probabilities: bool
) -> Decision:
    """The answers to rows, whose scores are computed once."""
    if _is_routed(rule):
        piece = leaf_of_rows(rule, rows)
        h = np.zeros((len(piece), 0))
        decision = _by_piece(rule, piece, np.zeros(len(piece)))
    else:
        h = scores_of_pieces(rule, rows, n_jobs)
        decision = decided_by_scores(rule, h)
    if probabilities:
        found = _probabilities(rule, decision.piece, h)
        decision = decision._replace(probabilities=found)
    return _with_faces(rule, rows, decision) if faces else decision


def decided_by_scores(rule: Rule, h: Floats) -> Decision:
    """The answers to rows of which the scores of all pieces are known."""
    if not rule.is_most_probable:
        return _by_piece(rule, *_deciding(rule, h))
    odds, places = log_odds_of_classes(rule, h), _places_of_pieces(rule)
    place = odds.argmax(axis=1)
    piece = np.where(places == place[:, None], h, -np.inf).argmax(axis=1)
    return Decision(place, piece, odds.max(axis=1))


def signed_scores(rule: Rule, rows: Any, n_jobs: int | None) -> Floats:
    """The scores of `Rule.decision_function`."""
    if rule.inside_place is not None and len(rule.classes) == 2:
        return _signed(rule, scores_of_pieces(rule, rows, n_jobs).max(axis=1))
    h = scores_of_pieces(rule, rows, n_jobs)
    return log_odds_of_classes(rule, h) if rule.links else scores_of_classes(rule, h)


def predicted(rule: Rule, X: Any, n_jobs: int | None) -> NDArray[Any]:
    """The labels of rows."""
    rows, inside, outside = rows_of(rule, X), rule.inside_place, rule.otherwise
    if inside is None or outside is None or len(rule.pieces) > 1:
        decision = decided(rule, rows, n_jobs, faces=False, probabilities=False)
        return np.asarray(rule.classes[decision.place])
    one = rule.pieces[0].polyhedron
    # Block by block, without an array of scores: that would take a quarter of the time.
    labels = rule.classes[[outside, inside]]
    found, finite = least_margins(rows, one.W, one.b, n_jobs, labels)
    return found if finite else labels[one.contains(rows).astype(np.intp)]


def probabilities_of_rows(rule: Rule, rows: Any, n_jobs: int | None) -> Floats:
    """The probability of each class."""
    if _is_routed(rule):
        return _probabilities(rule, leaf_of_rows(rule, rows), np.zeros((0, 0)))
    h = scores_of_pieces(rule, rows, n_jobs)
    piece = np.zeros(0, np.intp) if rule.links else _deciding(rule, h)[0]
    return _probabilities(rule, piece, h)


def log_probabilities(rule: Rule, rows: Any, n_jobs: int | None) -> Floats:
    """Their logarithms, exact where the link allows it."""
    if rule.links:
        h = scores_of_pieces(rule, rows, n_jobs)
        return _log_shares(rule, h) if rule.inside_place is None else _linked(rule, h, "logarithms")
    with np.errstate(divide="ignore"):
        return np.log(probabilities_of_rows(rule, rows, n_jobs))


def scores_of_classes(rule: Rule, h: Floats) -> Floats:
    """The score of the best piece of each class; minus infinity for a class without any."""
    found = np.full((len(h), len(rule.classes)), -np.inf)
    for column, piece in zip(h.T, rule.pieces, strict=True):
        np.maximum(found[:, piece.place], column, out=found[:, piece.place])
    return found


def log_odds_of_classes(rule: Rule, h: Floats) -> Floats:
    """Those of each class by its own pieces."""
    pairs = zip(scores_of_classes(rule, h).T, rule.links, strict=True)
    return np.column_stack([link.log_odds(best) for best, link in pairs if link is not None])


def _probabilities(rule: Rule, piece: Indices, h: Floats) -> Floats:
    """Those of rows of which the deciding pieces or the scores are known."""
    if not rule.links:
        return np.asarray(np.array([one.shares for one in rule.pieces])[piece])
    return np.exp(_log_shares(rule, h)) if rule.inside_place is None else _linked(rule, h, "both")


def _log_shares(rule: Rule, h: Floats) -> Floats:
    """Of each class its logarithm by its own link, less what makes their sum one."""
    pairs = zip(scores_of_classes(rule, h).T, rule.links, strict=True)
    each = np.column_stack([link.logarithms(one)[1] for one, link in pairs if link is not None])
    return np.asarray(each - np.logaddexp.reduce(each, axis=1, keepdims=True))


def _linked(rule: Rule, h: Floats, what: str) -> Floats:
    """What the link says of both classes, in their order."""
    both = getattr(rule.links[rule.inside_place or 0], what)(h.max(axis=1))
    return np.column_stack(both if rule.inside_place == 1 else both[::-1])


def _is_routed(rule: Rule) -> bool:
    """Whether rows go through a tree, so that not all pieces need to be scored."""
    return bool(rule.pieces[0].shares and rule.splits)


def _deciding(rule: Rule, h: Floats) -> tuple[Indices, Floats]:
    """The piece that decides, by the scores of all, and its own."""
    if len(rule.pieces) == 1:
        return np.zeros(len(h), np.intp), h[:, 0]
    first = h if rule.inside_place is not None else np.where(h >= 0, np.inf, h)
    piece = first.argmax(axis=1)
    return piece, h[np.arange(len(h)), piece]


def _by_piece(rule: Rule, piece: Indices, score: Floats) -> Decision:
    """The answers of the pieces that they rest on."""
    place = _places_of_pieces(rule)[piece]
    if rule.otherwise is not None:
        place = np.where(score >= 0, place, rule.otherwise)
        score = _signed(rule, score)
    elif rule.pieces[0].shares:
        score = np.array([one.shares[one.place] for one in rule.pieces])[piece]
    return Decision(place, piece, score)


def _places_of_pieces(rule: Rule) -> Indices:
    return np.array([one.place for one in rule.pieces], np.intp)


def _signed(rule: Rule, h: Floats) -> Floats:
    """H with the sign that the second of two classes is positive."""
    return -h if len(rule.classes) == 2 and rule.otherwise == 1 else h


def _with_faces(rule: Rule, rows: Any, decision: Decision) -> Decision:
    face = np.zeros(len(decision.place), np.intp)
    slack = np.zeros(len(decision.place))
    for number in np.unique(decision.piece):
        here = np.flatnonzero(decision.piece == number)
        part = rule.pieces[number].polyhedron
        margins = scores(rows[here], part.W, part.b)
        face[here] = margins.argmin(axis=1)
        if number not in rule._exponents:
            rule._exponents[number] = printed_faces(part.W, part.b)[2]
        slack[here] = np.ldexp(margins.min(axis=1), -rule._exponents[number][face[here]])
    return decision._replace(face=face, slack=slack)


def _least_scores(rows: Any, polyhedron: Polyhedron, n_jobs: int | None) -> Floats:
    """h(x) of every row by one polyhedron."""
    h, finite = least_margins(rows, polyhedron.W, polyhedron.b, n_jobs)
    return h if finite else polyhedron.decision(rows)  # which mends overflow
