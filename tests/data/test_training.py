"""Training data: rows of any source, checked once, seen with any class inside."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.data.scaling import identity, standardized
from polyceptron.data.source import ArraySource, SourceError
from polyceptron.data.training import TrainingData

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3)) * [1, 10, 0.1] + 5
CODES = np.arange(50) % 3
LABELS = np.array(["a", "b", "c"])
WEIGHT = RNG.uniform(0.5, 2, 50)


def as_they_are(data, *_):
    return identity(data.n_features)


def training(rows=X, codes=CODES, weight=WEIGHT, inside=1, scaling=as_they_are, **given):
    source = ArraySource(rows, LABELS[codes], weight, block_rows=8)
    return TrainingData.of(source, inside=inside, scaling=scaling, **given)


class TestAllRows:
    def test_labels_and_weights(self):
        found = training()
        assert found.classes.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(found.arrays.y, np.where(CODES == 1, 1, -1))
        np.testing.assert_array_equal(found.arrays.weight, WEIGHT)
        assert found.total_weight == pytest.approx(WEIGHT.sum())
        assert len(found.data) == 7

    def test_weights_of_classes(self):
        found = training(class_weight={"a": 2.0, "c": 0.5})
        by_hand = WEIGHT * np.array([2.0, 1.0, 0.5])[CODES]
        np.testing.assert_array_equal(found.arrays.weight, by_hand)
        assert found.total_weight == pytest.approx(by_hand.sum())

    def test_balanced_classes_weigh_the_same(self):
        weight = training(class_weight="balanced").arrays.weight
        np.testing.assert_allclose(np.bincount(CODES, weight), WEIGHT.sum() / 3)

    def test_the_weights_of_all_classes_take_one_pass(self, monkeypatch):
        passes, reduce = [], ArrayBlocks.reduce
        monkeypatch.setattr(
            ArrayBlocks, "reduce", lambda *given: passes.append(1) or reduce(*given)
        )
        assert training(codes=np.arange(50) % 3).total_weight == pytest.approx(WEIGHT.sum())
        assert len(passes) == 1

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_only_dense_columns_are_centred(self, kind):
        asked = []

        def scaling(data, ends, centred):
            asked.append(centred)
            return standardized(data, ends, centred=centred)

        found = training(kind(X), scaling=scaling)
        assert asked == [kind is np.asarray]
        rows = found.arrays.matrix.toarray() if sp.issparse(kind(X)) else found.arrays.matrix
        expected = X * found.coordinates.scale + found.coordinates.shift
        np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_gaps_are_named(self, value, kind):
        rows = X.copy()
        rows[[17, 30], 2] = value
        with pytest.raises(SourceError, match="row 17: a value that is not a finite number"):
            training(kind(rows))

    def test_a_class_without_weight(self):
        with pytest.raises(ValueError, match="leave class 'b' without weight"):
            training(class_weight={"b": 0.0})
        source = ArraySource(X[:2], ["a", "c"], classes=LABELS)
        with pytest.raises(ValueError, match="leave class 'b' without weight"):
            TrainingData.of(source, inside=0, scaling=as_they_are)

    def test_weights_that_add_up_to_too_much(self):
        with pytest.raises(ValueError, match="must not add up to more than"):
            training(class_weight={"b": 1e303})


class TestOtherViews:
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_some_rows_in_memory(self, kind):
        found = training(kind(X), class_weight={"a": 3.0})
        places = np.array([0, 7, 8, 49])
        some = found.take(places)
        whole = found.arrays
        np.testing.assert_array_equal(some.y, whole.y[places])
        np.testing.assert_array_equal(some.weight, whole.weight[places])
        rows = some.matrix.toarray() if sp.issparse(some.matrix) else some.matrix
        np.testing.assert_array_equal(rows, X[places])

    def test_another_class_inside(self):
        found = training()
        assert found.with_inside(1) is found
        other = found.with_inside(2)
        np.testing.assert_array_equal(other.arrays.y, np.where(CODES == 2, 1, -1))
        assert other.inside == 2

    def test_one_class_against_the_rest(self):
        for place in range(3):
            found = training().one_against_rest(place)
            assert (found.classes.tolist(), found.inside) == ([False, True], 1)
            np.testing.assert_array_equal(found.arrays.y > 0, place == CODES)


class TestStream:
    def part(self, rows, labels, coordinates=None, **given):
        source = ArraySource(rows, labels, classes=LABELS[:2])
        return TrainingData.continued(
            source, inside=1, coordinates=coordinates, scaling=standard, **given
        )

    def test_rows_of_one_class_and_no_rows(self):
        first = self.part(X[:5], ["b"] * 5)
        assert (first.arrays.y == 1).all()
        none = self.part(X[:0], [], first.coordinates)
        assert none.data.n_samples == 0

    def test_coordinates_stay(self):
        first = self.part(X[:10], LABELS[CODES[:10] % 2])
        later = self.part(X[10:] + 100, LABELS[CODES[10:] % 2], first.coordinates)
        expected = first.coordinates.transform(X[10:] + 100)
        np.testing.assert_array_equal(later.arrays.matrix, expected)
        with pytest.raises(ValueError, match="too large for the scaling"):
            self.part(np.full((2, 3), 1e308), ["a", "b"], first.coordinates)

    def test_balanced_needs_all_rows(self):
        with pytest.raises(ValueError, match="'balanced' needs all rows at once"):
            self.part(X[:5], ["b"] * 5, class_weight="balanced")


def standard(data, ends, centred):
    return standardized(data, ends, centred=centred)
