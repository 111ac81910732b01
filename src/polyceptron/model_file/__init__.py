"""Models in files: one JSON document that is checked when it is read, and runs nothing.

``model.schema.json`` beside this file describes the document (JSON Schema, draft 2020-12).
"""

from __future__ import annotations

import json
import sys
import warnings
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polyceptron.model_file._error import ModelFileError
from polyceptron.model_file._json import MAX_BYTES, layout, parse
from polyceptron.model_file._learners import read_learner, write_learner
from polyceptron.model_file._node import Node
from polyceptron.model_file._values import plain, read_labels, write_labels
from polyceptron.utils.atomic import write_bytes

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "VERSION",
    "Model",
    "ModelFileError",
    "load_model",
    "read_model",
    "save_model",
    "schema",
]

FORMAT = "polyceptron model"
VERSION = 1
MAX_FEATURES = 10_000_000
"""Columns: a tree that is a single leaf has no row of them that would say how many there are."""
_FIELDS = (
    "format",
    "version",
    "library",
    "summary",
    "classes",
    "features",
    "encoding",
    "notes",
    "learner",
)


class Model(NamedTuple):
    """What a model file holds.

    Parameters
    ----------
    estimator : object
        A fitted scikit-learn classifier, of the class that was saved.
    encoding : Encoding or None
        How the columns of a table become the estimator's numbers.
    summary : dict
        What was said of the training: any JSON.
    """

    estimator: Any
    encoding: Encoding | None
    summary: dict[str, Any]

    def predict(self, table: Any) -> Any:
        """Return the class of every row of a table, its text columns included.

        Parameters
        ----------
        table : data frame, or mapping of str to array-like
            Columns are found by name; others are ignored. Without an encoding, whatever
            `estimator.predict` takes.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if self.encoding is None:
            return self.estimator.predict(table)
        X = self.encoding.transform(table)
        with warnings.catch_warnings():  # names have been matched
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return self.estimator.predict(X)


def save_model(
    estimator: Any,
    path: str | PathLike[str],
    *,
    encoding: Encoding | None = None,
    summary: dict[str, Any] | None = None,
) -> None:
    """Write a fitted learner to a file, in one step: it is whole, or the old one is still there.

    What is written has been read back and checked before the file is touched.

    Parameters
    ----------
    estimator : object
        A fitted learner of `polyceptron`. All numbers are kept to the last bit, and what
        `partial_fit` needs to go on. A `random_state` that is not a number is not kept.
    path : str or path-like
        A file that is there is replaced; where it is a link, the file that it leads to. A pipe or
        a device is written into.
    encoding : Encoding, default=None
        How the columns of a table become the numbers that the estimator learned from.
    summary : dict, default=None
        What to say of the training, as JSON: numbers of rows, accuracy, and so on.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron.learners import SPLA1
    >>> from polyceptron.model_file import load_model, save_model
    >>> model = SPLA1(1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json", summary={"rows": 4})
    ...     loaded = load_model(f"{folder}/model.json")
    >>> loaded.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """
    data = layout(_document(estimator, encoding, summary)).encode("ascii") + b"\n"
    _read(data, str(path))
    write_bytes(Path(path), data)


def load_model(path: str | PathLike[str]) -> Any:
    """Return the fitted learner of a file, which predicts as the one that was saved did.

    It takes the numbers that it learned from. A model of `polyceptron fit` with columns of text
    learned from their encoding: ``read_model(path).predict(frame)`` answers such a table.

    Parameters
    ----------
    path : str or path-like
        A file that `save_model` wrote.

    Returns
    -------
    object
        A scikit-learn classifier of the class that was saved, with its parameters and fitted
        attributes.

    Raises
    ------
    ModelFileError
        If the file is no model that this version can use. It names the field that is wrong.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from polyceptron.model_file import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     _ = path.write_text('{"format": "polyceptron model", "version": 9}')
    ...     try:
    ...         load_model(path)
    ...     except ModelFileError as error:
    ...         print(error.field, error.problem)
    version must be 1, the one that this version of polyceptron reads; got 9
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
        The estimator, the encoding of columns (or None), and the summary of the training; its
        method `predict` answers a table with columns of text.

    Raises
    ------
    ModelFileError
        If the file is no model that this version can use. It names the field that is wrong.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron.learners import OC1
    >>> from polyceptron.model_file import read_model, save_model
    >>> model = OC1(prune_share=0, random_state=0).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json", summary={"rows": 3})
    ...     estimator, encoding, summary = read_model(f"{folder}/model.json")
    >>> print(estimator.to_text(), encoding, summary)
    if x0 >= 2.5:
        1 (1 of 1)
    else:
        0 (2 of 2) None {'rows': 3}

    Columns of text need the encoding, which `polyceptron fit` saves as well:

    >>> from polyceptron.data.encoding import Encoding
    >>> pets = {"weight": [3, 4, 30, 40], "coat": ["long", "short", "short", "long"]}
    >>> encoding = Encoding.learn(pets)
    >>> model = OC1(prune_share=0, random_state=0).fit(
    ...     encoding.transform(pets), ["cat", "cat", "dog", "dog"]
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json", encoding=encoding)
    ...     loaded = read_model(f"{folder}/model.json")
    >>> loaded.predict({"weight": [5, 35], "coat": ["short", "short"]})
    array(['cat', 'dog'], dtype='<U3')
    """
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return _read(data, str(path))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of model files.

    Examples
    --------
    >>> schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    text = (Path(__file__).parent / "model.schema.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


# --- the document -----------------------------------------------------------------------


def _document(
    estimator: Any, encoding: Encoding | None, summary: dict[str, Any] | None
) -> dict[str, Any]:
    from sklearn.utils.validation import check_is_fitted

    if summary is not None and not isinstance(summary, dict):
        raise ValueError(f"summary must be a dict or None; got {type(summary).__name__}")
    check_is_fitted(estimator)
    learner, notes = write_learner(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": VERSION,
        # The package itself: importing from it would be importing from all that it offers.
        "library": sys.modules["polyceptron"].__version__,
        "summary": plain(summary or {}, "summary"),
        "classes": write_labels(estimator.classes_),
        "features": {
            "count": int(estimator.n_features_in_),
            "names": None if names is None else plain(names, "feature_names_in_"),
        },
        "encoding": None if encoding is None else plain(encoding.to_json(), "encoding"),
        "notes": notes,
        "learner": learner,
    }


def _read(data: bytes, file: str) -> Model:
    try:
        return _model(Node(parse(data)))
    except ModelFileError as error:
        raise ModelFileError(error.problem, error.field, file) from None
    except MemoryError:
        raise ModelFileError("needs more memory than there is", file=file) from None


def _model(document: Node) -> Model:
    _check_version(document)
    fields = document.record(*_FIELDS)
    fields["library"].text()
    for note in fields["notes"].items():
        note.text()
    summary = fields["summary"]
    summary.fields()
    summary.free()
    classes = read_labels(fields["classes"])
    n_features, names = _read_features(fields["features"])
    encoding = _read_encoding(fields["encoding"], n_features, names)
    estimator = read_learner(fields["learner"], classes, n_features, names)
    return Model(estimator, encoding, summary.value)


def _check_version(document: Node) -> None:
    """Before all else: a file of another version may differ in anything but this."""
    fields = document.fields()
    if "format" not in fields or fields["format"].value != FORMAT:
        raise ModelFileError(f'is not a model file: it lacks "format": "{FORMAT}"')
    if "version" not in fields:
        raise ModelFileError("is missing", "version")
    version = fields["version"].whole(1)
    if version != VERSION:
        raise ModelFileError(
            f"must be {VERSION}, the one that this version of polyceptron reads; got {version}",
            "version",
        )


def _read_features(node: Node) -> tuple[int, list[str] | None]:
    fields = node.record("count", "names")
    n_features = fields["count"].whole(1, MAX_FEATURES)
    if fields["names"].is_null:
        return n_features, None
    seen: dict[str, str] = {}
    for item in fields["names"].items(n_features):
        name = item.text()
        if name in seen:
            item.refuse(f"must differ from {seen[name]}")
        seen[name] = item.where
    return n_features, list(seen)


def _read_encoding(node: Node, n_features: int, names: list[str] | None) -> Encoding | None:
    from polyceptron.data.encoding import Encoding

    if node.is_null:
        return None
    try:
        encoding = Encoding.from_json(node.free())
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"is wrong: {error}", node.where) from None
    found = list(encoding.feature_names)
    if len(found) != n_features or (names is not None and found != names):
        raise ModelFileError("must give the features in features.names", node.where)
    return encoding
