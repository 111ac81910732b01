"""Labelled rows in blocks, wherever they are: what `fit_blocks` learns from."""

from polyceptron.data.arrays import ArraySource
from polyceptron.data.source import Source, SourceError
from polyceptron.sources._files import FileSource
from polyceptron.sources._open import open_blocks

__all__ = ["ArraySource", "FileSource", "Source", "SourceError", "open_blocks"]
