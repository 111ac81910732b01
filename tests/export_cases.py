"""What the tests of the exports share: polyhedra, rows, and names that want to be code."""

import numpy as np

from polyceptron import Polyhedron
from polyceptron.export import ExportError

N_ROWS = 10_000
CANARY = "pwned"
"""A file that appears in the folder of the test if a name is executed."""

HOSTILE = [
    'a"; DROP TABLE data; --',
    "a'; DROP TABLE data; --",
    "`; DROP TABLE data; --",
    "]; DROP TABLE data; --",
    'a" FROM data); DROP TABLE data; --',
    "/* ; */ ; DROP TABLE data",
    "</script><script>require('fs').writeFileSync('pwned', '')</script>",
    "<!-- <script>",
    '*/ int boom = system("touch pwned"); /*',
    "//\nint boom = 1;",
    "??/\n??/",
    "a\nopen('pwned', 'w')\n#",
    "a\r\nopen('pwned', 'w')",
    "a\u2028require('fs').writeFileSync('pwned', '')\u2029",
    "\x0bopen('pwned', 'w')\x0c\x85",
    '"""\nopen("pwned", "w")\n"""',
    "'''",
    "'+open('pwned', 'w').write('')+'",
    '"+require("fs").writeFileSync("pwned","")+"',
    "${require('fs').writeFileSync('pwned', '')}",
    "{open('pwned', 'w')}",
    "%s%n%(x)s{0}",
    "\\",
    "\\\\",
    '\\"',
    "\\'",
    "\\`; DROP TABLE data",
    "\\u0022",
    "\\N{BULLET}",
    "@INSIDE@ @OUTSIDE@ NAME WEIGHTS",
    "\\end{align*}\\immediate\\write18{touch pwned}",
    "}\\input{/etc/hostname}{",
    "#$%&_{}^~<>|",
    "^^5cinput",
    "-- ,, ?` !` `` ''",
    "class",
    "lambda",
    "None",
    "free",
    "st",
    "subject to",
    "End",
    "inf",
    "e3",
    "1e5",
    "face0",
    "a b",
    "a_b",
    "a-b",
    "x46_a_b",
    "__proto__",
    "constructor",
    "größe",
    "\U0001f600\U0001f1e9\U0001f1ea",
    "\u202etxet\u202c",
    "מחיר",
    " ",
    "x" * 10_000,
    "\u00e9" * 10_000,
]
"""Columns that a table may have."""

UNWRITABLE = ["a\0b", "\0", "\ud800", "a\udfff"]
"""What no file of text should hold."""


def polyhedron(names=None, d=5, K=4, seed=0):
    """About half of `rows` are inside."""
    rng = np.random.default_rng(seed)
    d = d if names is None else len(names)
    W = rng.normal(size=(K, d))
    b = np.linalg.norm(W, axis=1) * rng.uniform(0.5, 1.5, K)
    return Polyhedron(W, b, names)


def rows(d=5, n=N_ROWS, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d))


def rows_on_faces(P, n=N_ROWS, seed=2):
    """Rows whose margin at some face is zero but for rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P.n_features)) * 10.0 ** rng.integers(-3, 4, (n, 1))
    k = rng.integers(0, P.n_faces, n)
    others = np.einsum("ij,ij->i", X[:, :-1], P.W[k, :-1]) + P.b[k]
    X[:, -1] = -others / P.W[k, -1]
    return X


def extreme_polyhedra(n, seed=3):
    """Polyhedra and rows of numbers from subnormal to near the largest."""
    rng = np.random.default_rng(seed)
    special = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, 1e308, 1.0, -1.0, 0.1, 2.0**-1022]

    def numbers(shape):
        wide = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 301, shape)
        return np.where(rng.random(shape) < 0.5, rng.choice(special, shape), wide)

    for _ in range(n):
        K, d = rng.integers(1, 5), rng.integers(1, 5)
        W = numbers((K, d))
        W[~W.any(axis=1), 0] = 1.0
        yield Polyhedron(W, numbers(K)), numbers((40, d))


def accepted(names, write):
    """Split names by whether `write` takes a polyhedron with this one alone."""
    fine, refused = [], []
    for name in names:
        try:
            write(Polyhedron([[1.0]], [0.0], [name]))
            fine.append(name)
        except ExportError:
            refused.append(name)
    return fine, refused
