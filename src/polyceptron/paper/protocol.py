"""What is measured: the sets, methods, grids and printed figures of paper.toml."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class Printed:
    """One cell of the paper's table: accuracy and its spread in %, seconds, hyperplanes."""

    accuracy: float
    spread: float
    seconds: float
    hyperplanes: int | float


@dataclass(frozen=True)
class Dataset:
    """A set of the paper, called ``title`` in `paper_datasets`, and what is printed for it."""

    key: str
    title: str
    K: int
    passes: int
    printed: Mapping[str, Printed]


@dataclass(frozen=True)
class Method:
    """An estimator with its parameters; ``printed`` names its row in the paper's table.

    ``kind`` decides how figures draw it.
    """

    key: str
    title: str
    short: str
    estimator: str
    kind: Literal["paper", "ours", "rival", "baseline"] = "baseline"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    printed: str | None = None
    scale: bool = False

    def build(self, dataset: Dataset, seed: int) -> Any:
        """A new estimator for this set, one thread."""
        module, _, name = self.estimator.rpartition(".")
        make = getattr(import_module(module), name)
        known = make().get_params()
        always = {"random_state": seed} | ({"n_jobs": 1} if module == "polyceptron" else {})
        given = {name: value for name, value in always.items() if name in known}
        model = make(**self.given(dataset), **given)
        return make_pipeline(StandardScaler(), model) if self.scale else model

    def given(self, dataset: Dataset) -> dict[str, Any]:
        """The parameters with the K and the passes of this set."""
        of_set = {"K": dataset.K, "passes": dataset.passes}
        return {name: of_set.get(value, value) for name, value in self.parameters.items()}

    def search_grid(self) -> dict[str, list[Any]]:
        """The grid with the names that `build`'s estimator knows them by."""
        prefix = self.estimator.rpartition(".")[2].lower() + "__" if self.scale else ""
        return {prefix + name: list(values) for name, values in self.grid.items()}


@dataclass(frozen=True)
class Protocol:
    """The whole experiment. ``digest`` changes with whatever decides a number.

    ``reasons`` say by method and set why ours may be below the printed figure, where we think
    we know.
    """

    folds: int
    repetitions: int
    quick_repetitions: int
    tuning_folds: int
    baseline: str
    datasets: Mapping[str, Dataset]
    methods: Mapping[str, Method]
    reasons: Mapping[str, Mapping[str, str]]
    digest: str

    def choose(self, what: str, keys: Iterable[str] | None) -> list[str]:
        """The keys of ``datasets`` or ``methods`` asked for, in the order of the file."""
        known = list(getattr(self, what))
        wanted = known if keys is None else list(keys)
        for key in wanted:
            if key not in known:
                raise ValueError(f"{what}: {key!r} is not one of {', '.join(known)}")
        return [key for key in known if key in wanted]


@lru_cache(maxsize=1)
def load_protocol() -> Protocol:
    """The experiment of paper.toml."""
    raw = tomllib.loads(files("polyceptron.paper").joinpath("paper.toml").read_text("utf-8"))
    digest = _digest_of_protocol(raw)
    for part in ("datasets", "methods"):
        raw[part] = {key: {"key": key, **given} for key, given in raw[part].items()}
    return msgspec.convert({**raw, "digest": digest}, Protocol)


def _digest_of_protocol(raw: Any) -> str:
    """Of what decides a number: neither words nor how many repetitions there are."""
    words = ["reasons", "printed", "title", "short", "kind"]
    words += ["repetitions", "quick_repetitions", "baseline"]

    def deciding(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: deciding(one) for key, one in value.items() if key not in words}

    return hashlib.sha256(json.dumps(deciding(raw), sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Of the code that results come from: all of the package but what only shows them."""
    root, digest = Path(str(files("polyceptron"))), hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        shows = name.parts[0] in ("cli", "plots", "paper") and name.stem != "baselines"
        if not shows:
            digest.update(f"{name.as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()
