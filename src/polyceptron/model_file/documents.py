"""The parts of a model file as typed structs, and the way from them to values and back.

Types, bounds and unknown fields are msgspec's to check, and the schema is made from the structs.
How one field fits another is checked here.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from polyceptron.calibration import Calibration, Logistic, Side
from polyceptron.data.encoding import Column
from polyceptron.learners.documents import Document, Exponent, Finite, ModelFileError, array
from polyceptron.learners.registry import parameters_of
from polyceptron.model_file._json import brief, plain
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Piece, Rule
from polyceptron.rule.editing import Edit
from polyceptron.utils.checks import as_floats
from polyceptron.utils.text import printed_faces
from polyceptron.verdict import Verdict

FORMAT = "polyceptron model"
VERSION = 2
MAX_PIECES = 9_000
MAX_COEFFICIENTS = 7_000_000
"""Of all pieces: a face of many pieces stands in the file once, but in each of them in memory."""

Label = bool | int | Finite | str
Place = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
# Outside of these bounds 0 / 0 is possible where several classes share 1.
Slope = Annotated[float, Meta(ge=1e-9, le=1e9)]
Lapse = Annotated[float, Meta(ge=1e-9, le=0.5)]
Seed = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class LabelsDocument(Document):
    """The classes, sorted, and numpy's name of their type; "object" has Python's own strings."""

    type: Literal[
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "str", "object",
    ]  # fmt: skip
    labels: Annotated[list[Label], Meta(min_length=1)]


class PieceDocument(Document, omit_defaults=True):
    """A polyhedron: its faces are rows of W and b counted from 1; -k is the other side of k.

    Those at the places ``locked``, from 0, are not to be edited.
    """

    faces: Annotated[list[int], Meta(min_length=1)]
    place: Place
    shares: list[Share] = msgspec.field(default_factory=list)
    locked: list[Place] = msgspec.field(default_factory=list)


class SideDocument(Document):
    """One side of a calibration."""

    slope: Slope
    lapse: Lapse


class LogisticDocument(Document, tag_field="kind", tag="logistic"):
    """P = 1 / (1 + exp(-h))."""


class CalibrationDocument(Document, tag_field="kind", tag="calibration"):
    """P = 1/2 + (1/2 - lapse) tanh(slope |h| / 2) on each side; h is scaled by 2**exponent."""

    outside: SideDocument
    inside: SideDocument
    exponent: Exponent


class RuleDocument(Document, omit_defaults=True):
    """What predicts, whatever the learner; see `polyceptron.rule.Rule`.

    Faces are 2**exponents times W and b, which have the numbers of the text; without them 1 times.
    """

    classes: LabelsDocument
    W: Annotated[list[list[Finite]], Meta(min_length=1)]
    b: list[Finite]
    pieces: Annotated[list[PieceDocument], Meta(min_length=1, max_length=MAX_PIECES)]
    otherwise: Place | None
    links: list[LogisticDocument | CalibrationDocument | None]
    exponents: list[Exponent] = msgspec.field(default_factory=list)


def write_rule(rule: Rule) -> Any:
    """Every face once: pieces that share one, or lie on its two sides, name it."""
    distinct, faces = rule.faces
    pieces = [
        {"faces": numbers, "place": piece.place}
        | ({"shares": piece.shares} if piece.shares else {})
        | ({"locked": held} if (held := [k for q, k in rule.locked if q == p]) else {})
        for p, (piece, numbers) in enumerate(zip(rule.pieces, faces, strict=True))
    ]
    W, b, exponents = printed_faces(distinct[:, :-1], distinct[:, -1])
    document = {
        "classes": _write_labels(rule.classes),
        "W": W,
        "b": b,
        **({"exponents": exponents} if exponents.any() else {}),
        "pieces": pieces,
        "otherwise": rule.otherwise,
        "links": [_write_link(link) for link in rule.links],
    }
    return plain(document, "rule")


def rule_of(document: RuleDocument, names: list[str] | None) -> Rule:
    """The rule, with these names of its columns."""
    n_classes, d = len(document.classes.labels), len(document.W[0])
    W = array(document.W, (len(document.W), max(d, 1)), "rule.W")
    b = array(document.b, (len(W),), "rule.b")
    if document.exponents:
        factors = array(document.exponents, (len(W),), "rule.exponents").astype(int)
        with np.errstate(over="ignore", under="ignore"):
            W, b = np.ldexp(W, factors[:, None]), np.ldexp(b, factors)
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ModelFileError("must leave rule.W and rule.b finite", "rule.exponents")
    if names is not None and len(names) != d:
        problem = f"must be an array of {d}, as rule.W[0] is; got {len(names)}"
        raise ModelFileError(problem, "features")
    flat = np.flatnonzero(~W.any(axis=1))
    if flat.size:
        raise ModelFileError("must have a number that is not zero", f"rule.W[{flat[0]}]")
    _check_pieces(document, n_classes, W.shape)
    if document.otherwise is not None and document.otherwise >= n_classes:
        raise ModelFileError(f"must be less than {n_classes}", "rule.otherwise")
    pieces = []
    for piece in document.pieces:
        faces = np.array(piece.faces)
        sign, rows = np.sign(faces).astype(float), np.abs(faces) - 1
        polyhedron = Polyhedron(W[rows] * sign[:, None], b[rows] * sign, names)
        pieces.append(Piece(polyhedron, piece.place, tuple(piece.shares)))
    classes = _read_labels(document.classes)
    links = tuple(_read_link(link) for link in document.links)
    locked = tuple((p, k) for p, piece in enumerate(document.pieces) for k in piece.locked)
    try:
        return Rule(classes, tuple(pieces), document.otherwise, links, locked)
    except ValueError as error:
        raise ModelFileError(f"is wrong: {error}", "rule") from None


def _check_pieces(document: RuleDocument, n_classes: int, shape: tuple[int, ...]) -> None:
    n_faces, d = shape
    used: set[int] = set()
    n_coefficients, n_shares = 0, n_classes if document.pieces[0].shares else 0
    for number, piece in enumerate(document.pieces):
        used.update(map(abs, piece.faces))
        n_coefficients += len(piece.faces) * max(d, 8)  # short ones cost as much as those of 8
        field = problem = ""
        if not 1 <= min(map(abs, piece.faces)) <= max(map(abs, piece.faces)) <= n_faces:
            field, problem = "faces", f"must be from 1 to {n_faces}, or the negative of that"
        elif piece.place >= n_classes:
            field, problem = "place", f"must be less than {n_classes}; got {piece.place}"
        elif len(piece.shares) != n_shares:
            field, problem = "shares", f"must be an array of {n_shares}; got {len(piece.shares)}"
        elif n_shares and abs(sum(piece.shares) - 1) > 1e-6:
            field, problem = "shares", "must add up to 1"
        if problem:
            raise ModelFileError(problem, f"rule.pieces[{number}].{field}")
        if n_coefficients > MAX_COEFFICIENTS:
            raise ModelFileError(f"have more than {MAX_COEFFICIENTS:,} numbers", "rule.pieces")
    if len(used) < n_faces:
        unused = min(set(range(1, n_faces + 1)) - used)
        raise ModelFileError("is a face of no piece", f"rule.W[{unused - 1}]")


def _write_link(link: Any) -> dict[str, Any] | None:
    if link is None:
        return None
    if isinstance(link, Logistic):
        return {"kind": "logistic"}
    if not isinstance(link, Calibration):
        raise ValueError(f"a link of type {type(link).__name__} cannot be written to a model file")
    sides = {"outside": link.outside._asdict(), "inside": link.inside._asdict()}
    return {"kind": "calibration", **sides, "exponent": link.exponent}


def _read_link(link: LogisticDocument | CalibrationDocument | None) -> Any:
    if isinstance(link, CalibrationDocument):
        outside, inside = (Side(one.slope, one.lapse) for one in (link.outside, link.inside))
        return Calibration(outside, inside, link.exponent)
    return None if link is None else Logistic()


def _write_labels(classes: NDArray[Any]) -> dict[str, Any]:
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    labels = classes.tolist()
    strange = name == "object" and not all(isinstance(label, str) for label in labels)
    if strange or name not in LabelsDocument.__annotations__["type"]:
        raise ValueError(
            f"labels of this type ({classes.dtype}: {labels[0]!r}) cannot be written to a model "
            "file: learn from labels that are text, whole numbers, floats or booleans"
        )
    return {"type": name, "labels": plain(labels, "classes")}


def _read_labels(document: LabelsDocument) -> NDArray[Any]:
    labels = document.labels
    for number, label in enumerate(labels):
        must = "" if _is_of_type(label, document.type) else f"must be of type {document.type}"
        if not must and number > 0 and not labels[number - 1] < label:  # type: ignore[operator]
            must = f"must be greater than the label before it, {brief(labels[number - 1])}"
        if must:
            raise ModelFileError(f"{must}; got {brief(label)}", f"rule.classes.labels[{number}]")
    return np.array(labels, dtype=document.type)


def _is_of_type(label: Any, name: str) -> bool:
    """Whether numpy's type holds the label as it is: text that ends in a zero loses that.

    Objects are text, as they are when they are written.
    """
    if name == "object":
        return isinstance(label, str)
    try:
        with np.errstate(over="ignore", under="ignore"):
            held = np.array([label], dtype=name).tolist()[0]
    except (ValueError, OverflowError):
        return False
    return type(held) is type(label) and held == label


class MappingDocument(Document):
    """A parameter that is a dict, such as weights of classes; its keys keep their types."""

    items: list[tuple[Label, Label | list[Finite | list[Finite]] | None]]


Parameter = Label | None | list[Finite | list[Finite]] | MappingDocument
"""Lists are arrays of one dimension or two."""


def _kept_parameters(learner: type) -> list[str]:
    """Those that a file has: not where the fit wrote its checkpoints."""
    return [name for name in parameters_of(learner) if name != "checkpoint"]


def write_parameters(estimator: Any) -> tuple[dict[str, Any], list[str]]:
    """The parameters of an estimator, and notes on what could not be kept."""
    written: dict[str, Any] = {}
    notes = []
    values = estimator.get_params(deep=False) | getattr(estimator, "_plain_parameters", dict)()
    for name in _kept_parameters(type(estimator)):
        value = values[name]
        if name == "random_state" and not isinstance(value, int | np.integer | None):
            written[name] = None
            notes.append(f"random_state was a {type(value).__name__}, which is not kept")
        elif isinstance(value, dict):
            items = [
                (key, as_floats(own, name) if np.ndim(own) else own) for key, own in value.items()
            ]
            written[name] = {"items": plain(items, name)}
        elif isinstance(value, list | tuple) or np.ndim(value) > 0:
            written[name] = plain(as_floats(value, name), name)
        else:
            written[name] = plain(value, name)
    return written, notes


def read_parameters(parameters: Any, learner: Any) -> Any:
    """An estimator with these parameters, not fitted."""
    field = "learner.parameters"
    values = {name: _read_parameter(getattr(parameters, name), f"{field}.{name}")
              for name in parameters.__struct_fields__}  # fmt: skip
    estimator = learner(**values)
    try:
        getattr(estimator, "_check_parameters", bool)()  # a learner may have no check
    except ImportError:  # it says that fitting needs HiGHS; predicting does not
        pass
    except ValueError as error:
        raise ModelFileError(f"are not those of the learner: {error}", field) from None
    return estimator


def _read_parameter(value: Any, field: str) -> Any:
    if isinstance(value, MappingDocument):
        found = dict(value.items)
        if len(found) < len(value.items):
            raise ModelFileError("must have different keys", f"{field}.items")
        return {key: _read_parameter(own, field) for key, own in found.items()}
    if isinstance(value, list):
        try:
            return np.array(value, dtype=np.float64)
        except ValueError:
            raise ModelFileError("must have rows of one length", field) from None
    return value


def check_edits(edits: list[Edit], rule: Rule) -> None:
    """Refuse dates that there are not, and faces that the rule did not have when it was edited."""
    there, n_dropped = set(rule.edit().addresses), 0
    for number, one in reversed(list(enumerate(edits))):
        field = f"edits[{number}]"
        try:
            datetime.strptime(one.when, "%Y-%m-%dT%H:%M:%SZ")
        except ValueError:
            raise ModelFileError(f"must be a date; got {one.when}", f"{field}.when") from None
        if one.what == "refit":
            return  # the faces were others before
        n_dropped += one.what == "drop"
        owner, slash, k = one.face.rpartition("/")
        later = [int(k) - less for less in range(n_dropped + 1)] if _COUNT.fullmatch(k) else []
        if one.face and there.isdisjoint(f"{owner}{slash}{j}" for j in later):
            raise ModelFileError(f"must be a face; got {brief(one.face)}", f"{field}.face")


_COUNT = re.compile("[0-9]{1,9}")


class ModelDocument(Document):
    """A model file, but for the learner's own part."""

    format: Literal["polyceptron model"]
    version: Literal[2]
    library: str
    summary: dict[str, Any]
    notes: list[str]
    features: Annotated[list[str], Meta(min_length=1)] | None
    encoding: Annotated[list[Column], Meta(min_length=1)] | None
    rule: RuleDocument
    verdict: Verdict | None = None
    edits: list[Edit] = msgspec.field(default_factory=list)


class NamedDocument(msgspec.Struct):
    """The learner's own part, of which only the name is looked at."""

    name: str


@lru_cache
def document_type(*learners: tuple[str, Any]) -> Any:
    """The struct of a model file of one of these learners: pairs of a name and a class.

    Given none, that of any learner, whose own part is not looked at.
    """
    options: dict[str, Any] = {"bases": (Document,), "module": __name__, "kw_only": True}
    kinds = []
    for name, learner in learners:
        title = learner.__name__
        later = getattr(learner, "_parameters_since", {})
        types: list[Any] = [
            (one, Seed | None if one == "random_state" else Parameter)
            + ((later[one],) if one in later else ())
            for one in _kept_parameters(learner)
        ]
        parameters = msgspec.defstruct(f"{title}Parameters", types, **options)
        fields = [("parameters", parameters), ("fitted", learner._Fitted)]
        kinds.append(msgspec.defstruct(title, fields, tag_field="name", tag=name, **options))
    whole = [("learner", reduce(or_, kinds) if kinds else NamedDocument)]
    bases = (ModelDocument,)
    return msgspec.defstruct("Model", whole, bases=bases, module=__name__, kw_only=True)
