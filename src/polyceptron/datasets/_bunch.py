"""What the loaders share: how a set is handed out, and where random numbers come from."""

from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from polyceptron.utils.types import Floats


def pack(
    data: Floats,
    target: NDArray[np.int64],
    feature_names: list[str],
    target_names: tuple[str, str],
    *,
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Any:
    """Return a Bunch, or (data, target), as scikit-learn's loaders do.

    `target_names` are of the labels -1 and +1, and `more` is what else the Bunch holds.
    """
    X: Any = data
    y: Any = target
    frame = None
    if as_frame:
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "as_frame=True needs pandas: pip install polyceptron[pandas]"
            ) from None
        X, y = pd.DataFrame(data, columns=feature_names), pd.Series(target, name="target")
        frame = pd.concat([X, y], axis=1)
    if return_X_y:
        return X, y
    names = {"feature_names": feature_names, "target_names": np.array(target_names)}
    return Bunch(data=X, target=y, frame=frame, **names, **more)


def stored_text(file: str) -> str:
    """Return a file of the folder ``data``."""
    return resources.files("polyceptron.datasets").joinpath("data", file).read_text("utf-8")


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from a seed, None, a Generator or a legacy RandomState."""
    if isinstance(random_state, np.random.RandomState):
        # A draw from it, so that it moves on as its users expect.
        random_state = random_state.randint(2**31)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, a whole number of at least 0, a Generator or a "
            f"RandomState; got {random_state!r}"
        ) from None
