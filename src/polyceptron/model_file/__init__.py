"""Models in files: one JSON document that is checked when it is read, and runs nothing.

The parts of a document are typed structs of msgspec, from which its schema is made. JSON itself
is parsed by the standard library, which shows also a field that is there twice.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from polyceptron.data.encoding import Column, Encoding
from polyceptron.learners import registry
from polyceptron.learners.documents import ModelFileError
from polyceptron.model_file import _json, documents
from polyceptron.model_file._json import MAX_BYTES
from polyceptron.model_file.documents import FORMAT, VERSION
from polyceptron.rule import Rule, as_rule, is_pipeline
from polyceptron.utils.atomic import write_bytes

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "VERSION",
    "Model",
    "ModelFileError",
    "SavedRule",
    "decode",
    "encode",
    "load_model",
    "read_model",
    "read_rule",
    "save_model",
    "schema",
]


_VERSIONED = msgspec.defstruct("Versioned", [("version", int)])
_LEARNED = msgspec.defstruct("Learned", [("learner", documents.NamedDocument)])


class Model(NamedTuple):
    """What a model file holds: the estimator, its encoding of columns or None, and the summary."""

    estimator: Any
    encoding: Encoding | None
    summary: dict[str, Any]

    def predict(self, table: Any) -> Any:
        """Return the class of every row of a table, its text columns included.

        Columns of a frame of pandas or polars, of a table of Arrow, or of a mapping of str to
        array-like are found by name; others are ignored. Without an encoding it takes whatever
        `estimator.predict` takes.
        """
        return self._answered("predict", table)

    def predict_proba(self, table: Any) -> Any:
        """Return the probability of every class for every row, as the estimator's `classes_`."""
        return self._answered("predict_proba", table)

    def decision_function(self, table: Any) -> Any:
        """Return the scores of every row: positive for the second of two classes."""
        return self._answered("decision_function", table)

    def _answered(self, method: str, table: Any) -> Any:
        answer = getattr(self.estimator, method, None)
        if answer is None:
            name = type(self.estimator).__name__
            raise AttributeError(f"{name} has no {method}: this model cannot answer by it")
        if self.encoding is None:
            return answer(table)
        X = self.encoding.transform(table)
        with warnings.catch_warnings():  # names have been matched
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return answer(X)


class SavedRule(NamedTuple):
    """The part of a model file that answers rows, and the name of what learned it."""

    rule: Rule
    encoding: Encoding | None
    summary: dict[str, Any]
    learner: str


def save_model(
    estimator: Any,
    path: str | PathLike[str],
    *,
    encoding: Encoding | None = None,
    summary: dict[str, Any] | None = None,
    rule: Rule | None = None,
) -> None:
    """Write a fitted learner to a file, in one step: it is whole, or the old one is still there.

    What is written has been read back and checked before the file is touched.

    Parameters
    ----------
    estimator : object
        A fitted learner of `polyceptron`, or one that is registered. All numbers are kept to the
        last bit, and what `partial_fit` needs to go on. A `random_state` that is not a number is
        not kept. Of a pipeline that ends in a learner, the steps before it are folded into the
        rule and the encoding: ``read_model(path).predict`` takes what the pipeline does.
    path : str or path-like
        A file that is there is replaced; where it is a link, the file that it leads to. A pipe or
        a device is written into.
    encoding : Encoding, default=None
        How the columns of a table become the numbers that the estimator learned from.
    summary : dict, default=None
        What to say of the training, as JSON: numbers of rows, accuracy, and so on.
    rule : Rule, default=None
        The estimator's own rule as `Rule.edit` changed it, to be kept in the place of it; and what
        was done to it. The verdict, being that of the other rule, is left out.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron import SPLA1, load_model, save_model
    >>> model = SPLA1(1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json", summary={"rows": 4})
    ...     loaded = load_model(f"{folder}/model.json")
    >>> loaded.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """
    data = encode(estimator, encoding, summary, rule)
    decode(data, str(path))
    write_bytes(Path(path), data)


def load_model(path: str | PathLike[str]) -> Any:
    """Return the fitted learner of a file, which predicts as the one that was saved did.

    It takes the numbers that it learned from. A model of `polyceptron fit` with columns of text
    learned from their encoding: ``read_model(path).predict(frame)`` answers such a table.
    Parameters and errors are those of `read_model`; `save_model` has an example.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron import SPLA1, load_model, save_model
    >>> model = SPLA1(1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json")
    ...     load_model(f"{folder}/model.json").predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """
    return read_model(path).estimator


