"""Names of columns that break what takes them for more than words."""

HOSTILE = [
    r"$x^2$ \frac{1}{",
    "</svg><script>alert(1)</script>&\"'",
    "a" * 10_000,
    "b" * 9_999 + "é",
    "tab\tnew\nline\x00\x1b[31m",
    "emoji 😀 中文 עברית العربية \u202e",
    r"\$%#_{}",
    "'; DROP TABLE x; --",
    "__hidden",
    "",
    "\ud800 alone",
]
