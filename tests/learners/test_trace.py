"""What a learner had learned on the way."""

import numpy as np
import pytest

from polyceptron import PCSLP, SPLA1, SPLA2, BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import make_polyhedron
from polyceptron.learners.trace import learning_frames

ROWS, LABELS, _ = make_polyhedron(60, 2, 3, random_state=0)


@pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2, PCSLP])
@pytest.mark.parametrize("K", [1, 3])
def test_frames_of_every_learner_of_steps(learner, K):
    one = learner(K, random_state=0)
    frames, inside = learning_frames(one, ROWS, LABELS, 6)
    assert 2 <= len(frames) <= 6
    assert (frames[0].when, inside) == ("at the start", 1)
    assert not hasattr(one, "polyhedron_")  # the learner is left as it is
    assert learning_frames(learner(K, random_state=0), ROWS, LABELS, 6) == (frames, inside)


def test_last_frame_of_a_run_that_finishes_is_the_answer_of_fit():
    clear = np.abs(ROWS[:, 0]) > 0.2
    X, y = ROWS[clear], ROWS[clear, 0] > 0
    learner = BatchPolyceptron(1, margin=0.0, n_init=1, standardize=False, random_state=0)
    frames, _ = learning_frames(learner, X, y, 500)
    fitted = learner.fit(X, y)
    assert fitted.converged_
    assert len(frames) == fitted.n_iter_ + 1
    assert frames[-1].polyhedron == fitted.polyhedron_


def test_online_frames_are_those_of_partial_fit():
    frames, _ = learning_frames(
        OnlinePolyceptron(2, shuffle=False, random_state=3), ROWS, LABELS, 5
    )
    n = int(frames[1].when.split()[1])
    stream = OnlinePolyceptron(2, shuffle=False, random_state=3)
    stream.partial_fit(ROWS[:n], LABELS[:n], classes=[-1, 1])
    assert frames[1].polyhedron == stream.polyhedron_


@pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron])
def test_frames_have_the_names_of_a_data_frame(learner):
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame(ROWS, columns=["age", "$dose"])
    frames, _ = learning_frames(learner(2, random_state=0), rows, LABELS, 3)
    assert {frame.polyhedron.feature_names for frame in frames} == {("age", "$dose")}
