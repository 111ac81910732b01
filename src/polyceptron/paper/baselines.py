"""Baselines of the table that scikit-learn has not, or not as classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import OneClassSVM

from polyceptron.utils.types import Floats

_ORDERS = 8


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
        """Find the centre, and the radius that is left by those that are not at the bound."""
        most = max(1.0 / (self.nu * len(rows)), 1.0 / len(rows))
        # HiGHS's way over the corners ends too early now and then; other rows first, another way.
        orders = [np.random.default_rng(k).permutation(len(rows)) for k in range(_ORDERS)]
        for order in orders:
            solution = _least_sphere(rows[order], most)
            if solution is not None:
                break
        else:
            raise RuntimeError(f"HiGHS found no sphere in {_ORDERS} orders of the rows")
        self.centre_, alpha = np.split(solution, [rows.shape[1]])
        squares = self._squares(rows[order])
        held = alpha < most * (1 - 1e-6)
        self.radius_ = np.sqrt(squares[held].max() if held.any() else squares.min())

    def _squares(self, X: Any) -> Floats:
        return np.asarray(((np.asarray(X) - self.centre_) ** 2).sum(axis=1))

    def _contains(self, X: Any) -> Any:
        return np.sqrt(self._squares(X)) <= self.radius_ * (1 + 1e-9)


def _least_sphere(rows: Floats, most: float) -> Floats | None:
    """Minimise |a|^2 - sum alpha_i |x_i|^2 where a = sum alpha_i x_i and sum alpha_i = 1."""
    import highspy

    n, d = rows.shape
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
    is_found = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.array(solver.getSolution().col_value) if is_found else None
