"""What peers of our own reading share: how rows of two classes come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class TwoClassPeer(ClassifierMixin, BaseEstimator):
    """A learner of one of two classes, the parameter ``inside``; None is the greater label."""

    def _rows_of_two(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Rows to learn from, and which are inside; sets ``classes_`` and ``inside_``."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"y must have two classes; got {len(self.classes_)}")
        self.inside_ = self.classes_[1] if self.inside is None else self.inside
        if self.inside_ not in self.classes_:
            labels = self.classes_.tolist()
            raise ValueError(f"inside must be one of {labels}; got {self.inside!r}")
        return X, y == self.inside_

    def _rows_to_answer(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=False)
        return rows
