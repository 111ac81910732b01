"""Which union of faces within limits: how many terms and faces, by rows held out."""

from __future__ import annotations

import math
from itertools import product
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.few_terms import FaceLimits, SparseFit, thin_path
from polyceptron.learners.polyceptron.hyperplanes import Setting, in_sign
from polyceptron.learners.polyceptron.selection import (
    MANY_ROWS,
    FoldTrials,
    TrialOutcome,
    mean_and_error,
    stratified_rows,
)
from polyceptron.learners.polyceptron.union import Union, without_idle_faces
from polyceptron.learners.polyceptron.union_trials import Shape, of_size
from polyceptron.optim.checkpoint import Form
from polyceptron.utils.types import Floats

_SIZES = (1, 2, 3, 4, 6, 10, 16)
"""Numbers of faces that are tried, up to the most that there may be.

Fewer than the LADDER of `selection`: these are fitted in every fold, for every number of terms and
penalty.
"""
_TERMS = (1, 2, 3, 5, 8)
"""Terms of a face that are tried where none are given."""
_FIRST_TERMS, _FIRST_SIZES = 3, 6
"""Terms of a face, and faces, up to which all numbers are tried; more only while these gain."""
_PENALTY = 1e-4
"""Per row, of faces with few terms."""
_DENSE_PENALTIES = (0.25, 1.2, 6.0, 30.0)
"""Of all rows together, where a face may have all terms."""
_ALIKE = 0.5
"""Standard errors within which one class inside is as good as the other."""
_STARTS = 3
"""Of the union that is learned in the end; those of the folds have one."""
_ROWS = 20_000
"""Most rows that a union within limits is fitted to."""


class Candidate(NamedTuple):
    """What a union within limits depends on."""

    inside: int
    max_terms: int
    penalty: float
    """Per row."""
    n_faces: int
    """At most."""


class Tried(NamedTuple):
    """A candidate, what came of it in the mean of the folds, and of rows held out."""

    candidate: Candidate
    n_terms: float
    n_faces: int
    n_pieces: int
    outcome: TrialOutcome

    @property
    def setting(self) -> Setting:
        inside, _, penalty, _ = self.candidate
        return Setting(inside, self.n_faces, None, penalty, n_polyhedra=self.n_pieces)


Paths = dict[tuple[int, int], list[Union]]


