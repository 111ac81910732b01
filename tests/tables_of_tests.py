"""Tables that the tests of data share, and what becomes of them."""

import numpy as np
import pandas as pd
import pytest

from polyceptron import open_blocks
from polyceptron.data.source import SourceError


def frame(n=1000, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    made = pd.DataFrame(X, columns=["a", "b", "c"])
    made["y"] = np.where(rng.random(n) < 0.4, 7, 3)
    return made


def everything(source):
    return source.take(np.arange(source.n_samples))


def opened(*args, **named):
    source = open_blocks(*args, **named)
    return source, everything(source)


def refused(*args, kind=ValueError, **named):
    """What the error says, in one line."""
    with pytest.raises(kind) as caught:
        open_blocks(*args, **named)
    assert isinstance(caught.value, SourceError)
    assert "\n" not in str(caught.value)
    return str(caught.value)
