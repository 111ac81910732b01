"""Names and modules that are loaded when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` (PEP 562): each name is in a module, or is that."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name])
        value = module if module.__name__ == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *homes})


def need(module: str, what: str, extra: str | None = None) -> Any:
    """Return an optional module, or say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        # From a checkout, the index need not know the project.
        root = Path(__file__).parents[3]
        home = f"-e '{root}" if (root / "pyproject.toml").is_file() else "'polyceptron"
        wanted = f"{home}[{extra}]'" if extra else package
        raise ImportError(f"{what} needs {package}: pip install {wanted}") from None
