/*
 * @MADE@
 * Features, in order:
@COLUMNS@
@COMMENT@
 */
#include <math.h>

double @NAME@_decision(const double x[@FEATURES@]);
int @NAME@_predict(const double x[@FEATURES@]);
const char *@NAME@_label(const double x[@FEATURES@]);

static const double @NAME@_w[@FACES@][@FEATURES@] = {
@WEIGHTS@
};
static const double @NAME@_b[@FACES@] = {@OFFSETS@};
/* Faces are compared by their margins times these powers of two. */
static const int @NAME@_exponent[@FACES@] = {@EXPONENTS@};
/* Of each piece its first face, and the place of its label. */
static const int @NAME@_first[@PIECES@ + 1] = {@FIRSTS@};
static const int @NAME@_place[@PIECES@] = {@PLACES@};

/* The margin at a scale where finite terms do not overflow; its sign comes out right. */
static double @NAME@_at_scale(const double *w, double b, const double *x)
{
    double most_x = 0.0, most_w = 0.0, total;
    int ex, ew, eb, shift, j;
    for (j = 0; j < @FEATURES@; j++) {
        most_x = fmax(most_x, fabs(x[j]));
        most_w = fmax(most_w, fabs(w[j]));
    }
    (void)frexp(most_x, &ex);
    (void)frexp(most_w, &ew);
    (void)frexp(b, &eb);
    shift = (ex + ew > eb ? ex + ew : eb) + @SPARE@;
    total = ldexp(b, -shift);
    for (j = 0; j < @FEATURES@; j++) {
        double term = ldexp(x[j], -ex) * ldexp(w[j], -ew);
        total += ldexp(term, ex + ew - shift);
    }
    return ldexp(total, shift);
}

static int @NAME@_is_finite(const double *x)
{
    int j;
    for (j = 0; j < @FEATURES@; j++) {
        if (!isfinite(x[j])) {
            return 0;
        }
    }
    return 1;
}

/* The least margin over the inequalities of a piece, which contains x from zero up. */
static double @NAME@_score(const double *x, int piece)
{
    double least = INFINITY;
    int j, k;
    for (k = @NAME@_first[piece]; k < @NAME@_first[piece + 1]; k++) {
        double total = @NAME@_b[k];
        for (j = 0; j < @FEATURES@; j++) {
            total = fma(x[j], @NAME@_w[k][j], total);
        }
        if (!isfinite(total)) {
            total = @NAME@_at_scale(@NAME@_w[k], @NAME@_b[k], x);
        }
        total = ldexp(total, @NAME@_exponent[k]);
        least = total < least ? total : least;
    }
    return least;
}

@ANSWER@
/* The label, or a null pointer if x is not finite. */
const char *@NAME@_label(const double x[@FEATURES@])
{
    static const char *const labels[] = {@LABELS@};
    int answer = @NAME@_predict(x);
    return answer < 0 ? 0 : labels[answer];
}
