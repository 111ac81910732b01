@COMMENT@
const @NAME@ = (function () {
"use strict";
const LABELS = @LABELS@;
// Columns, their categories (null: a number), what a gap counts as (null: an error),
// whether a gap is a number of its own.
const COLUMNS = [
@COLUMNS@
];
// Of each piece the place of its label, its first face, and the one after its last.
const PIECES = @PIECES@;
const W = [
@W@
];
const B = @B@;
// Faces are compared by their margins times these powers of two.
const EXPONENTS = @EXPONENTS@;
const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

@ANSWER@
function scores(row) {
  const x = features(row);
  return PIECES.map(function (piece) {
    let least = Infinity;
    for (let k = piece[1]; k < piece[2]; k++) {
      least = Math.min(least, ldexp(margin(W[k], B[k], x), EXPONENTS[k]));
    }
    return least;
  });
}

function features(row) {
  const x = [];
  const values = inOrder(row);
  COLUMNS.forEach(function (column, i) {
    let value = values[i];
    const isGap = value === null || value === undefined || Number.isNaN(value);
    if (isGap) {
      if (column.fill === null) throw new Error("column " + quoted(column) + " has no value");
      value = column.fill;
    }
    if (column.categories === null) x.push(number(value, column));
    else {
      let text = value === true ? "True" : value === false ? "False" : String(value);
      const isBoolean = /^(true|false)$/i.test(text);
      if (isBoolean && !column.categories.includes(text)) text = text.toLowerCase();
      // Codes may have blanks around them.
      else if (column.categories.every((category) => NUMBER.test(category))) text = text.trim();
      column.categories.forEach(function (category) { x.push(text === category ? 1 : 0); });
    }
    if (column.gap) x.push(isGap ? 1 : 0);
  });
  return x;
}

function inOrder(row) {
  if (Array.isArray(row) || ArrayBuffer.isView(row)) {
    if (row.length === COLUMNS.length) return row;
    throw new Error("a row has " + COLUMNS.length + " values; got " + row.length);
  }
  return COLUMNS.map(function (column) {
    if (row instanceof Map && row.has(column.name)) return row.get(column.name);
    if (Object.prototype.hasOwnProperty.call(row, column.name)) return row[column.name];
    throw new Error("column " + quoted(column) + " is missing");
  });
}

function quoted(column) {
  return JSON.stringify(column.name);
}

function number(value, column) {
  // Of text what files of text may have: no hexadecimal digits.
  const isText = typeof value === "string" && NUMBER.test(value.trim());
  const isNumber = ["number", "bigint", "boolean"].includes(typeof value);
  const result = isText || isNumber ? Number(value) : NaN;
  if (Number.isFinite(result)) return result;
  throw new Error("column " + quoted(column) + " must be a finite number; got " + String(value));
}

function margin(w, b, x) {
  let total = b, size = Math.abs(b);
  for (let j = 0; j < w.length; j++) {
    total += w[j] * x[j];
    size += Math.abs(w[j] * x[j]);
  }
  // Far enough from zero, the sign does not depend on rounding.
  if (Math.abs(total) > size * (w.length + 4) * 2.220446049250313e-16 * 2 + 1e-300) return total;
  total = b;
  for (let j = 0; j < w.length && Number.isFinite(total); j++) total = fma(w[j], x[j], total);
  return Number.isFinite(total) ? total : atScale(w, b, x);
}

function atScale(w, b, x) {
  const ex = exponent(greatest(x));
  const ew = exponent(greatest(w));
  const shift = Math.max(ex + ew, exponent(Math.abs(b))) + w.length.toString(2).length + 1;
  let total = ldexp(b, -shift);
  for (let j = 0; j < w.length; j++) {
    total += ldexp(ldexp(x[j], -ex) * ldexp(w[j], -ew), ex + ew - shift);
  }
  return ldexp(total, shift);
}

function greatest(values) {
  return values.reduce(function (most, value) { return Math.max(most, Math.abs(value)); }, 0);
}

// a * b + c with one rounding.
function fma(a, b, c) {
  const one = parts(a), two = parts(b), three = parts(c);
  const product = one.m * two.m, ep = one.e + two.e, e = Math.min(ep, three.e);
  return rounded((product << BigInt(ep - e)) + (three.m << BigInt(three.e - e)), e);
}

// v = m * 2 ** e with a whole number m.
function parts(v) {
  const e = Math.max(exponent(Math.abs(v)) - 53, -1074);
  return { m: BigInt(ldexp(v, -e)), e: e };
}

// The double nearest to m * 2 ** e, ties to even.
function rounded(m, e) {
  const sign = m < 0n ? -1 : 1;
  m = m < 0n ? -m : m;
  const n = m === 0n ? 0 : m.toString(2).length;
  const drop = n - Math.min(53, n + e + 1074);
  if (drop <= 0) return sign * ldexp(Number(m), e);
  const half = 1n << BigInt(drop - 1), rest = m & ((half << 1n) - 1n);
  let kept = m >> BigInt(drop);
  if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
  return sign * ldexp(Number(kept), e + drop);
}

// The e with 2 ** (e - 1) <= v < 2 ** e; 0 for 0.
function exponent(v) {
  if (v === 0) return 0;
  const small = v < 1e-300;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, small ? v * power(100) : v);
  return ((view.getUint16(0) >> 4) & 0x7ff) - 1022 - (small ? 100 : 0);
}

// v * 2 ** n, rounded once: what becomes too small before the last step ends at zero.
function ldexp(v, n) {
  for (; n > 1023; n -= 1023) v *= power(1023);
  for (let i = 0; i < 3 && n < -1022; i++) { v *= power(-969); n += 969; }
  return v * power(Math.max(n, -1022));
}

// 2 ** n for n from -1022 to 1023.
function power(n) {
  const view = new DataView(new ArrayBuffer(8));
  view.setUint16(0, (n + 1023) << 4);
  return view.getFloat64(0);
}

return { predict, decision, features };
})();
@EXPORTS@
