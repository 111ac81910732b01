"""Tables from files: CSV and its kin, Parquet, LIBSVM and .npz, whole or piece by piece.

Whatever is wrong with a file is a `ReaderError` in one line that says where.
"""

from polyceptron.readers._open import Reader, open_table, read_table
from polyceptron.readers._table import MISSING, ReaderError, Table

__all__ = ["MISSING", "Reader", "ReaderError", "Table", "open_table", "read_table"]
