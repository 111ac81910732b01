// Of each class, how its score becomes a probability: a power of two, and outside and inside a
// slope and a share of lapses. Where all are zero, the score is the log-odds.
const LINKS = @LINKS@;

// The most probable class; of several, the first.
function predict(row) {
  const odds = logOdds(row);
  return LABELS[odds.indexOf(Math.max(...odds))];
}

// The log-odds of the answer by its own pieces.
function decision(row) {
  return Math.max(...logOdds(row));
}

function logOdds(row) {
  const all = scores(row);
  return LINKS.map(function (link, place) {
    const own = all.filter(function (score, i) { return PIECES[i][0] === place; });
    const h = Math.max(...own);
    const slope = link[h < 0 ? 1 : 3], lapse = link[h < 0 ? 2 : 4];
    if (slope === 0) return h;
    let p = 0.5 + (0.5 - lapse) * Math.tanh(0.5 * slope * ldexp(Math.abs(h), link[0]));
    if (h < 0) p = 1 - p;
    return Math.log(p) - Math.log(1 - p);
  });
}
