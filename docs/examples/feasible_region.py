"""Learn a feasible region from simulations, then optimise over it.

A batch reactor turns A into the product B, and B slowly into waste. The reaction heats itself. We
choose the temperature to start at, the flow of cooling water and the duration. A run is good if
it never exceeds 85 degrees and ends with enough B. Whether it does, only a simulation can say; an
optimiser needs inequalities. So: simulate some designs, learn the good ones as a polyhedron, hand
its inequalities to a linear program, and simulate what that proposes.

Run it with ``python docs/examples/feasible_region.py``; it takes a few seconds.
"""

# ruff: noqa: T201 - an example prints

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from polyceptron import Polyceptron, Polyhedron
from polyceptron.export import export, to_scipy

NAMES = ["start (C)", "cooling (kg/min)", "duration (min)"]
LOW, HIGH = np.array([40.0, 0.0, 20.0]), np.array([80.0, 8.0, 120.0])
COST = np.array([0.02, 0.35, 0.05])  # of a degree, of a kg/min, of a minute: what to minimise


def simulate(designs: np.ndarray, n_steps: int = 600) -> np.ndarray:
    """Return whether each run is good."""
    temperature, cooling, duration = designs.T.copy()
    a, b = np.ones(len(designs)), np.zeros(len(designs))
    hottest = temperature.copy()
    step = duration / n_steps
    for _ in range(n_steps):
        kelvin = temperature + 273.15
        makes = 0.06 * np.exp(6000 * (1 / 333.15 - 1 / kelvin)) * a
        wastes = 0.002 * np.exp(9000 * (1 / 333.15 - 1 / kelvin)) * b
        heat = 110 * makes - (0.01 + 0.02 * cooling) * (temperature - 20)
        a, b = a - step * makes, b + step * (makes - wastes)
        temperature = temperature + step * heat
        hottest = np.maximum(hottest, temperature)
    return (hottest <= 85) & (b >= 0.75)


def cheapest(region: Polyhedron) -> np.ndarray:
    """Return the design of least cost in the region."""
    A_ub, b_ub = to_scipy(region)
    found = linprog(COST, A_ub, b_ub, bounds=np.column_stack([LOW, HIGH]))
    if found.status != 0:
        raise SystemExit(f"no design is inside: {found.message}")
    return found.x


def propose(designs: np.ndarray, good: np.ndarray) -> tuple[Polyhedron, np.ndarray]:
    """Learn the region of the good designs, and return it with its cheapest point."""
    model = Polyceptron(4, inside=True, margin=0, random_state=0).fit(designs, good)
    region = Polyhedron(model.coef_, model.intercept_, NAMES)
    print(f"  learned {region.n_faces} inequalities, right for {model.score(designs, good):.1%}")
    return region, cheapest(region)


def step_inside(region: Polyhedron) -> np.ndarray:
    """Move all faces inwards until the simulation of the cheapest design agrees."""
    inner, best = region.normalized(), cheapest(region)
    while not simulate(best[None, :])[0]:
        inner = Polyhedron(inner.W, inner.b - 0.05, NAMES)
        best = cheapest(inner)
    return best


def main() -> tuple[np.ndarray, Polyhedron]:
    """Simulate, learn, optimise; look closer at the proposal and do it again."""
    rng = np.random.default_rng(0)
    designs = rng.uniform(LOW, HIGH, (1000, 3))
    good = simulate(designs)
    print(f"{len(designs)} designs simulated, {good.mean():.0%} of them good")
    print(f"  the cheapest good one costs {(designs[good] @ COST).min():.2f}")

    for _ in range(3):
        region, best = propose(designs, good)
        holds = simulate(best[None, :])
        print(f"  the proposal costs {best @ COST:.2f} and is {'' if holds[0] else 'not '}good")
        # More simulations where it matters: about the proposal.
        near = rng.normal(best, (HIGH - LOW) * 0.08, (200, 3)).clip(LOW, HIGH)
        designs = np.vstack([designs, best[None, :], near])
        good = np.concatenate([good, holds, simulate(near)])

    best = step_inside(region)
    print(f"after {len(designs)} simulations, a design that is good and costs {best @ COST:.2f}:")
    for name, value in zip(NAMES, best, strict=True):
        print(f"  {name}: {value:.2f}")
    print(f"in this region:\n{region}")

    grid = np.stack(np.meshgrid(*np.linspace(LOW, HIGH, 31).T), axis=-1).reshape(-1, 3)
    least = (grid[simulate(grid, 300)] @ COST).min()
    print(f"for comparison, the cheapest of {len(grid)} designs on a grid costs {least:.2f}")
    print(f"for another solver:\n{export(region, 'lp')}", end="")
    return best, region


if __name__ == "__main__":
    main()
