"""Faces of few terms, of signs that are known, and of columns that may stand together.

A soft union grows too large and is thinned, as without such limits. Then each face keeps its
greatest weights, half of them at a time, and all are fitted anew. Terms are exchanged for better
ones, face by face, and dropped where they are not worth their price. At last every face is moved
to where the rule makes the fewest mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.hyperplanes import best_cut
from polyceptron.learners.polyceptron.mixture import whole_rows
from polyceptron.learners.polyceptron.union import (
    Union,
    ascend,
    first_union,
    of_mean_size,
    settled,
    thinned,
)
from polyceptron.optim import lbfgs
from polyceptron.scoring import scores
from polyceptron.utils.types import Flags, Floats

_FIRST_PENALTY = 0.01
_FIRST_LOGIT = -2.0
_OFFERED, _LEAVING = 4, 3
"""Terms that are tried in place of others of a face, and of those the ones that matter least."""
_FIRST_WEIGHT = 0.3
_ROUNDS, _FACE_STEPS = 5, 5
_GAIN = 1e-4
"""Share of the loss that an exchange has to gain."""
_GROW_STEPS, _THIN_STEPS, _HALVE_STEPS, _SWAP_STEPS, _LAST_STEPS = 60, 25, 25, 15, 60
_TRIMS = 6
"""Terms that are tried to do without."""


class FaceLimits(NamedTuple):
    """What faces have to hold to."""

    most: int
    """Terms of a face."""
    signs: NDArray[np.int8]
    """Of weights, a column each: 1, -1, or 0 for any."""
    groups: Flags
    """Columns that may stand together in a face, a line for each group."""

    def beside(self, terms: NDArray[np.intp]) -> Flags:
        """Columns that may stand beside these."""
        return np.asarray(self.groups[self.groups[:, terms].all(axis=1)].any(axis=0))


class Reached(NamedTuple):
    """A union, the logit of the share of wrong labels, and the penalised loss there."""

    union: Union
    logit: float
    loss: float


class SparseFit:
    """Fits unions within limits to rows, +1 of which are inside."""

    def __init__(self, data: ArrayBlocks, penalty: float, limits: FaceLimits) -> None:
        self.data, self.penalty, self.limits = data, penalty, limits
        self._rows = whole_rows(data), data.y, data.weight, np.empty(0)
        self._at: tuple[Reached, Floats, list[Floats]] | None = None
        X: Any = data.matrix
        self._by_column: Any = X.T.astype(np.float64, "C") if self._is_dense else X.tocsc()

    @property
    def _is_dense(self) -> bool:
        return isinstance(self.data.matrix, np.ndarray)

    def columns(self, places: NDArray[np.intp]) -> Floats:
        """Some columns, one after another."""
        if self._is_dense:
            return np.asarray(self._by_column[places])
        return np.ascontiguousarray(self._by_column[:, places].toarray().T, np.float64)

    # --- all faces ----------------------------------------------------------------------

    def descended(self, union: Union, logit: float, n_steps: int) -> Reached:
        """All weights that are not zero, and the noise, fitted together; signs are kept to.

        A weight that would need the other sign becomes zero, and the others are fitted again. If
        none is left, the last face is about the same for all rows, and only its bias is fitted.
        """
        signs = self.limits.signs
        while True:
            is_bare = not union.theta[:, :-1].any()
            union = self._with_terms(union)
            point = self._minimised(union, logit, n_steps, only_biases=is_bare)
            wrong = signs * point.union.theta[:, :-1] < 0
            if not wrong.any():
                return point
            theta = point.union.theta.copy()
            theta[:, :-1][wrong] = 0.0
            union, logit = union._replace(theta=theta), point.logit

    def _with_terms(self, union: Union) -> Union:
        """Without faces that have no term, but with one at least."""
        bare = np.flatnonzero(~union.theta[:, :-1].any(axis=1))
        if len(bare) < union.n_faces:
            return union.without(set(bare.tolist()))
        # One term only: with more, to try without one of them would never end.
        theta, j = np.zeros((1, union.theta.shape[1])), int(self.limits.groups[0].argmax())
        theta[0, j] = -1e-9 if self.limits.signs[j] < 0 else 1e-9
        return Union(theta, (1,))

    def _minimised(
        self, union: Union, logit: float, n_steps: int, *, only_biases: bool = False
    ) -> Reached:
        F, still = union.n_faces, (union.theta[:, :-1] == 0) | only_biases
        fixed = np.append(np.column_stack([still, np.zeros(F, bool)]), False)

        def loss(flat: Floats) -> tuple[float, Floats]:
            value, slope = self._loss_at(flat, union.sizes)
            slope[fixed] = 0.0
            return value, slope

        flat = lbfgs.minimise(loss, np.append(union.theta, logit), n_steps, 1e-7)
        there = union._replace(theta=flat[:-1].reshape(F, -1))
        return Reached(there, float(flat[-1]), self._loss_at(flat, union.sizes)[0])

    def _loss_at(self, flat: Floats, sizes: tuple[int, ...]) -> tuple[float, Floats]:
        """The penalised loss and its slope, of faces and the noise in one flat array."""
        part = kernels.union_part(*self._rows, flat, np.cumsum(sizes))
        found: tuple[float, Floats] = kernels.penalised(
            part, flat, sum(sizes), self.penalty, 1.0, True
        )
        return found

    def loss_of(self, union: Union, logit: float) -> float:
        return self._loss_at(np.append(union.theta, logit), union.sizes)[0]

    # --- few terms ------------------------------------------------------------------------

    def fitted(self, start: Union, price: float | None) -> tuple[Union, float]:
        """A union within the limits, from one without, and its loss with the price of its terms.

        A term has to be worth its price, if any.
        """
        point = self._halved(start)
        if len(self.limits.signs) > 1:
            point = self._exchanged(point)
        if price is not None:
            point = self._trimmed(point, price)
        paid = (price or 0.0) * np.count_nonzero(point.union.theta[:, :-1])
        return self._moved(settled(self.data, point.union)), point.loss + paid

    def _halved(self, start: Union) -> Reached:
        """The greatest weights of each face, of one group, half of them at a time."""
        theta, most = start.theta.copy(), self.limits.most
        W = theta[:, :-1]
        kept = self.limits.groups[(W**2 @ self.limits.groups.T).argmax(axis=1)]
        W[~kept | (self.limits.signs * W < 0)] = 0.0
        point = Reached(start._replace(theta=theta), _FIRST_LOGIT, np.inf)
        n = int(kept.sum(axis=1).max())
        while True:
            point = self.descended(point.union, point.logit, _HALVE_STEPS)
            if n <= most:
                return point
            n = max(most, n // 2)
            theta = point.union.theta.copy()
            order = np.argsort(-np.abs(theta[:, :-1]), axis=1, kind="stable")
            np.put_along_axis(theta, order[:, n:], 0.0, axis=1)
            point = point._replace(union=point.union._replace(theta=theta))

    def _exchanged(self, point: Reached) -> Reached:
        """Terms swapped for others, or added where there is room, while the loss falls."""
        stuck = 0
        for turn in range(_ROUNDS * point.union.n_faces):
            offer = self._with_swap(point, turn % point.union.n_faces)
            point, stuck = (point, stuck + 1) if offer is None else (offer, 0)
            if stuck >= point.union.n_faces:
                break
        return self.descended(point.union, point.logit, _LAST_STEPS)

    def _with_swap(self, point: Reached, k: int) -> Reached | None:
        union, limits = point.union, self.limits
        w, face = union.theta[k, :-1], self._face(point, k)
        own, matters = self._own_terms(w, face)
        own, gains = own[np.argsort(matters, kind="stable")], self._gains(face)
        open_ = (w == 0) & (limits.signs * gains <= 0) & limits.beside(own)
        order = np.argsort(-np.where(open_, np.abs(gains), -1.0), kind="stable")[:_OFFERED]
        new = order[open_[order] & (gains[order] != 0)]
        if not len(new):
            return None
        places = np.concatenate([own, new])
        first = np.concatenate([w[own], -_FIRST_WEIGHT * np.sign(gains[new]), [union.theta[k, -1]]])
        n_out = min(len(own), _LEAVING) if len(own) >= limits.most else 0
        how = self.data.weight, limits.signs[places], first, self.penalty, n_out, _FACE_STEPS
        columns = self.columns(places)
        loss, used, v = kernels.best_swap(columns, len(own), face.start, face.gain, *how)
        if not loss + face.rest < point.loss * (1 - _GAIN):
            return None
        offer = self._with_faces(point, {k: self._face_of(places[used], v)})
        return offer if offer.loss < point.loss else None

    def _own_terms(self, w: Floats, face: _OneFace) -> tuple[NDArray[np.intp], Floats]:
        """The terms of a face, and about what the loss rises by without each."""
        own = np.flatnonzero(w)
        return own, (w[own, None] * self.columns(own)) ** 2 @ np.abs(face.slope * face.holds)

    def _gains(self, face: _OneFace) -> Floats:
        if self._is_dense:
            gains = np.empty(len(self.limits.signs))
            kernels.term_gains(self._by_column, face.slope, gains)
            return gains
        X = self._by_column
        G, H = (
            np.asarray(part.T @ by) for part, by in ((X, face.slope), (X.power(2), abs(face.slope)))
        )
        return np.asarray(G * np.abs(G) / (H + 1e-12))

    def _face_of(self, places: NDArray[np.intp], v: Floats) -> Floats:
        """The row [w, b] of a face with these terms; v has their weights, and the bias."""
        face = np.zeros(len(self.limits.signs) + 1)
        face[places], face[-1] = v[:-1], v[-1]
        return face

    def _with_faces(self, point: Reached, faces: dict[int, Floats]) -> Reached:
        """With these in place of others, and all fitted together."""
        theta = point.union.theta.copy()
        theta[list(faces)] = list(faces.values())
        return self.descended(point.union._replace(theta=theta), point.logit, _SWAP_STEPS)

    def _trimmed(self, point: Reached, price: float) -> Reached:
        """Without terms, and faces of none, that the rows do not need: each saves the price."""
        while np.count_nonzero(point.union.theta[:, :-1]) > 1:
            trials = sorted(self._with_less(point), key=lambda trial: trial.rise)
            if trials[0].rise > 2 * price:
                break
            free = [one for one in trials[1:] if one.rise <= 0.5 * price and one.k != trials[0].k]
            together = {one.k: one.face for one in reversed([trials[0], *free])}
            offer = self._with_faces(point, together)
            if offer.loss - point.loss > price * len(together):
                together = {trials[0].k: trials[0].face}
                offer = self._with_faces(point, together)
            if offer.loss - point.loss > price * len(together):
                break
            point = offer
        point = self._without_pieces(point, price)
        return self.descended(point.union, point.logit, _LAST_STEPS)

    def _without_pieces(self, point: Reached, price: float) -> Reached:
        """Without pieces whose terms are together not worth their price."""
        while len(point.union.sizes) > 1:
            offers = []
            for faces in point.union.places():
                saved = price * np.count_nonzero(point.union.theta[faces, :-1])
                less = point.union.without(set(faces))
                offers.append((self.loss_of(less, point.logit) - point.loss - saved, saved, less))
            _, saved, less = min(offers, key=lambda offer: offer[0])
            offer = self.descended(less, point.logit, _SWAP_STEPS)
            if offer.loss - point.loss > saved:
                break
            point = offer
        return point

    def _with_less(self, point: Reached) -> Iterator[_Less]:
        """Faces without one of the terms that seem to matter least."""
        union, W = point.union, point.union.theta[:, :-1]
        costs, faces = [], [self._face(point, k) for k in range(union.n_faces)]
        for k, (w, face) in enumerate(zip(W, faces, strict=True)):
            own, matters = self._own_terms(w, face)
            costs += [(float(cost), k, int(j)) for cost, j in zip(matters, own, strict=True)]
        for _, k, j in sorted(costs)[:_TRIMS]:
            kept = np.flatnonzero(W[k])
            kept = kept[kept != j]
            if len(kept):
                face, first = faces[k], np.append(W[k, kept], union.theta[k, -1])
                rows = np.arange(len(kept)), face.start, face.gain, self.data.weight
                how = self.limits.signs[kept], first, self.penalty, _FACE_STEPS
                loss, v = kernels.fit_face(self.columns(kept), *rows, *how)
                yield _Less(loss + face.rest - point.loss, k, self._face_of(kept, v))
            elif union.n_faces > 1:
                rise = self.loss_of(union.without({k}), point.logit) - point.loss
                yield _Less(rise, k, np.zeros(union.theta.shape[1]))

    # --- one face ---------------------------------------------------------------------------

    def _face(self, point: Reached, k: int) -> _OneFace:
        """What the others leave to face k."""
        if self._at is None or self._at[0] is not point:
            z = np.clip(_scores_of_union(self.data, point.union).T, -40.0, 40.0)
            S = 1.0 / (1.0 + np.exp(-z))
            self._at = point, S, [S[faces].prod(axis=0) for faces in point.union.places()]
        _, S, pieces = self._at
        own = next(m for m, faces in enumerate(point.union.places()) if k in faces)
        outside = np.ones(S.shape[1])
        for m, inside in enumerate(pieces):
            if m != own:
                outside *= 1.0 - inside
        noise, y = float(kernels.noise_of(point.logit)), self.data.y
        start = noise + (1 - 2 * noise) * np.where(y > 0, 1.0 - outside, outside)
        gain = (1 - 2 * noise) * y * outside * (pieces[own] / S[k])
        squares = (point.union.theta[:, :-1] ** 2).sum(axis=1)
        rest = 0.5 * self.penalty * float(squares.sum() - squares[k])
        slope = -gain * S[k] * (1 - S[k]) / (start + gain * S[k])
        if self.data.weight.size:
            slope *= self.data.weight
        return _OneFace(start, gain, S[k], slope, rest)

    # --- the rule ---------------------------------------------------------------------------

    def _moved(self, union: Union) -> Union:
        """Every face where the rule makes the fewest mistakes, the others being where they are."""
        data, is_inside, weight = self.data, self.data.y > 0, self.data.weights
        found = _scores_of_union(data, union)
        for k in list(range(union.n_faces)) * (3 if union.n_faces > 1 else 0):
            seen = _decisive(union, found >= 0, k)
            if not seen.any():
                continue
            cut = best_cut(found[seen, k], is_inside[seen], weight[seen])
            wrong, offer = ((found[seen, k] - c >= 0) != is_inside[seen] for c in (0.0, cut))
            if weight[seen] @ offer < weight[seen] @ wrong - 1e-9 * weight.sum():
                theta = union.theta.copy()
                theta[k, -1] -= cut
                union = union._replace(theta=theta)
                found[:, k] -= cut
        return of_mean_size(data, union.pieces())

    def containing(self, union: Union, rows: Any) -> Union:
        """The pieces moved as little as lets each of these rows into one of them."""
        if not rows.shape[0]:
            return union
        W, b = union.theta[:, :-1].copy(), union.theta[:, -1].copy()
        lacking = np.minimum(scores(rows, W, b), 0.0)
        spread = _scores_of_union(self.data, union).std(axis=0) + 1e-300
        places, theta = union.places(), union.theta.copy()
        nearest = nearest_pieces([(lacking / spread)[:, faces] for faces in places])
        for m, faces in enumerate(places):
            theta[faces, -1] -= lacking[nearest == m][:, faces].min(axis=0, initial=0.0)
        return union._replace(theta=theta)


class _Less(NamedTuple):
    """Face k with a term less, all zero if it had one, and what that adds to the loss."""

    rise: float
    k: int
    face: Floats


class _OneFace(NamedTuple):
    """P(label) = start + gain * logistic(score) while the other faces stay."""

    start: Floats
    gain: Floats
    holds: Floats
    """The logistic of its score."""
    slope: Floats
    """Of the loss in its score."""
    rest: float
    """The penalty of the others."""


def nearest_pieces(lacking: list[Floats]) -> NDArray[np.intp]:
    """For each row the piece with least to move, from what it lacks of each face: 0 or less."""
    return np.asarray(np.argmax([one.sum(axis=1) for one in lacking], axis=0))


def _scores_of_union(data: ArrayBlocks, union: Union) -> Floats:
    return scores(data.matrix, union.theta[:, :-1].copy(), union.theta[:, -1].copy())


def _decisive(union: Union, holds: Flags, k: int) -> Flags:
    """Rows of which face k alone decides."""
    seen = np.ones(len(holds), bool)
    for faces in union.places():
        others = holds[:, [j for j in faces if j != k]].all(axis=1)
        seen &= others if k in faces else ~others
    return seen


def thin_path(
    data: ArrayBlocks, n_pieces: int, n_faces: int, most: int, penalty: float, seed: int
) -> list[Union]:
    """Unions without limits to start from, of ever fewer faces."""
    union = first_union(data, _FIRST_PENALTY, n_pieces, n_faces, seed, 2, _GROW_STEPS)
    union = ascend(data, union, penalty, _GROW_STEPS)
    return list(thinned(data, union, penalty, most, _THIN_STEPS))
