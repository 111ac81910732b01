"""What learners have learned: a part is a few fields that are written and read together.

What follows from other fields is not written, so that it cannot contradict them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from polyceptron.model_file._error import ModelFileError
from polyceptron.model_file._node import BEYOND_JSON, Node
from polyceptron.model_file._values import (
    Labels,
    plain,
    read_place,
)
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

Fields = dict[str, Node]
_EXPONENTS = -10_000, 10_000
"""Powers of two that hyperplanes were scaled by; float64 has some 2,100."""


class Part(ABC):
    """A few fields of a learner."""

    fields: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write(self, model: Any) -> dict[str, Any]:
        """The values of the fields."""

    @abstractmethod
    def read(self, fields: Fields, model: Any) -> None:
        """Set the fitted attributes of a model that knows its classes and columns."""


# --- the parts --------------------------------------------------------------------------


class Faces(Part):
    """The polyhedron and the class inside, of all learners of one polyhedron."""

    fields = ("W", "b", "inside", "exponent")

    def write(self, model: Any) -> dict[str, Any]:
        return {
            "W": model.polyhedron_.W.tolist(),
            "b": model.polyhedron_.b.tolist(),
            "inside": plain(model.inside_, "inside_"),
            "exponent": int(model._exponent),
        }

    def read(self, fields: Fields, model: Any) -> None:
        W = fields["W"].matrix(columns=model.n_features_in_)
        b = fields["b"].vector(len(W))
        flat = np.flatnonzero(~W.any(axis=1))
        if flat.size:
            fields["W"].items()[flat[0]].refuse("must have a number that is not zero")
        inside = read_place(fields["inside"], model.classes_)
        model._set_rule(Polyhedron(W, b, names_of(model)), inside)
        model._exponent = fields["exponent"].whole(*_EXPONENTS)


class Run(Part):
    """How an iterated learner came there."""

    fields = ("n_iter", "converged", "history")

    def write(self, model: Any) -> dict[str, Any]:
        return {
            "n_iter": int(model.n_iter_),
            "converged": bool(model.converged_),
            "history": {name: _measurements(values) for name, values in model.history_.items()},
        }

    def read(self, fields: Fields, model: Any) -> None:
        model.n_iter_ = fields["n_iter"].whole()
        model.converged_ = fields["converged"].flag()
        history = fields["history"].fields()
        model.history_ = {name: _read_measurements(values) for name, values in history.items()}
        if len({len(values) for values in model.history_.values()}) > 1:
            fields["history"].refuse("must have arrays of one length")


class Likelihood(Part):
    """What SPLA maximised."""

    fields = ("objective", "log_likelihood")

    def write(self, model: Any) -> dict[str, Any]:
        objective, log_likelihood = _measurements([model.objective_, model.log_likelihood_])
        return {"objective": objective, "log_likelihood": log_likelihood}

    def read(self, fields: Fields, model: Any) -> None:
        model.objective_ = fields["objective"].measurement()
        model.log_likelihood_ = fields["log_likelihood"].measurement()


class Search(Part):
    """How SPLA2 found the number of its hyperplanes."""

    fields = ("validation_scores",)

    def write(self, model: Any) -> dict[str, Any]:
        return {"validation_scores": _measurements(model.validation_scores_)}

    def read(self, fields: Fields, model: Any) -> None:
        model.validation_scores_ = _read_measurements(fields["validation_scores"])
        model.n_hyperplanes_ = len(model.intercept_)


class Programs(Part):
    """What the linear programs of PC-SLP ended with."""

    fields = ("objective", "n_lps")

    def write(self, model: Any) -> dict[str, Any]:
        return {"objective": _measurements([model.objective_])[0], "n_lps": int(model.n_lps_)}

    def read(self, fields: Fields, model: Any) -> None:
        model.objective_ = fields["objective"].measurement()
        model.n_lps_ = fields["n_lps"].whole()


class Stream(Part):
    """Where `partial_fit` goes on: the online learner's own coordinates and hyperplanes."""

    fields = ("stream",)
    _inner = ("scale", "shift", "bias_unit", "W", "b", "seed", "n_passes", "n_seen", "U", "u")

    def write(self, model: Any) -> dict[str, Any]:
        state, coordinates = model._state, model._coordinates
        W, b = state.planes.arrays()
        averaged = len(state.u) > 0
        values = {
            "scale": coordinates.scale.tolist(),
            "shift": coordinates.shift.tolist(),
            "bias_unit": float(coordinates.bias_unit),
            "W": W.tolist(),
            "b": b.tolist(),
            "seed": int(state.seed),
            "n_passes": int(state.n_passes),
            "n_seen": int(state.n_seen),
            "U": state.U.tolist() if averaged else None,
            "u": state.u.tolist() if averaged else None,
        }
        return {"stream": values}

    def read(self, fields: Fields, model: Any) -> None:
        from polyceptron.learners.online import OnlineState
        from polyceptron.optim.planes import Planes

        K, d = model.coef_.shape
        inner = fields["stream"].record(*self._inner)
        model._coordinates = self._coordinates(inner, d)
        planes = Planes.of(inner["W"].matrix(K, d), inner["b"].vector(K))
        U, u = np.zeros((0, 0)), np.zeros(0)
        if not (inner["U"].is_null and inner["u"].is_null):
            U, u = inner["U"].matrix(K, d), inner["u"].vector(K)
        state = OnlineState(
            planes,
            planes,
            model._coordinates.bias_unit,
            inner["seed"].whole(0, 2**31),
            inner["n_passes"].whole(0, 2**32 - 1),
            inner["n_seen"].whole(0, 2**53),
            U,
            u,
        )
        model._state = state._replace(answer=state.average() if len(u) else planes)

    @staticmethod
    def _coordinates(inner: Fields, d: int) -> Any:
        from polyceptron.data.scaling import Coordinates

        scale, shift = inner["scale"].vector(d), inner["shift"].vector(d)
        for item in inner["scale"].items() if not (scale > 0).all() else []:
            item.number(np.finfo(float).smallest_subnormal)
        unit = float(inner["bias_unit"].number(np.finfo(float).smallest_subnormal))
        if np.frexp(unit)[0] != 0.5:
            inner["bias_unit"].refuse("must be a power of two")
        return Coordinates(scale, shift, unit)