def read_model(path: str | PathLike[str]) -> Model:
    """Return all that a model file holds; nothing in it is run.

    Parameters
    ----------
    path : str or path-like
        A file that `save_model` wrote.

    Returns
    -------
    Model
        Its methods `predict`, `predict_proba` and `decision_function` answer a table with columns
        of text.

    Raises
    ------
    ModelFileError
        If the file is no model that this version can use. It names the field that is wrong.
    OSError
        If the file cannot be read.

    Examples
    --------
    Columns of text need the encoding, which `polyceptron fit` saves as well:

    >>> import tempfile
    >>> import pyarrow
    >>> from polyceptron import OC1, open_blocks
    >>> pets = {"weight": [3, 4, 30, 40], "coat": ["long", "short", "short", "long"]}
    >>> pets |= {"kind": ["cat", "cat", "dog", "dog"]}
    >>> source = open_blocks(pyarrow.table(pets), "kind")
    >>> model = OC1(random_state=0).fit(source.X, source.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json", encoding=source.encoding)
    ...     loaded = read_model(f"{folder}/model.json")
    >>> loaded.predict({"weight": [5, 35], "coat": ["short", "short"]})
    array(['cat', 'dog'], dtype='<U3')
    """
    return decode(_content(path), str(path))


def read_rule(path: str | PathLike[str]) -> SavedRule:
    """Return the rule of a model file, which answers as its estimator does; nothing in it is run.

    All that decides is checked as by `read_model`. What is the learner's own (its parameters, its
    history) is not looked at: so this imports no learner, nor scikit-learn, and takes a rule of a
    learner that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron import SPLA1, save_model
    >>> from polyceptron.model_file import read_rule
    >>> model = SPLA1(1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json")
    ...     saved = read_rule(f"{folder}/model.json")
    >>> saved.rule == model.rule_, saved.learner
    (True, 'spla1')
    """
    with _naming(str(path)):
        raw = _json.parse_json(_content(path))
        _check_version(raw)
        document = _json.convert(raw, documents.document_type())
        return SavedRule(*_read_parts(document), document.summary, document.learner.name)


