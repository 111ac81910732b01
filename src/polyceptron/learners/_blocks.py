"""Learning from rows that need not be in memory."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from polyceptron.data.blocks import count_threads
from polyceptron.data.scaling import Ends, EndsOf, identity
from polyceptron.data.source import Source, SourceError, View
from polyceptron.learners._base import PolyhedralClassifier, Problem
from polyceptron.learners._parameters import check_two_classes, class_weights


@dataclass(frozen=True, slots=True)
class SourceProblem(Problem):
    """The rows of a source, and how they are seen."""

    source: Source
    view: View
    total_weight: float


class FitsBlocks(PolyhedralClassifier):
    """A learner whose every look at the rows is a sum over blocks."""

    @abstractmethod
    def _learn(self, problem: Problem) -> None:
        """Learn from these rows, wherever they are."""

    def fit_blocks(self, source: Source) -> Self:
        """Learn the polyhedron of the inside class from rows that need not be in memory.

        From the same rows in blocks of the same size it is the model of `fit`, to the last bit.

        Parameters
        ----------
        source : Source
            Such as `polyceptron.open_blocks` gives.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong it is left as it was.
        """
        self._check_parameters()
        with self._all_or_nothing():
            self._learn(self._problem_of(source))
        return self

    def _problem_of(self, source: Source) -> SourceProblem:
        """Look at all rows once, and choose the coordinates to learn in."""
        self._take_columns(source)
        classes = check_two_classes(source.classes)
        if source.n_samples < self._rows_needed():
            raise ValueError(
                f"n_hyperplanes={self.n_hyperplanes} is more than the rows: "
                f"n_samples={source.n_samples}"
            )
        inside = self._choose_inside(classes)
        d, n_threads = source.n_features, count_threads(self.n_jobs, source.n_samples)
        plain = View(identity(d), inside)
        ends = source.blocks(plain, n_threads).reduce(EndsOf(d))
        _refuse_gaps(source, ends)
        view = plain
        totals = ends.weights if inside == 1 else ends.weights[::-1]
        if self.class_weight is not None:
            view = view._replace(class_weight=class_weights(self.class_weight, totals, classes))
            totals = totals * view.class_weight
        weighed = source.blocks(view, n_threads)
        view = view._replace(coordinates=self._choose_coordinates(weighed, ends, centred=True))
        data = source.blocks(view, n_threads)
        total = float(totals.sum())
        return SourceProblem(data, view.coordinates, classes, inside, source, view, total)

    def _take_columns(self, source: Any) -> None:
        """Set what scikit-learn knows of the columns."""
        if not isinstance(source, Source):
            raise TypeError(
                "source must be a Source, such as polyceptron.open_blocks gives; "
                f"got {type(source).__name__}"
            )
        self.n_features_in_ = source.n_features
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def _refuse_gaps(source: Source, ends: Ends) -> None:
    if ends.bad is not None:
        raise SourceError(f"{source.where(*ends.bad)}: a value that is not a finite number")
    for place in (0, 1):
        if ends.weights[place] == 0:
            raise ValueError(f"no row {('outside', 'inside')[place]} is there")