class Search(NamedTuple):
    """Unions of a shape within limits, which are those of all candidates but for the terms."""

    shape: Shape
    limits: FaceLimits
    has_price: bool
    """Whether a term has to be worth its price: the logarithm of the number of columns.

    The best of so many columns gains as much by chance (Foster and George 1994, RIC); 1 is AIC.
    """
    inside: Any
    """Rows that have to be inside, as those that are learned from."""

    def candidates(
        self, insides: list[int], max_terms: Any, penalty: float | None, total: float
    ) -> list[Candidate]:
        """What there is to try: max_terms as the parameter is, and None for any penalty.

        ``total`` is the weight of all rows.
        """
        d, most = len(self.limits.signs), self.shape.most
        if max_terms is None:
            numbers = {d}
        elif max_terms == "auto":
            numbers = {number for number in (*_TERMS, d) if number <= min(d, _TERMS[-1])}
        else:
            numbers = {min(int(max_terms), d)}
        penalties = [_PENALTY] if penalty is None else [penalty]
        if penalty is None and max_terms is None:
            penalties = [one / total for one in _DENSE_PENALTIES]
        sizes = {*(size for size in _SIZES if size < most), most}
        return sorted(Candidate(*one) for one in product(insides, numbers, penalties, sizes))

    def path(self, data: ArrayBlocks, candidates: list[Candidate], seed: int = 0) -> list[Union]:
        """Unions without limits, where those of the candidates start."""
        weakest = float(data.weights.sum()) * min(one.penalty for one in candidates)
        return thin_path(data, *self.shape[:3], weakest, seed)

    def unions(
        self, data: ArrayBlocks, candidates: list[Candidate], path: list[Union]
    ) -> list[tuple[Union, float]]:
        """One for each candidate, all of the same class inside, of which the rows have the sign.

        With each its loss on these rows, and the price of its terms.
        """
        total = float(data.weights.sum())
        price = max(1.0, math.log(data.n_features)) if self.has_price else None
        fits: dict[Any, SparseFit] = {}
        found: dict[Any, tuple[Union, float]] = {}
        unions = []
        for one in candidates:
            start, how = of_size(path, one.n_faces), (one.max_terms, one.penalty)
            if how not in fits:
                limits = self.limits._replace(most=one.max_terms)
                fits[how] = SparseFit(data, one.penalty * total, limits)
            key = *how, start.n_faces
            if key not in found:
                union, loss = fits[how].fitted(start, price)
                found[key] = fits[how].containing(union, self.inside), loss
            unions.append(found[key])
        return unions

    def climbed(self, trials: FoldTrials, candidates: list[Candidate]) -> list[Tried]:
        """What rows held out say of candidates, those of many terms or faces only while these gain.

        Those of few terms and faces say which class is inside.
        """
        paths: Paths = {}
        tried: list[Tried] = []
        for of_terms in _rungs(candidates, "max_terms", _FIRST_TERMS):
            best = _best_share(tried)
            for rung in _rungs(of_terms, "n_faces", _FIRST_SIZES):
                before = _best_share(tried)
                inside = {one.candidate.inside for one in tried[:1]}
                own = [one for one in rung if one.inside in (inside or {0, 1})]
                tried += self.tried(trials, own, paths)
                if _best_share(tried) <= before:
                    break
            if _best_share(tried) <= best:
                break
        return tried

    def tried(self, trials: FoldTrials, candidates: list[Candidate], paths: Paths) -> list[Tried]:
        """What rows held out say of the candidates of one class inside.

        The first folds say which class that is: of many rows one fold is enough. ``paths`` has
        those of `path` by class inside and fold, and takes further ones.
        """
        insides, numbers = sorted({one.inside for one in candidates}), range(len(trials.folds))
        first = numbers[: 1 if trials.data.n_samples >= MANY_ROWS else 2]
        tasks = [(inside, number) for inside in insides for number in first]
        found = self._judged(trials, candidates, tasks, paths)
        own = {one: [c for c in candidates if c.inside == one] for one in insides}
        best = [fewest_terms(self._summary(trials, own[inside], found)) for inside in insides]
        inside = fewest_terms(best, _ALIKE).candidate.inside
        rest = [(inside, number) for number in numbers if number not in first]
        found |= self._judged(trials, candidates, rest, paths)
        return self._summary(trials, own[inside], found)

    def _judged(
        self,
        trials: FoldTrials,
        candidates: list[Candidate],
        tasks: list[tuple[int, int]],
        paths: Paths,
    ) -> dict[tuple[int, int], tuple[Floats, Floats]]:
        """Scores of rows held out, by class inside and fold, and terms, faces and pieces."""

        def judge(task: tuple[int, int]) -> Floats:
            inside, number = task
            train, test, _ = trials.folds[number]
            train, own = in_sign(train, inside), [one for one in candidates if one.inside == inside]
            if task not in paths:
                paths[task] = self.path(train, own)
            unions = [union for union, _ in self.unions(train, own, paths[task])]
            facts = [[n_terms(one), one.n_faces, len(one.sizes)] for one in unions]
            return np.column_stack([facts, [one.scores(test) for one in unions]])

        name = f"folds {tasks} of {candidates} within {self.limits}"
        forms = [Form(float, (None, 3 + trials.folds[n][1].n_samples)) for _, n in tasks]
        found = trials.journal.memo(name, lambda: tuple(trials.in_threads(judge, tasks)), *forms)
        pairs = zip(tasks, found, strict=True)
        return {task: (one[:, :3], one[:, 3:]) for task, one in pairs}

    def _summary(
        self,
        trials: FoldTrials,
        candidates: list[Candidate],
        found: dict[tuple[int, int], tuple[Floats, Floats]],
    ) -> list[Tried]:
        """What came of candidates of one class inside in the folds that were tried."""
        inside = candidates[0].inside
        numbers = sorted(number for one, number in found if one == inside)
        rows = np.concatenate([trials.folds[number][2] for number in numbers])
        facts = np.stack([found[inside, number][0] for number in numbers])
        h = np.concatenate([found[inside, number][1] for number in numbers], axis=1)
        order = np.argsort(rows)
        rows, h = rows[order], h[:, order]
        is_inside, weight = trials.is_inside(inside)[rows], trials.weight[rows]
        tried = []
        for i, one in enumerate(candidates):
            n_faces, n_pieces = (int(v) for v in np.median(facts[:, i, 1:], axis=0))
            outcome = TrialOutcome(h[i], is_inside, weight)
            tried.append(Tried(one, float(facts[:, i, 0].mean()), n_faces, n_pieces, outcome))
        return tried

    def fitted(self, data: ArrayBlocks, chosen: Candidate, trials: FoldTrials) -> Union:
        """The best union of a candidate, from some starts, on these rows or many of them."""
        rows = stratified_rows(data, _ROWS, np.random.RandomState(0))
        rows = in_sign(rows, chosen.inside)

        def fit(seed: int) -> tuple[Union, float]:
            (found,) = self.unions(rows, [chosen], self.path(rows, [chosen], seed))
            return found

        union, _ = min(trials.in_threads(fit, [*range(_STARTS)]), key=itemgetter(1))
        return without_idle_faces(rows, union)


