"""What a benchmark is, and the list of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    """What a ratio must reach: ``Bar("<=", 3.0)``."""

    sense: str
    value: float

    def __str__(self) -> str:
        return f"{self.sense} {self.value:g}"

    def holds(self, measured: float) -> bool:
        return measured <= self.value if self.sense == "<=" else measured >= self.value


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    ``seconds`` has the absolute times behind the ratio; a line without a bar is for
    information. ``ratio`` is None where this machine cannot measure it.
    """

    name: str
    ratio: float | None
    bar: Bar | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """True or False, or None where there is nothing to judge."""
        if self.bar is None or self.ratio is None:
            return None
        return self.bar.holds(self.ratio)


@dataclass(frozen=True)
class Sizes:
    """How much data to measure on: the README's sizes, or a tenth of them."""

    quick: bool = False

    def rows(self, n: int) -> int:
        return n // 10 if self.quick else n

    def rounds(self, n: int) -> int:
        return max(2, n // 3) if self.quick else n


Benchmark = Callable[[Sizes], Iterator[Measurement]]
BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(function: Benchmark) -> Benchmark:
    """Add a benchmark to the list, under the name of the function."""
    BENCHMARKS[function.__name__] = function
    return function
