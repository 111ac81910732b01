"""What the loaders share: how a set is handed out, and where random numbers come from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats


@dataclass(frozen=True)
class Table:
    """A labelled set before it is packed the way the caller wants it."""

    data: Floats
    target: NDArray[np.int64]
    feature_names: list[str]
    target_names: tuple[str, str]  # of the labels -1 and +1
    description: str
    n_hyperplanes: int  # the paper's K
    polyhedron: Polyhedron | None = None

    def pack(self, *, return_X_y: bool, as_frame: bool) -> Any:
        """Return a Bunch, or (data, target), as scikit-learn's loaders do."""
        data: Any = self.data
        target: Any = self.target
        frame = None
        if as_frame:
            data, target, frame = self._frames()
        if return_X_y:
            return data, target
        from sklearn.utils import Bunch

        return Bunch(
            data=data,
            target=target,
            frame=frame,
            feature_names=list(self.feature_names),
            target_names=np.array(self.target_names),
            DESCR=self.description,
            n_hyperplanes=self.n_hyperplanes,
            polyhedron=self.polyhedron,
        )

    def _frames(self) -> tuple[Any, Any, Any]:
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "as_frame=True needs pandas: pip install polyceptron[pandas]"
            ) from None
        data = pd.DataFrame(self.data, columns=self.feature_names)
        target = pd.Series(self.target, name="target")
        return data, target, pd.concat([data, target], axis=1)


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