class Choice(Part):
    """What Polyceptron tried and chose, and how its scores become probabilities."""

    fields = (
        "n_iter",
        "margin",
        "penalty",
        "sampled",
        "selection",
        "calibration",
        "score_exponent",
    )
    _sides = ("outside", "inside")

    def write(self, model: Any) -> dict[str, Any]:
        return {
            "n_iter": int(model.n_iter_),
            "margin": plain(model.margin_, "margin_"),
            "penalty": plain(model.penalty_, "penalty_"),
            "sampled": bool(model.sampled_),
            "selection": plain(model.selection_, "selection_"),
            "calibration": {
                name: plain(getattr(_calibration(model), name)._asdict(), name)
                for name in self._sides
            },
            "score_exponent": int(_calibration(model).exponent),
        }

    def read(self, fields: Fields, model: Any) -> None:
        from polyceptron.calibration import Calibration, Side

        model.n_iter_ = fields["n_iter"].whole()
        model.margin_ = fields["margin"].number(0)
        model.penalty_ = _read_penalty(fields["penalty"])
        model.sampled_ = fields["sampled"].flag()
        model.selection_ = _read_selection(fields["selection"], model.classes_)
        sides = []
        for side in fields["calibration"].record(*self._sides).values():
            inner = side.record("slope", "lapse")
            # Outside of these bounds 0 / 0 is possible where several classes share 1.
            slope, lapse = inner["slope"].number(1e-9, 1e9), inner["lapse"].number(1e-9, 0.5)
            sides.append(Side(float(slope), float(lapse)))
        link = Calibration(sides[0], sides[1], fields["score_exponent"].whole(*_EXPONENTS))
        model._set_rule(model.polyhedron_, model._inside, link)
        model.n_hyperplanes_ = len(model.intercept_)
        model.polyhedra_ = {model.classes_.tolist()[model._inside]: model.polyhedron_}


