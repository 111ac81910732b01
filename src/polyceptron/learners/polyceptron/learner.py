"""Polyceptron: the polyhedral learner to reach for, with nothing to tune."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from polyceptron.data.source import Source
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import FitsBlocks, ProbabilisticClassifier
from polyceptron.learners._parameters import check_inside, check_seed, check_two_classes
from polyceptron.learners.documents import FITTED, ModelFileError
from polyceptron.learners.polyceptron.by_pieces import PieceByPiece, is_worse
from polyceptron.learners.polyceptron.fitted import ClassFitted, LearnedUnion, PolyceptronFitted
from polyceptron.learners.polyceptron.hyperplanes import Setting
from polyceptron.learners.polyceptron.knowledge import (
    NAMES,
    OF_THE_INSIDE,
    Knowledge,
    check_by_class,
    naming_class,
    of_class,
    plain_by_class,
)
from polyceptron.learners.polyceptron.parameters import (
    check_parameters,
    is_auto,
    number_or,
    possible_insides,
)
from polyceptron.learners.polyceptron.promises import broken_promises, unlike_known_rows
from polyceptron.learners.polyceptron.refit import Around, StartPiece
from polyceptron.learners.polyceptron.two_classes import TwoClassFit
from polyceptron.optim.checkpoint import FitJournal
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Piece, Rule
from polyceptron.verdict import VerdictWarning

_FITTED = {"estimators_", "polyhedron_", "coef_", "intercept_", "inside_"}
_FITTED |= {"_inside", "_exponent", "_coordinates", "path_"}
"""What one kind of fit sets and the other does not."""
_CHOSEN = ("n_iter", "margin", "penalty", "sampled")


@dataclass(eq=False, repr=False)
class Polyceptron(ProbabilisticClassifier, FitsBlocks):
    """Learn a class as a polyhedron, or a few of them, with nothing to tune.

    A penalised likelihood begins with more small random faces than are needed, and takes those
    away that cost least. Its polyhedron has to compete with others on rows held out of the
    training rows: the matched mean of online runs where labels are clean; a few faces with a share
    of wrong labels, or the mean of many likely ones; and a union of polyhedra. The number of
    hyperplanes, the class inside and the strength are chosen on the way, of few rows the fewest
    hyperplanes within one standard error of the best. Each of more than two classes gets a
    polyhedron, or a union, of its own.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        K, the number of inequalities to begin with; those not needed are dropped. Of a union,
        those of each polyhedron; with ``margin=None`` the most that are kept.
    n_polyhedra : int or "auto", default="auto"
        How many polyhedra the class inside is the union of, at most. 1 is a single one. "auto"
        lets rows held out choose between one and several; one if `n_hyperplanes`, `margin`,
        `penalty` or `sampled` is given, which speak of one.
    max_faces : int or "auto", default="auto"
        Most inequalities of all polyhedra together, with more than two classes of those of each
        class; `fixed_faces` are not counted, and a number given as `n_hyperplanes` of one
        polyhedron may be greater. "auto" is 16,
        and up to 36 of several polyhedra where rows held out clearly ask for more and there are
        ten for each number learned.
    margin : float, None or "auto", default="auto"
        How far on their side rows must be for an online run to leave them alone, in updates
        on standardised columns. 0 suits clean labels. None makes no online runs: the likelihood
        begins with more small random faces than are kept.
    penalty : float, None or "auto", default="auto"
        Penalty of the likelihood, per row: ``penalty / 2 * sum_k |w_k|^2``. None leaves the mean
        of the runs as it is, which is also what "auto" means where `margin` is a number. With
        ``margin=None`` at most 4,000 rows count.
    sampled : bool or "auto", default="auto"
        Take the mean of many likely hyperplanes, not the likeliest ones: better where labels are
        wrong, and slower. "auto" lets rows held out decide, where there are rows and time enough.
        Without a penalty there is nothing to sample.
    inside : label, None or "auto", default="auto"
        The class inside; None is the greater label. "auto" takes the one whose polyhedron is
        likelier for rows held out. With more than two classes it must be one of them, and says
        nothing: each has a polyhedron.
    n_init : int, default=9
        Online runs to average.
    max_iter : int, default=1000
        Most passes of an online run. Runs over many rows make fewer: a million visits
        (with a margin 100,000), but at least ten passes.
    standardize : bool, default=True
        Learn on columns of zero mean and unit spread (sparse columns are only scaled).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads for folds and for large data; -1 is all cores. None is one, unless
        `joblib.parallel_config` says otherwise. The result does not depend on it.
    verbose : int, default=0
        Print what is tried.
    checkpoint : path, Checkpoint or None, default=None
        A file that a fit which was killed goes on from: see `Checkpoint`.
    digits : int, None or "auto", default="auto"
        Significant digits of coefficients in the units of X. "auto" takes the fewest that cost
        nothing on the training rows, a number at most so many, and offsets are found again after
        that: what is printed is what predicts. None leaves the coefficients as they were learned.
    max_terms : int, None or "auto", default=None
        Most columns that an inequality has. "auto" tries 1, 2, 3, 5 and 8, and takes the fewest
        terms within one standard error of the best. With this parameter, or one of the next four,
        at most 20,000 rows are learned from, and `margin` and `sampled` must be "auto".
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Of a column 1 if the class inside may not become less likely as it rises, -1 if not more
        likely, 0 for either; or a dict of these by column. No inequality that is learned has a
        coefficient of the other sign.
    fixed_faces : str, list of str, Polyhedron, (A, b) or None, default=None
        Inequalities such as "2*age - bmi >= 14", or ``A @ x + b >= 0``, that are part of every
        polyhedron and are never moved; the others are learned around them.
    features_of_faces : list of lists of columns or None, default=None
        An inequality has columns of one of these lists only; columns are names or numbers.
    must_contain : array-like of shape (n_rows, n_features) or None, default=None
        Rows that have to be inside. Each counts up to ten times.

        With ``inside="auto"``, `monotonic_cst`, `fixed_faces` and `must_contain` speak of the
        greater label; with more than two classes they are dicts from the label of a class, and
        hold for the polyhedra of that class: the answer is still the most probable class.

    Attributes
    ----------
    polyhedron_ : Polyhedron
        The learned set, in the units and with the column names of X. Only with two classes, and
        where it is one, as with ``n_polyhedra=1``; `rule_` and `polyhedra_` are there always.
    polyhedra_ : dict of label to Polyhedron
        The polyhedron of each class that has one: the inside class, or all of more than two. Of a
        union a list of them.
    n_polyhedra_ : int
        How many polyhedra the class inside is. With more than two classes a dict from label.
    classes_ : ndarray of shape (n_classes,)
    inside_ : label
        The class inside. Only with two classes, as the next two.
    coef_, intercept_ : ndarrays of shape (n_hyperplanes_, n_features) and (n_hyperplanes_,)
    n_hyperplanes_, margin_, penalty_, sampled_ : int, float or None, float or None, bool
        Hyperplanes that are left, and what was chosen. With more than two classes dicts from label.
    selection_ : dict of str to list
        What was tried, a column each, for ``pandas.DataFrame(model.selection_)``: "inside" (with
        more than two classes "class"), "n_hyperplanes", "margin", "penalty", "sampled",
        "n_polyhedra", "accuracy" on rows held out, and which was "chosen".
    path_ : dict of str to list
        What was tried with `max_terms` or what is known, a column each, few terms first: "inside",
        "max_terms", "n_terms" of the whole rule in the mean of the folds, "n_hyperplanes" and
        "n_polyhedra" in their median, "penalty", "accuracy" on rows held out where `fixed_faces`
        hold, its standard "error", and which was "chosen". With more than two classes "class" in
        the place of "inside".
    verdict_ : Verdict
        How well the rule answers the rows learned from, beside always answering one class, and
        what is remarkable; ``print(model.verdict_)``.
    n_iter_ : int
        Passes of the longest online run; 1 where there was none.
    estimators_ : list of Polyceptron
        One for each class, only with more than two.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)

    See Also
    --------
    OnlinePolyceptron : A single run; also learns from a stream.
    Rule.edit : Changes of a learned rule by hand.

    Notes
    -----
    Up to about 16 million numbers all rows are learned from at once. Of more, a sample of that
    size decides; then all rows refine its hyperplanes: by their likelihood where labels are
    noisy, else by adding the rows that are on the wrong side to the sample.

    Examples
    --------
    >>> from polyceptron import Polyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = Polyceptron(random_state=0).fit(X, y)
    >>> model.n_hyperplanes_, model.score(X, y) > 0.97
    (3, True)

    Two terms at most, and a limit that is known:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Polyceptron(max_terms=2, fixed_faces="x2 <= 6", inside=True, random_state=0)
    >>> print(model.fit(X, y == 1).rule_)
    True if all 3 hold:
      face 0: x2 <= 6
      face 1: x2 >= 2.8
      face 2: 2*x3 + x2 <= 7.95
    Otherwise False.
    """

    n_hyperplanes: int | str = "auto"  # type: ignore[assignment]
    _: KW_ONLY
    n_polyhedra: int | str = "auto"
    max_faces: int | str = "auto"
    margin: float | str | None = "auto"
    penalty: float | str | None = "auto"
    sampled: bool | str = "auto"
    inside: Any = "auto"
    n_init: int = 9
    max_iter: int = 1000
    standardize: bool = True
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    checkpoint: Any = None
    digits: int | str | None = "auto"
    max_terms: int | str | None = None
    monotonic_cst: Any = None
    fixed_faces: Any = None
    features_of_faces: Any = None
    must_contain: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    if not TYPE_CHECKING:  # type checkers would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Say why there is no `polyhedron_`."""
            if name == "polyhedron_" and "rule_" in vars(self):
                n, n_classes = len(self.rule_.pieces), len(self.classes_)
                why, remedy = f"the class is {n} polyhedra", ", or fit with n_polyhedra=1"
                if n_classes > 2:
                    why, remedy = f"there are {n_classes} classes, each with its own", ""
                raise AttributeError(f"no polyhedron_: {why}; see rule_ or polyhedra_{remedy}")
            return super().__getattribute__(name)  # which raises

    def _judge(self, source: Source) -> Iterator[str | Warning]:
        yield from super()._judge(source)
        if len(self.classes_) > 2:
            yield from map(VerdictWarning, unlike_known_rows(self._given, self.rule_))

    def _learn(self, source: Source) -> Iterator[str]:
        for name in set(vars(self)) & _FITTED:  # three classes leave others than two
            delattr(self, name)
        around: Around | None = self.__dict__.pop("_around", None)  # of a refit
        training = TrainingData.of(source, **self._training_options(source))
        starts = {} if around is None else around.starts(training.classes.tolist())
        journal = self._journal(training)
        with journal.going_on():
            if len(training.classes) == 2:
                self._learn_two(training, journal, starts)
            else:
                self._learn_each(training, journal, starts)
                if around and starts and is_worse(self, around, training):
                    self._return_to(around)
        journal.finish()
        yield from ()  # nothing to warn of

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            check_two_classes(classes)
        if len(classes) == 2:
            possible_insides(self.inside, classes)

    def _choose_inside(self, classes: NDArray[Any]) -> int:
        del classes
        return 1  # of training data; the class inside is chosen later

    def _rows_needed(self) -> int:
        return number_or(self.n_hyperplanes, 1)

    @property
    def _given(self) -> dict[str, Any]:
        """What the caller knows, by the names of the parameters."""
        return {name: getattr(self, name) for name in NAMES}

    # --- two classes --------------------------------------------------------------------

    def _learn_two(
        self, training: TrainingData, journal: FitJournal, starts: dict[int, list[StartPiece]]
    ) -> None:
        knowledge, source = None, training.source
        if self.max_terms is not None or any(one is not None for one in self._given.values()):
            knowledge = Knowledge.of(self._given, source.n_features, source.feature_names)
        if starts:
            ((inside, start),) = starts.items()
            learned = PieceByPiece(self, training, inside, start).learned()
        else:
            learned = TwoClassFit(self, training, journal).learned(knowledge)
        self._coordinates, self.classes_ = training.coordinates, training.classes
        self._set_learned(learned)
        # Nobody changes by accident the faces that were given.
        given = [(p, k) for p, n in enumerate(learned.given) for k in range(n)]
        self.rule_ = replace(self.rule_, locked=tuple(given))

    def _set_learned(self, learned: LearnedUnion) -> None:
        """Set the fitted attributes that follow from the polyhedra of the class inside."""
        pieces, chosen, link = learned[:3]
        label = self.classes_.tolist()[chosen.inside]
        self.polyhedra_: dict[Any, Any] = {label: pieces}
        if len(pieces) == 1:
            self._set_rule(pieces[0], chosen.inside, link)
            self.polyhedra_[label] = self.polyhedron_
        else:
            self._inside, self.inside_ = chosen.inside, self.classes_[chosen.inside]
            self.coef_ = np.concatenate([piece.W for piece in pieces])
            self.intercept_ = np.concatenate([piece.b for piece in pieces])
            self.rule_ = Rule.inside(self.classes_, chosen.inside, *pieces, link=link)
        self.n_polyhedra_, self.n_hyperplanes_ = len(pieces), len(self.intercept_)
        self.margin_, self.penalty_, self.sampled_ = chosen.margin, chosen.penalty, chosen.sampled
        self._exponent, self.n_iter_ = learned.exponent, learned.n_iter
        self.selection_ = learned.selection
        if learned.path is not None:
            self.path_ = learned.path

    # --- more classes -------------------------------------------------------------------

    def _learn_each(
        self, training: TrainingData, journal: FitJournal, starts: dict[int, list[StartPiece]]
    ) -> None:
        """A polyhedron for each class against the rest."""
        random = journal.random(check_seed(self.random_state))
        if not is_auto(self.inside):
            check_inside(self.inside, training.classes)
        for name in OF_THE_INSIDE:
            check_by_class(name, getattr(self, name), training.classes.tolist())
        self.estimators_ = []
        for place, label in enumerate(training.classes.tolist()):
            if self.verbose:
                sys.stdout.write(f"Polyceptron: class {label!r} against the rest\n")
            one = self._for_class(label, random.randint(0, 2**31 - 1))
            one.n_features_in_ = training.source.n_features
            part = journal.part(f"class {label!r}")
            with naming_class(label):
                own = {1: starts[place]} if place in starts else {}
                one._learn_two(training.one_against_rest(place), part, own)
            self.estimators_.append(one)
        self.classes_ = training.classes
        self._describe_each()

    def _describe_each(self) -> None:
        """Set the fitted attributes that follow from the estimators of the classes."""
        labels, each = self.classes_.tolist(), self.estimators_
        self.polyhedra_, pieces = {}, []
        for place, (label, one) in enumerate(zip(labels, each, strict=True)):
            parts = [piece.polyhedron for piece in one.rule_.pieces]
            named = [Polyhedron(part.W, part.b, self._names) for part in parts]
            self.polyhedra_[label] = named if len(named) > 1 else named[0]
            pieces += [Piece(part, place) for part in named]
        links = [one.rule_.links[1] for one in each]
        starts = np.cumsum([0, *(len(one.rule_.pieces) for one in each)]).tolist()
        locked = [
            (start + p, k)
            for start, one in zip(starts, each, strict=False)
            for p, k in one.rule_.locked
        ]
        self.rule_ = Rule(self.classes_, tuple(pieces), links=tuple(links), locked=tuple(locked))
        self.n_iter_ = max(one.n_iter_ for one in each)
        for name in ("n_hyperplanes_", "n_polyhedra_", "margin_", "penalty_", "sampled_"):
            values = [getattr(one, name) for one in each]
            setattr(self, name, dict(zip(labels, values, strict=True)))
        self.selection_ = _joined_tables(labels, [one.selection_ for one in each])
        if all("path_" in vars(one) for one in each):
            self.path_ = _joined_tables(labels, [one.path_ for one in each])

    # --- after editing ------------------------------------------------------------------

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        locked: Any = None,
        rule: Rule | None = None,
        why: str = "",
    ) -> Polyceptron:
        """Return a learner like this one that keeps some faces, fitted to these rows.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        locked : list of int, str or (piece, int), default=None
            Faces that stay, named as by `Rule.edit`, beside those that are locked, as given faces
            are. Where those of a class are not the same in all its polyhedra, each keeps its own:
            they are learned again in turn, from the rows that no other holds, and only if the
            rule then answers the rows, as they are weighted, no worse than with those of its faces
            that the parameters allow. One of which all faces stay is left as it is, and each may
            have as many faces as before, whatever `max_faces` is. `selection_` has what was tried
            for each, and there is no `path_`.
        rule : Rule, default=None
            The rule that has them, such as ``rule_.edit().replace(...).rule``; None is `rule_`.
        why : str, default=""
            The reason, which ``rule_.edits`` and the model file keep.

        Examples
        --------
        >>> from polyceptron import Polyceptron
        >>> from polyceptron.datasets import make_dataset1
        >>> X, y = make_dataset1(random_state=0, return_X_y=True)
        >>> model = Polyceptron(max_terms=2, n_polyhedra=1, random_state=0).fit(X, y)
        >>> rule = model.rule_.edit().replace(0, "x0 + x1 >= -5").rule
        >>> again = model.refit(X, y, locked=[0], rule=rule)
        >>> print(again.polyhedron_.to_text().splitlines()[0])
        x0 + x1 >= -5
        """
        rule = self.rule_ if rule is None else rule
        around = Around.of(rule, locked)
        found = {rule.labels[place]: around.common(place) for place in around.places}
        faces: Any = {label: own for label, own in found.items() if len(own)} or None
        own: dict[str, Any] = {}
        if rule.otherwise is not None:
            (label,) = found
            own = {"inside": label}
            if is_auto(self.penalty):  # which speaks of one polyhedron where it is given
                own["n_polyhedra"] = len(rule.pieces)
            faces = faces and faces[label]
        model: Polyceptron = clone(self).set_params(**own, fixed_faces=faces)
        model._around = around
        model.fit(X, y, sample_weight)
        model.rule_ = rule.edit().refitted(model.rule_, why=why).rule
        return model

    def _return_to(self, around: Around) -> None:
        """Set the fitted attributes to those of a rule that is the better one."""
        rule = around.rule
        for place, (label, one) in enumerate(zip(rule.labels, self.estimators_, strict=True)):
            own = [Polyhedron(part.W, part.b) for part in rule.polyhedra[label]]
            n, strength = sum(part.n_faces for part in own), (one.margin_, one.penalty_)
            chosen = Setting(1, n, *strength, one.sampled_, len(own))
            link, table = rule.links[place], one.selection_
            assert link is not None  # each of several classes has one
            one.__dict__.pop("polyhedron_", None)
            one._set_learned(LearnedUnion(own, chosen, link, one._exponent, one.n_iter_, table))
        self._describe_each()
        order = sorted(range(len(rule.pieces)), key=lambda p: rule.pieces[p].place)  # by class
        kept = sorted((order.index(p), k) for p, k in around.kept)
        self.rule_ = replace(self.rule_, locked=tuple(kept))

    def broken_promises(self, rule: Rule) -> list[str]:
        """Say what the parameters promise of classes and a rule that was edited does not keep.

        That is `monotonic_cst`, `fixed_faces` and `must_contain`; each is a sentence.

        Examples
        --------
        >>> from polyceptron import Polyceptron
        >>> from polyceptron.datasets import make_dataset1
        >>> X, y = make_dataset1(random_state=0, return_X_y=True)
        >>> known = {"max_terms": 1, "fixed_faces": "x0 <= 9", "n_polyhedra": 1}
        >>> model = Polyceptron(**known, random_state=0).fit(X, y)
        >>> rule = model.rule_.edit().unlock(0).move(0, to=8).rule
        >>> model.broken_promises(model.rule_), model.broken_promises(rule)
        ([], ['x0 <= 9, one of fixed_faces, is no face of 1'])
        """
        return broken_promises(self._given, rule)

    # --- model files ------------------------------------------------------------------

    _Fitted = PolyceptronFitted
    _parameters_since: ClassVar[dict[str, Any]] = dict.fromkeys(("digits", "max_terms", *NAMES))

    def _plain_parameters(self) -> dict[str, Any]:
        """What is known as arrays, which a file can have."""
        labels = self.classes_.tolist()
        return plain_by_class(self._given, labels, self.n_features_in_, self._names)

    def _fitted(self) -> dict[str, Any]:
        each = getattr(self, "estimators_", None)
        seeds = [one.random_state for one in each] if each else [None]
        pairs = zip(each or [self], seeds, strict=True)
        return {"fits": [one._fitted_class() | {"random_state": seed} for one, seed in pairs]}

    def _fitted_class(self) -> dict[str, Any]:
        labels = self.classes_.tolist()
        own = {name: getattr(self, f"{name}_") for name in _CHOSEN}
        for name in ("selection", "path"):
            table = getattr(self, f"{name}_", None)
            if table is not None:
                own[name] = table | {"inside": [labels.index(label) for label in table["inside"]]}
        return own | {"exponent": self._exponent}

    def _restore(self, rule: Rule, fitted: Any) -> None:
        n = 1 if len(rule.classes) == 2 else len(rule.classes)
        if len(fitted.fits) != n:
            problem = f"must be an array of {n}; got {len(fitted.fits)}"
            raise ModelFileError(problem, f"{FITTED}.fits")
        if n == 1:
            self._set_learned(fitted.fits[0].learned(rule, f"{FITTED}.fits[0]"))
        else:
            self._restore_each(rule, fitted.fits)
        self._check_restored(rule)

    def _restore_each(self, rule: Rule, fits: list[ClassFitted]) -> None:
        if {piece.place for piece in rule.pieces} != set(range(len(fits))) or not rule.links:
            raise ModelFileError("must have a polyhedron for each class", "rule.pieces")
        self.estimators_ = []
        for place, (label, fitted) in enumerate(zip(rule.labels, fits, strict=True)):
            one = self._for_class(label, fitted.random_state)
            one.n_features_in_, one.classes_ = rule.n_features, np.array([False, True])
            parts = [piece.polyhedron for piece in rule.pieces if piece.place == place]
            own = [Polyhedron(part.W, part.b) for part in parts]
            against = Rule.inside(one.classes_, 1, *own, link=rule.links[place])
            one._set_learned(fitted.learned(against, f"{FITTED}.fits[{place}]"))
            self.estimators_.append(one)
        self._describe_each()

    def _for_class(self, label: Any, random_state: int | None) -> Polyceptron:
        """The learner of one class against the rest, not fitted."""
        own: dict[str, Any] = {"inside": True, "class_weight": None, "checkpoint": None}
        own |= of_class(self._given, label)
        return clone(self).set_params(**own, random_state=random_state)  # type: ignore[no-any-return]


def _joined_tables(labels: list[Any], tables: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """Tables of classes as one, which has the class in the place of which of two is inside."""
    names = [name for name in tables[0] if name != "inside"]
    pairs = zip(labels, tables, strict=True)
    owners = [label for label, table in pairs for _ in table["inside"]]
    return {"class": owners} | {name: [v for one in tables for v in one[name]] for name in names}
