"""Baselines of the table that scikit-learn has not, or not as classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import OneClassSVM

from polyceptron.utils.types import Floats


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
        self._enclose(np.asarray(X)[np.asarray(y) == self.classes_[1]])
        return self

    def _enclose(self, rows: Floats) -> None:
        self.sphere_ = OneClassSVM(nu=self.nu, gamma=self.gamma).fit(rows)

    def _contains(self, X: Any) -> Any:
        return self.sphere_.predict(X) > 0

    def predict(self, X: Any) -> Any:
        """The greater label within the sphere."""
        return self.classes_[self._contains(X).astype(int)]


class PlainSVDD(SVDD):
    """The same with a sphere of the rows' own space, by HiGHS's solver of quadratic programs.

    There the one-class support vector machine has another dual problem: it finds a hyperplane.

    Parameters
    ----------
    nu : float, default=0.1
        At most this share of the rows is left outside of the sphere.
    """

    def __init__(self, nu: float = 0.1) -> None:
        self.nu = nu

    def _enclose(self, rows: Floats) -> None:
        """Minimise |a|^2 - sum alpha_i |x_i|^2 where a = sum alpha_i x_i and sum alpha_i = 1."""
        import highspy

        n, d = rows.shape
        most = max(1.0 / (self.nu * n), 1.0 / n)
        model = highspy.HighsModel()
        lp, hessian = model.lp_, model.hessian_
        lp.num_col_, lp.num_row_ = d + n, d + 1
        lp.col_cost_ = np.append(np.zeros(d), -(rows**2).sum(axis=1))
        lp.col_lower_ = np.append(np.full(d, -highspy.kHighsInf), np.zeros(n))
        lp.col_upper_ = np.append(np.full(d, highspy.kHighsInf), np.full(n, most))
        lp.row_lower_ = lp.row_upper_ = np.append(np.zeros(d), 1.0)
        A = sparse.bmat([[-sparse.eye(d), rows.T], [None, np.ones((1, n))]], format="csc")
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        hessian.dim_, hessian.format_ = d + n, highspy.HessianFormat.kTriangular
        hessian.start_ = np.append(np.arange(d + 1), np.full(n, d))
        hessian.index_, hessian.value_ = np.arange(d), np.full(d, 2.0)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(model)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS found no sphere: {solver.getModelStatus()}")
        found = np.array(solver.getSolution().col_value)
        self.centre_, alpha = found[:d], found[d:]
        # What is left outside has the greatest multiplier, and what is on the sphere less.
        self.radius_ = np.sqrt(self._squares(rows)[alpha < most * (1 - 1e-6)].max())

    def _squares(self, X: Any) -> Floats:
        return np.asarray(((np.asarray(X) - self.centre_) ** 2).sum(axis=1))

    def _contains(self, X: Any) -> Any:
        return np.sqrt(self._squares(X)) <= self.radius_ * (1 + 1e-9)
