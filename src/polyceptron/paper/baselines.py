"""Baselines of the table that scikit-learn has, but not as classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import OneClassSVM


class SVDD(ClassifierMixin, BaseEstimator):
    """The smallest hypersphere around most rows of the greater label (Tax & Duin 1999).

    It is the sphere of the space of a Gaussian kernel. All rows are equally far from the
    origin there, so the one-class support vector machine has the same dual problem and finds the
    same boundary, with nu = 1 / (n C); rows of the other label do not matter.

    Parameters
    ----------
    nu : float, default=0.1
        At most this share of the rows is left outside of the sphere.
    gamma : float, default=0.1
        Of the kernel exp(-gamma |x - z|^2).
    """

    def __init__(self, nu: float = 0.1, gamma: float = 0.1) -> None:
        self.nu = nu
        self.gamma = gamma

    def fit(self, X: Any, y: Any) -> Self:
        """Find the sphere."""
        self.classes_ = np.unique(y)
        inside = np.asarray(X)[np.asarray(y) == self.classes_[1]]
        self.sphere_ = OneClassSVM(nu=self.nu, gamma=self.gamma).fit(inside)
        return self

    def predict(self, X: Any) -> Any:
        """The greater label within the sphere."""
        return self.classes_[(self.sphere_.predict(X) > 0).astype(int)]