def _content(path: str | PathLike[str]) -> bytes:
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ModelFileError("is not a regular file", file=str(path))  # a pipe may never end
    with Path(path).open("rb") as file:
        return file.read(_json.MAX_BYTES + 1)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of model files of the learners built in."""
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": FORMAT}
    learners = ((name, registry.find_learner(name)) for name in registry.BUILT_IN)
    found = msgspec.json.schema(documents.document_type(*learners))
    return title | dict(_json.plain(found, "schema"))


def encode(
    estimator: Any,
    encoding: Encoding | None = None,
    summary: dict[str, Any] | None = None,
    rule: Rule | None = None,
) -> bytes:
    """Return the content of a model file; see `save_model`."""
    from sklearn.utils.validation import check_is_fitted

    if summary is not None and not isinstance(summary, dict):
        raise ValueError(f"summary must be a dict or None; got {type(summary).__name__}")
    pipeline, estimator = estimator, _learner_of(estimator)
    name = registry.name_of_learner(type(estimator))
    if name is None:
        known = ", ".join(registry.learner_names())
        raise ValueError(
            f"estimator must be a learner of polyceptron ({known}), or a pipeline that ends in "
            f"one; got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    parameters, notes = documents.write_parameters(estimator)
    if not isinstance(rule, Rule | None):
        raise ValueError(f"rule must be a Rule or None; got {type(rule).__name__}")
    verdict = estimator._remembered("verdict_") if rule is None else None
    rule = as_rule(pipeline) if rule is None else rule
    encoding = encoding or rule.encoding
    names = estimator._remembered("feature_names_in_")
    names = names if pipeline is estimator else rule.feature_names
    fitted = _json.plain(estimator._fitted(), "fitted", measured=True)
    document = {
        "format": FORMAT,
        "version": VERSION,
        # The package itself: importing from it would be importing from all that it offers.
        "library": sys.modules["polyceptron"].__version__,
        "summary": _json.plain(summary or {}, "summary"),
        "notes": notes,
        "features": _json.plain(names, "feature_names_in_"),
        "encoding": encoding and msgspec.to_builtins(encoding.columns, enc_hook=np.generic.item),
        "rule": documents.write_rule(rule),
        "verdict": msgspec.to_builtins(verdict),
        **({"edits": [msgspec.structs.asdict(one) for one in rule.edits]} if rule.edits else {}),
        "learner": {"name": name, "parameters": parameters, "fitted": fitted},
    }
    return _json.layout(document).encode("ascii") + b"\n"


def _learner_of(model: Any) -> Any:
    """A learner itself, or the last step of a pipeline, the others of which are folded into it."""
    if not is_pipeline(model):
        return model
    learner = model.steps[-1][1]
    if hasattr(learner, "partial_fit"):
        raise ValueError(
            f"a pipeline that ends in {type(learner).__name__} cannot be saved, as the file keeps "
            "what partial_fit goes on from, which is about the columns of the last step: learn "
            "without a pipeline, with standardize=True"
        )
    return learner


def decode(data: bytes, file: str = "") -> Model:
    """Return what the content of a model file stands for; errors name the file."""
    with _naming(file):
        return _read_document(_json.parse_json(data))


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Make errors name the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(error.problem, error.field, file) from None
    except MemoryError:
        raise ModelFileError("needs more memory than there is", file=file) from None


def _read_parts(document: Any) -> tuple[Rule, Encoding | None]:
    """What answers rows, checked as a whole."""
    _json.plain(document.summary, "summary")
    names = document.features
    (twice, n), *_ = Counter(names or [""]).most_common(1)
    if n > 1:
        raise ModelFileError(f"must differ; {_json.brief(twice)} is there twice", "features")
    rule = documents.rule_of(document.rule, names)
    documents.check_edits(document.edits, rule)
    rule = replace(rule, edits=tuple(document.edits))
    return rule, _read_encoding(document.encoding, names, rule.n_features)


def _read_document(raw: Any) -> Model:
    _check_version(raw)
    name, learner = _find_learner(raw)
    document = _json.convert(raw, documents.document_type((name, learner)))
    rule, encoding = _read_parts(document)
    names = document.features
    estimator = documents.read_parameters(document.learner.parameters, learner)
    estimator.n_features_in_ = rule.n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.classes_ = np.array(rule.classes)
    estimator._restore(rule, document.learner.fitted)
    estimator.rule_ = rule  # which is the same, but knows its edits
    if document.verdict is not None:
        estimator.verdict_ = document.verdict
    return Model(estimator, encoding, document.summary)


def _check_version(raw: Any) -> None:
    """Before all else: a file of another version may differ in anything but this."""
    if type(raw) is not dict:
        raise ModelFileError(f"must be an object; got {_json.brief(raw)}")
    if raw.get("format") != FORMAT:
        raise ModelFileError(f'is not a model file: it lacks "format": "{FORMAT}"')
    version = _json.convert(raw, _VERSIONED).version
    if version != VERSION:
        older = "an older polyceptron: learn the model again, as `polyceptron fit` does"
        newer = "a newer polyceptron, which can be installed"
        remedy = older if version < VERSION else newer
        raise ModelFileError(f"must be {VERSION}, got {version}: it is of {remedy}", "version")


def _find_learner(raw: dict[str, Any]) -> tuple[str, Any]:
    """The name and the class of the learner, which is found by that name alone."""
    name = _json.convert(raw, _LEARNED).learner.name
    if name not in registry.known_names() and name not in registry.learner_names():
        raise ModelFileError(
            f"must be one of {', '.join(registry.learner_names())}; got {_json.brief(name)}: "
            "import or install what registers it",
            "learner.name",
        )
    return name, registry.find_learner(name)


def _read_encoding(
    columns: list[Column] | None, names: list[str] | None, n_features: int
) -> Encoding | None:
    if columns is None:
        return None
    try:
        encoding = Encoding(columns)
    except ValueError as error:
        raise ModelFileError(f"is wrong: {error}", "encoding") from None
    found = list(encoding.feature_names)
    if len(found) != n_features or (names is not None and found != names):
        raise ModelFileError("must give the features that are in features", "encoding")
    return encoding
