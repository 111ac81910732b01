/*
 * Of each class, how its score becomes a probability: a power of two, and outside and inside a
 * slope and a share of lapses. Where all are zero, the score is the log-odds.
 */
static const double @NAME@_link[@CLASSES@][5] = {
@LINKS@
};

/* The log-odds of a class by the score of its best piece. */
static double @NAME@_log_odds(double h, const double *link)
{
    const double *side = link + (h < 0.0 ? 1 : 3);
    double p = 0.5 + (0.5 - side[1]) * tanh(0.5 * side[0] * ldexp(fabs(h), (int)link[0]));
    if (side[0] == 0.0) {
        return h;
    }
    p = h < 0.0 ? 1.0 - p : p;
    return log(p) - log(1.0 - p);
}

/* The place of the most probable class, and its log-odds. */
static int @NAME@_most_probable(const double *x, double *odds)
{
    double best[@CLASSES@];
    int i, answer = 0;
    for (i = 0; i < @CLASSES@; i++) {
        best[i] = -INFINITY;
    }
    for (i = 0; i < @PIECES@; i++) {
        double score = @NAME@_score(x, i);
        int place = @NAME@_place[i];
        best[place] = score > best[place] ? score : best[place];
    }
    for (i = 0; i < @CLASSES@; i++) {
        best[i] = @NAME@_log_odds(best[i], @NAME@_link[i]);
        answer = best[i] > best[answer] ? i : answer;
    }
    *odds = best[answer];
    return answer;
}

/* The log-odds of the answer by its own pieces. NaN if x is not finite. */
double @NAME@_decision(const double x[@FEATURES@])
{
    double odds = NAN;
    if (@NAME@_is_finite(x)) {
        (void)@NAME@_most_probable(x, &odds);
    }
    return odds;
}

/* The place of the label. -1 if x is not finite. */
int @NAME@_predict(const double x[@FEATURES@])
{
    double odds;
    return @NAME@_is_finite(x) ? @NAME@_most_probable(x, &odds) : -1;
}
