#include <math.h>

double NAME_decision(const double x[FEATURES]);
int NAME_predict(const double x[FEATURES]);
const char *NAME_label(const double x[FEATURES]);

static const double NAME_w[FACES][FEATURES] = {
WEIGHTS
};
static const double NAME_b[FACES] = {OFFSETS};
/* Of each piece its first face, and the place of its label. */
static const int NAME_first[PIECES + 1] = {FIRSTS};
static const int NAME_place[PIECES] = {PLACES};
/* The place of the label of rows in no piece; below zero, that of the nearest piece. */
static const int NAME_otherwise = OTHERWISE;

/* The margin at a scale where finite terms do not overflow; its sign comes out right. */
static double NAME_at_scale(const double *w, double b, const double *x)
{
    double most_x = 0.0, most_w = 0.0, total;
    int ex, ew, eb, shift, j;
    for (j = 0; j < FEATURES; j++) {
        most_x = fmax(most_x, fabs(x[j]));
        most_w = fmax(most_w, fabs(w[j]));
    }
    (void)frexp(most_x, &ex);
    (void)frexp(most_w, &ew);
    (void)frexp(b, &eb);
    shift = (ex + ew > eb ? ex + ew : eb) + SPARE;
    total = ldexp(b, -shift);
    for (j = 0; j < FEATURES; j++) {
        double term = ldexp(x[j], -ex) * ldexp(w[j], -ew);
        total += ldexp(term, ex + ew - shift);
    }
    return ldexp(total, shift);
}

static int NAME_is_finite(const double *x)
{
    int j;
    for (j = 0; j < FEATURES; j++) {
        if (!isfinite(x[j])) {
            return 0;
        }
    }
    return 1;
}

/* The least margin over the inequalities of a piece, which contains x from zero up. */
static double NAME_score(const double *x, int piece)
{
    double least = INFINITY;
    int j, k;
    for (k = NAME_first[piece]; k < NAME_first[piece + 1]; k++) {
        double total = NAME_b[k];
        for (j = 0; j < FEATURES; j++) {
            total = fma(x[j], NAME_w[k][j], total);
        }
        if (!isfinite(total)) {
            total = NAME_at_scale(NAME_w[k], NAME_b[k], x);
        }
        least = total < least ? total : least;
    }
    return least;
}

/* The score of the best piece. NaN if x is not finite. */
double NAME_decision(const double x[FEATURES])
{
    double best = -INFINITY;
    int i;
    for (i = 0; i < PIECES; i++) {
        double score = NAME_score(x, i);
        best = score > best ? score : best;
    }
    return NAME_is_finite(x) ? best : NAN;
}

/* The place of the label: 1 inside, 0 outside of a single class. -1 if x is not finite. */
int NAME_predict(const double x[FEATURES])
{
    double best = -INFINITY;
    int i, nearest = NAME_place[0];
    if (!NAME_is_finite(x)) {
        return -1;
    }
    for (i = 0; i < PIECES; i++) {
        double score = NAME_score(x, i);
        if (score >= 0.0) {
            return NAME_place[i];
        }
        if (score > best) {
            best = score;
            nearest = NAME_place[i];
        }
    }
    return NAME_otherwise < 0 ? nearest : NAME_otherwise;
}

/* The label, or a null pointer if x is not finite. */
const char *NAME_label(const double x[FEATURES])
{
    static const char *const labels[] = {@LABELS@};
    int answer = NAME_predict(x);
    return answer < 0 ? 0 : labels[answer];
}
