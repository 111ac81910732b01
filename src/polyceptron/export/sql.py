"""SQL: a query, a condition or an expression that answers as the polyhedron does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypeAlias

from polyceptron.data.dates import DAYS, part_of
from polyceptron.data.encoding import BOOLEANS, Column, Encoding
from polyceptron.data.guesses import as_number
from polyceptron.export._shared import (
    ExportError,
    ExportOptionError,
    Labelled,
    PlainLabel,
    columns_of,
    labelled,
    refuse_unwritable,
)
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule
from polyceptron.utils.lazy import need
from polyceptron.utils.text import printed_faces
from polyceptron.utils.types import Floats

_PARTS = {
    "month": "EXTRACT(MONTH FROM CAST({} AS TIMESTAMP))",
    "weekday": "(EXTRACT(ISODOW FROM CAST({} AS TIMESTAMP)) - 1)",
    "hour": "EXTRACT(HOUR FROM CAST({} AS TIMESTAMP))",
}
_SECONDS = "CAST(EXTRACT(EPOCH FROM CAST({} AS TIMESTAMP)) AS DOUBLE PRECISION)"
_OF_DATES = {
    "duckdb": _PARTS | {DAYS: "(EPOCH_US(CAST({} AS TIMESTAMP)) / 86400000000.0e0)"},
    "postgres": _PARTS | {DAYS: f"({_SECONDS} / 86400.0)"},
}
"""The numbers that columns of dates become, where dialects differ too much for one way."""
Used: TypeAlias = tuple[Column, slice]
"""A column, and which features it becomes."""
_TOGETHER = 50
_NO_AND_YES = {("no", "yes"), ("n", "y"), ("f", "t")}
"""Words that DuckDB makes BOOLEAN when it reads a file, or may."""
"""Databases limit how deep expressions may be, SQLite and DuckDB to 1000."""


def to_sql(
    polyhedron: Any,
    *,
    table: str | Sequence[str] | None = "data",
    dialect: str = "duckdb",
    inside: Any = None,
    outside: Any = None,
    encoding: Encoding | None = None,
    kind: str = "select",
    name: str = "polyceptron",
) -> str:
    """Return SQL that tells which rows are inside.

    Parameters
    ----------
    polyhedron, inside, outside, encoding : as for `export`
        Several polyhedra of one class are joined by OR; the leaves of a tree are the branches of a
        CASE. Where the most probable class is the answer, a CASE compares the scores of classes.
    table : str, sequence of str or None
        The table; a sequence is its schema and its name. Columns are written with its name, so
        give the alias where your query has one. None leaves it out: not for "select".
    dialect : str
        One that sqlglot writes, such as "duckdb", "sqlite", "postgres", "mysql" or "bigquery".
        The first two are tested by running them.
    kind : {"select", "where", "case"}
        A query that adds a column to the table, a condition for WHERE that rows inside meet, or
        an expression that is a label.
    name : str
        What the added column is called.

    Notes
    -----
    A row with NULL, NaN or a number beyond 1e308 in a column that counts gets the label NULL, and
    does not meet the condition; so does a row that no piece contains where nothing is otherwise.
    Where the encoding fills gaps, NULL counts as what it fills with. In DuckDB and PostgreSQL dates
    become numbers in the query; elsewhere the table needs a column ``month(start)``. A row that is
    nearer to a face than rounding, some 1e-15 of its terms, may come out on the other side, and one
    of which two classes are as probable but for rounding may get either. The scores of classes
    need the function EXP, which SQLite has where it was built with its mathematical functions. Text
    is compared as the database compares it: some, as MySQL, take capitals for small letters. A
    column that DuckDB has as BOOLEAN counts as the words that the model knows, if they are two such
    as no and yes, or F and T; else it gives NULL: it has lost what was written.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> print(to_sql(Polyhedron([[1.0]], [0.5], ['the "dose"s']), outside="it's out"))
    SELECT
      "data".*,
      CASE WHEN "data"."the ""dose""s" BETWEEN -1e+308 AND 1e+308
      THEN CASE WHEN 0.5e0 + 1.0e0 * "data"."the ""dose""s" >= 0
      THEN '1' ELSE 'it''s out' END END AS "polyceptron"
    FROM "data"
    """
    found = labelled(polyhedron, inside, outside, encoding)
    if kind not in ("select", "where", "case"):
        raise ExportOptionError(f"kind must be one of select, where, case; got {kind!r}")
    if table is None and kind == "select":
        raise ExportError("table must be a name where kind is 'select'; got None")
    if kind == "where" and found.rule.inside_place is None:
        raise ExportOptionError("kind 'where' is for one class; 'case' has the labels of several")
    writer = _Writer(dialect, table)
    W, _, _ = found.faces()
    used = [pair for pair in columns_of(found.rule, encoding) if W[:, pair[1]].any()]
    writer.refuse_alike([column.name for column, _ in used])
    needed = [column for column, _ in used if column.kind != "missing"]
    known = _joined_terms(list(map(writer.known, needed)), "\n  AND ") if needed else "1 = 1"
    if found.rule.is_most_probable:
        answer = writer.most_probable(found, used)
    else:
        branches = [
            (place, writer.union([piece.polyhedron for piece in pieces], used))
            for place, pieces in groupby(found.rule.pieces, lambda piece: piece.place)
        ]
        if kind == "where":
            return writer.checked(f"({known}\n  AND {branches[0][1]})", "SELECT 1 WHERE ")
        answer = writer.in_order(found, branches)
    case = f"CASE WHEN {known}\n  THEN {answer} END"
    if kind == "case":
        return writer.checked(case, "SELECT ")
    return writer.checked(
        f"SELECT\n  {writer.table}.*,\n  {case} AS {writer.identifier(name, 'name')}\n"
        f"FROM {writer.source}"
    )


class _Writer:
    """Pieces of SQL in a dialect; remembers what it quoted, to read it back in the end."""

    def __init__(self, dialect: str, table: str | Sequence[str] | None) -> None:
        self.sqlglot = need("sqlglot", "to_sql", "sql")
        self.exp = self.sqlglot.exp
        known = sorted(set(self.sqlglot.Dialect.classes) - {"", "dax", "prql"})
        if dialect not in known:
            raise ExportOptionError(
                f"dialect must be one of {', '.join(known)}; got {dialect!r:.60}"
            )
        self.dialect = dialect
        self.rules = self.sqlglot.Dialect.get_or_raise(dialect)
        self.names: set[str] = set()
        self.texts: set[str] = set()
        self.table = self.source = ""
        if table is not None:
            parts = [table] if isinstance(table, str) else table
            if not isinstance(parts, list | tuple) or not parts:
                raise ExportError(f"table must be a name or a list of names; got {table!r:.60}")
            quoted = [self.identifier(part, "table") for part in parts]
            self.source, self.table = ".".join(quoted), quoted[-1]

    def identifier(self, name: Any, what: str) -> str:
        self._check_text(name, what)
        if not name:
            raise ExportError(f"{what} must not be empty")
        self.names.add(name)
        return str(self.exp.to_identifier(name, quoted=True).sql(dialect=self.dialect))

    def text(self, value: str, what: str) -> str:
        self._check_text(value, what)
        self.texts.add(value)
        return str(self.exp.Literal.string(value).sql(dialect=self.dialect))

    def _check_text(self, text: Any, what: str) -> None:
        if not isinstance(text, str):
            raise ExportError(f"{what} must be text; got {text!r:.60}")
        refuse_unwritable(text, what)
        # Whether a backslash escapes in identifiers is not the same everywhere.
        if "\\" in text and self.rules.tokenizer_class.STRING_ESCAPES != ["'"]:
            raise ExportError(
                f"{what} must not hold a backslash in the dialect {self.dialect}; got {text!r:.60}"
            )

    def number(self, value: float) -> str:
        if self.dialect == "sqlite" and value and not 1e-20 < abs(value) < 1e20:
            return _by_powers_of_two(value)
        text = repr(value) if "e" in repr(value) else f"{value!r}e0"
        if self.dialect in ("duckdb", "sqlite"):  # where 1.5e0 is known to be a double
            return text
        return f"CAST({text} AS {self.exp.DataType.build('double').sql(dialect=self.dialect)})"

    def label(self, label: PlainLabel) -> str:
        if isinstance(label, str):
            return self.text(label, "label")
        if isinstance(label, bool):
            return str(self.exp.Boolean(this=label).sql(dialect=self.dialect))
        return str(label) if isinstance(label, int) else self.number(label)

    def value(self, column: Column) -> str:
        made = part_of(column.name) if self.dialect in _OF_DATES else None
        name = self.identifier(column.name if made is None else made[1], "column name")
        if self.table:
            # SQLite takes "age" for text where no column is called so, but never "data"."age".
            name = f"{self.table}.{name}"
        if made is not None:
            name = _OF_DATES[self.dialect][made[0]].format(name)
        if column.categories == BOOLEANS:  # text, with or without capitals, or a boolean
            kind = self.exp.DataType.build("text").sql(dialect=self.dialect)
            name = f"LOWER(CAST({name} AS {kind}))"
        elif _is_words(column):
            kind = self.exp.DataType.build("text").sql(dialect=self.dialect)
            text = f"CAST({name} AS {kind})"
            if self.dialect == "duckdb" and (pair := _yes_and_no(column.categories)):
                # Of a file, DuckDB makes these words BOOLEAN.
                words = [self.text(word, "category") for word in pair]
                is_flag = f"TYPEOF({name}) = {self.text('BOOLEAN', 'type')}"
                names = f"CASE {text} WHEN 'true' THEN {words[1]} WHEN 'false' THEN {words[0]} END"
                self.texts |= {"true", "false"}
                text = f"CASE WHEN {is_flag} THEN {names} ELSE {text} END"
            name = text
        fill = column.fill
        if fill is None:
            return name
        written = self.text(fill, "fill") if isinstance(fill, str) else self.number(float(fill))
        return f"COALESCE({name}, {written})"

    def known(self, column: Column) -> str:
        """Whether a value is there; DuckDB and PostgreSQL take NaN for the greatest number."""
        if column.is_text:
            known = f"{self.value(column)} IS NOT NULL"
            is_flag = _yes_and_no(column.categories) is not None
            if self.dialect == "duckdb" and _is_words(column) and not is_flag:
                name = self.identifier(column.name, "column name")
                name = f"{self.table}.{name}" if self.table else name
                known += f" AND TYPEOF({name}) <> {self.text('BOOLEAN', 'type')}"
            return known
        return f"{self.value(column)} BETWEEN -1e+308 AND 1e+308"

    def in_order(self, found: Labelled, branches: list[tuple[int, str]]) -> str:
        """The label of the first branch whose condition holds."""
        cases = "\n  ".join(
            f"WHEN {within}\n  THEN {self.label(found.labels[place])}" for place, within in branches
        )
        if found.rule.otherwise is not None:
            cases += f" ELSE {self.label(found.labels[found.rule.otherwise])}"
        return f"CASE {cases} END"

    def most_probable(self, found: Labelled, used: list[Used]) -> str:
        """The label of the first class of the greatest score.

        That is no probability, but rises with it and needs the fewest functions. No query within
        the expression gives it a name, as DuckDB would answer in another order of rows.
        """
        links = found.links()
        if len({bool(slope) for _, slope, *_ in links}) > 1:
            raise ExportError("links of different kinds cannot be compared in SQL")
        ranks = [
            self.rank(self.best(found.rule, place, used), link) for place, link in enumerate(links)
        ]
        cases = [
            f"WHEN {rank}\n  THEN {self.label(label)}"
            for rank, label in zip(ranks, found.labels, strict=True)
        ]
        chosen = "\n  ".join(cases)
        return f"CASE {self.extreme('GREATEST', ranks)}\n  {chosen} END"

    def best(self, rule: Rule, place: int, used: list[Used]) -> str:
        """The score of the best piece of a class."""
        pieces = []
        for one in rule.polyhedra.get(rule.labels[place], ()):
            W, b, exponents = printed_faces(one.W, one.b)
            margins = [
                f"{self.power(int(exponent))}({self.margin(w, offset, used)})"
                for w, offset, exponent in zip(W, b.tolist(), exponents, strict=True)
            ]
            pieces.append(self.extreme("LEAST", margins))
        return self.extreme("GREATEST", pieces) if pieces else self.number(-1e308)

    def rank(self, h: str, link: tuple[float, ...]) -> str:
        """2 P - 1 by the link of a class; its score, where all scores are log-odds.

        Of both sides, that where the score is not adds zero. Beyond 50 nothing changes, but some
        databases fail where an exponential is too small.
        """
        exponent, *sides = link
        if not sides[0]:
            return h
        zero, one, two, most = map(self.number, (0.0, 1.0, 2.0, 50.0))
        parts = []
        for sign, slope, lapse in ((-1.0, *sides[:2]), (1.0, *sides[2:])):
            size = f"{self.number(sign * slope)} * {self.power(int(exponent))}{h}"
            size = self.extreme("LEAST", [self.extreme("GREATEST", [size, zero]), most])
            share = f"({two} / ({one} + EXP(-{size})) - {one})"
            parts.append(f"{self.number(1.0 - 2.0 * lapse)} * {share}")
        return f"({parts[1]} - {parts[0]})"

    def power(self, exponent: int) -> str:
        """A power of two as a factor in front, in two steps where one is beyond a double."""
        half = exponent // 2
        steps = [exponent] if abs(exponent) <= 1000 else [half, exponent - half]
        return "".join(f"{self.number(math.ldexp(1.0, step))} * " for step in steps if step)

    def extreme(self, function: str, values: list[str]) -> str:
        """The least or the greatest of some values."""
        if self.dialect == "sqlite":
            function = {"LEAST": "MIN", "GREATEST": "MAX"}[function]
        while len(values) > 1:
            parts = [values[i : i + _TOGETHER] for i in range(0, len(values), _TOGETHER)]
            values = [f"{function}({', '.join(p)})" if len(p) > 1 else p[0] for p in parts]
        return values[0]

    def union(self, polyhedra: list[Polyhedron], used: list[Used]) -> str:
        """Whether a row is in one of the polyhedra."""
        parts = []
        for one in polyhedra:
            shown = one.printed  # a power of two changes no sign
            faces = zip(shown.W, shown.b.tolist(), strict=True)
            conditions = [f"{self.margin(w, b, used)} >= 0" for w, b in faces]
            parts.append(_joined_terms(conditions, "\n  AND "))
        several = _joined_terms([f"({part})" for part in parts], "\n  OR ")
        return parts[0] if len(parts) == 1 else f"({several})"

    def margin(self, w: Floats, b: float, used: list[Used]) -> str:
        terms = [self.term(column, w[features].tolist()) for column, features in used]
        return _joined_terms([self.number(b), *filter(None, terms)], " + ")

    def term(self, column: Column, weights: list[float]) -> str:
        if not any(weights):
            return ""
        if column.kind == "missing":
            one, zero = self.number(weights[0]), self.number(0.0)
            return f"CASE WHEN {self.value(column)} IS NULL THEN {one} ELSE {zero} END"
        if not column.is_text:
            return f"{self.number(weights[0])} * {self.value(column)}"
        cases = " ".join(
            f"WHEN {self.text(category, 'category')} THEN {self.number(weight)}"
            for category, weight in zip(column.shown_categories, weights, strict=True)
            if weight
        )
        return f"CASE {self.value(column)} {cases} ELSE {self.number(0.0)} END"

    def refuse_alike(self, names: list[str]) -> None:
        """Refuse columns that the database cannot tell apart."""
        strategy = str(self.rules.NORMALIZATION_STRATEGY.value).upper()
        if strategy in ("LOWERCASE", "UPPERCASE") or self.dialect == "clickhouse":
            return  # what is quoted stays as it is
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise ExportError(
                    f"the columns {other!r:.60} and {name!r:.60} differ in capitals only, and "
                    f"the dialect {self.dialect} cannot tell them apart"
                )

    def checked(self, sql: str, before: str = "") -> str:
        """Return what was written if sqlglot reads the same names and texts out of it."""
        try:
            parsed = self.sqlglot.parse(before + sql, read=self.dialect)
            nodes = [node for tree in parsed for node in tree.walk()]
        except self.sqlglot.errors.SqlglotError as error:
            raise ExportError(f"sqlglot cannot read its own {self.dialect}: {error}") from None
        names = {node.this for node in nodes if isinstance(node, self.exp.Identifier)}
        texts = {n.this for n in nodes if isinstance(n, self.exp.Literal) and n.is_string}
        if len(parsed) != 1 or names != self.names or texts != self.texts:
            raise ExportError(
                f"the names and labels cannot be quoted safely in the dialect {self.dialect}"
            )
        return sql


def _yes_and_no(words: Sequence[str]) -> tuple[str, str] | None:
    """The words for false and true, if there are these two and they can be nothing else."""
    if len(words) == 2:
        for pair in (words[0], words[1]), (words[1], words[0]):
            if (pair[0].lower(), pair[1].lower()) in _NO_AND_YES:
                return pair
    return None


def _is_words(column: Column) -> bool:
    """Whether categories are text, and not numbers or booleans."""
    words = column.categories
    return bool(words) and words != BOOLEANS and any(as_number(word) is None for word in words)


def _joined_terms(parts: list[str], sign: str) -> str:
    """Join terms, in brackets where there are many: a plain chain is as deep as it is long."""
    while len(parts) > _TOGETHER:
        parts = [
            f"({sign.join(parts[i : i + _TOGETHER])})" for i in range(0, len(parts), _TOGETHER)
        ]
    return sign.join(parts)


def _by_powers_of_two(value: float) -> str:
    """Return an exact product: SQLite reads far exponents of ten to the last bit but one."""
    mantissa, exponent = math.frexp(value)
    whole, exponent = int(math.ldexp(mantissa, 53)), exponent - 53
    steps, rest = divmod(abs(exponent), 62)
    powers = [2**62] * steps + [2**rest] * (rest > 0)
    sign = " * " if exponent > 0 else " / "
    return "(" + sign.join(f"CAST({part} AS REAL)" for part in [whole, *powers]) + ")"
