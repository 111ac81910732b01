"""How much memory there is, and how much of it a fit may take."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SHARE = 4
"""A file larger than this part of memory is not read into it: rows take more than their file."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 1.5GB or 800M."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?", str(value).strip().lower())
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is not a size such as 1.5GB or 800M.", param, ctx)
        return int(float(found[1]) * _UNITS[found[2]])


def memory() -> int:
    """Bytes of memory that this process may have."""
    there = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _LIMITS:  # of a container
        try:
            there.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(there)


def is_too_large(data: str, limit: int | None) -> bool:
    """Whether a file should not be read into memory."""
    try:
        size = Path(data).stat().st_size
    except OSError:
        return False  # whoever reads it says what is wrong
    return size > min(limit or memory(), memory()) / _SHARE
