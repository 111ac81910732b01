"""Models in files: one JSON document that is checked when it is read, and runs nothing.

The parts of a document are typed structs of msgspec, from which its schema is made. Measured
against pydantic, which would do the same: it is imported in 28 ms against 150 (processor time),
installed it has 0.7 MB against 10, and checks a matrix as fast; both name the field that is wrong.
JSON itself is parsed by the standard library, which shows also a field that is there twice.
"""

from polyceptron.model_file._json import MAX_BYTES
from polyceptron.model_file.documents import FORMAT, VERSION
from polyceptron.model_file.io import (
    Model,
    ModelFileError,
    load_model,
    read_model,
    save_model,
    schema,
)

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