def _rungs(candidates: list[Candidate], size: str, few: int) -> list[list[Candidate]]:
    """Candidates whose size is few at most, then those of each size beyond."""
    found: dict[int, list[Candidate]] = {}
    for one in sorted(candidates, key=attrgetter(size)):
        found.setdefault(max(getattr(one, size), few), []).append(one)
    return list(found.values())


def _best_share(tried: list[Tried]) -> float:
    return max((one.outcome.share for one in tried), default=-1.0)


def n_terms(union: Union) -> int:
    """Coefficients that are not zero."""
    return int(np.count_nonzero(union.theta[:, :-1]))


def fewest_terms(tried: list[Tried], n_errors: float = 1.0) -> Tried:
    """The one with the fewest terms within a standard error, or some, of the most accurate."""
    best = max(tried, key=lambda one: (one.outcome.share, -one.n_terms))

    def is_near(one: Tried) -> bool:
        lost, error = mean_and_error(best.outcome.right - one.outcome.right, best.outcome.weight)
        return lost <= n_errors * error

    near = [one for one in tried if is_near(one)]
    return min(near, key=lambda one: (one.n_terms, -one.outcome.share))


def path_table(tried: list[Tried], chosen: Tried, labels: list[Any]) -> dict[str, list[Any]]:
    """What was tried, a column each, those of few terms first; what came to the same only once."""
    different = {(one.candidate[:3], one.n_terms, one.outcome.share): one for one in tried}
    different[chosen.candidate[:3], chosen.n_terms, chosen.outcome.share] = chosen
    ordered = sorted(different.values(), key=lambda one: (one.n_terms, one.outcome.share))
    table: dict[str, list[Any]] = {
        "inside": [labels[one.candidate.inside] for one in ordered],
        "max_terms": [one.candidate.max_terms for one in ordered],
        "n_terms": [one.n_terms for one in ordered],
        "n_hyperplanes": [one.n_faces for one in ordered],
        "n_polyhedra": [one.n_pieces for one in ordered],
        "penalty": [one.candidate.penalty for one in ordered],
        "accuracy": [one.outcome.share for one in ordered],
    }
    errors = [mean_and_error(one.outcome.right, one.outcome.weight)[1] for one in ordered]
    return table | {"error": errors, "chosen": [one is chosen for one in ordered]}