class Nodes(Part):
    """The tree of OC1 in preorder: a node, all of its yes, all of its no."""

    fields = ("tree",)

    def write(self, model: Any) -> dict[str, Any]:
        tree, nodes = model.tree_, []
        for node, is_leaf in enumerate(tree.is_leaf):
            test = {} if is_leaf else {
                "w": tree.W[node].tolist(),
                "b": float(tree.b[node]),
                "yes": int(tree.yes[node]),
                "no": int(tree.no[node]),
            }  # fmt: skip
            nodes.append(test | {"counts": tree.counts[node].tolist()})
        return {"tree": nodes}

    def read(self, fields: Fields, model: Any) -> None:
        from polyceptron.learners.oc1.tree import LEAF, Tree

        nodes, d = fields["tree"].items(), model.n_features_in_
        tests: dict[int, tuple[Floats, float, int, int]] = {}
        counts: list[Floats] = []
        waiting = [(0, fields["tree"])]  # the nodes that are still to come, the next one last
        for i, node in enumerate(nodes):
            if not waiting:
                raise ModelFileError("belongs to no node before it", node.where)
            self._check_next(i, *waiting.pop())
            counts.append(self._counts(node, len(model.classes_)))
            if "w" in node.value:
                inner = node.record("w", "b", "yes", "no", "counts")
                tests[i] = self._test(inner, i, d, len(nodes))
                waiting += [(tests[i][3], inner["no"]), (tests[i][2], inner["yes"])]
        if waiting:
            waiting[-1][1].refuse("must be followed by the nodes that it names")
        W, b = np.zeros((len(nodes), d)), np.zeros(len(nodes))
        yes, no = np.full((2, len(nodes)), LEAF, np.int64)
        for i, test in tests.items():
            W[i], b[i], yes[i], no[i] = test
        model._publish(Tree(W, b, yes, no, np.array(counts)))

    @staticmethod
    def _test(inner: Fields, i: int, d: int, n_nodes: int) -> tuple[Floats, float, int, int]:
        w = inner["w"].vector(d)
        if not w.any():
            inner["w"].refuse("must have a number that is not zero")
        yes, no = (inner[name].whole(i + 1, n_nodes) for name in ("yes", "no"))
        return w, float(inner["b"].number()), yes, no

    @staticmethod
    def _check_next(i: int, expected: int, named: Node) -> None:
        if i != expected:
            named.refuse(f"must be {i}: nodes are in preorder")

    @staticmethod
    def _counts(node: Node, n_classes: int) -> Floats:
        found = node.fields() if "w" in node.fields() else node.record("counts")
        if "counts" not in found:
            raise ModelFileError("is missing", f"{node.where}.counts")
        counts = found["counts"].vector(n_classes)
        with np.errstate(over="ignore"):
            if (counts < 0).any() or not 0 < counts.sum() < np.inf:
                found["counts"].refuse("must be weights: not negative, with a finite sum above 0")
        return counts


# --- values of several parts ------------------------------------------------------------


def _calibration(model: Any) -> Any:
    return model.rule_.links[model.rule_.inside_place]


def names_of(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else names.tolist()


def _measurements(values: Any) -> list[float | str]:
    """Numbers, by name where JSON has none for them."""
    beyond = {repr(value): name for name, value in BEYOND_JSON.items()}
    return [beyond.get(repr(value), value) for value in map(float, values)]


def _read_measurements(node: Node) -> Floats:
    return np.array([item.measurement() for item in node.items()], dtype=np.float64)


def _read_penalty(node: Node) -> int | float | None:
    return None if node.is_null else node.number(0)


def _read_selection(node: Node, classes: Labels) -> dict[str, list[Any]]:
    """The table of settings that were tried, a column each."""
    readers = {
        "inside": lambda item: classes.tolist()[read_place(item, classes)],
        "n_hyperplanes": lambda item: item.whole(1),
        "margin": lambda item: item.number(0),
        "penalty": _read_penalty,
        "sampled": Node.flag,
        "accuracy": Node.number,
        "chosen": Node.flag,
    }
    fields = node.record(*readers)
    length = len(fields["chosen"].items())
    return {
        name: [read(item) for item in fields[name].items(length)] for name, read in readers.items()
    }
