/* The place of the label of rows in no piece; below zero, that of the nearest piece. */
static const int @NAME@_otherwise = @OTHERWISE@;

/* The score of the best piece. NaN if x is not finite. */
double @NAME@_decision(const double x[@FEATURES@])
{
    double best = -INFINITY;
    int i;
    for (i = 0; i < @PIECES@; i++) {
        double score = @NAME@_score(x, i);
        best = score > best ? score : best;
    }
    return @NAME@_is_finite(x) ? best : NAN;
}

/* The place of the label: 1 inside, 0 outside of a single class. -1 if x is not finite. */
int @NAME@_predict(const double x[@FEATURES@])
{
    double best = -INFINITY;
    int i, nearest = @NAME@_place[0];
    if (!@NAME@_is_finite(x)) {
        return -1;
    }
    for (i = 0; i < @PIECES@; i++) {
        double score = @NAME@_score(x, i);
        if (score >= 0.0) {
            return @NAME@_place[i];
        }
        if (score > best) {
            best = score;
            nearest = @NAME@_place[i];
        }
    }
    return @NAME@_otherwise < 0 ? nearest : @NAME@_otherwise;
}
