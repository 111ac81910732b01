// The place of the label of rows in no piece; null: that of the nearest piece.
const OTHERWISE = @OTHERWISE@;

function predict(row) {
  const all = scores(row);
  const inside = all.findIndex(function (score) { return score >= 0; });
  if (inside < 0 && OTHERWISE !== null) return LABELS[OTHERWISE];
  return LABELS[PIECES[inside < 0 ? all.indexOf(Math.max(...all)) : inside][0]];
}

// The least margin of a row, in the best of the pieces; it is inside from zero up.
function decision(row) {
  return Math.max(...scores(row));
}
