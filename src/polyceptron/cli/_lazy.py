"""Modules that are heavy to import, so that --help is quick: each is loaded when it is first used.

What `polyceptron` itself exports is loaded so as well: commands write ``polyceptron.explain.X``.
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module until something of it is needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


columns = LazyModule("polyceptron.data.columns")
encoding = LazyModule("polyceptron.data.encoding")
model_selection = LazyModule("sklearn.model_selection")
np = LazyModule("numpy")
rich_progress = LazyModule("rich.progress")
source = LazyModule("polyceptron.data.source")
tables = LazyModule("polyceptron.data.tables")
text = LazyModule("polyceptron.utils.text")
