"""The experiment is the paper's, and its builders say what is wrong."""

import re

import pytest


def test_the_papers_table(protocol):
    """Some cells as the paper prints them."""
    printed = protocol.datasets["dataset2"].printed
    assert (printed["batch"].accuracy, printed["batch"].spread) == (94.56, 0.90)
    assert printed["pcslp"].seconds == 189.91
    assert protocol.datasets["breast-cancer"].printed["oc1"].hyperplanes == 5.82
    assert [d.K for d in protocol.datasets.values()] == [3, 4, 2, 2]
    assert [d.passes for d in protocol.datasets.values()] == [300, 400, 500, 500]
    assert (protocol.folds, protocol.repetitions) == (10, 10)


def test_every_method_builds_with_one_thread_and_its_seed(protocol):
    dataset = protocol.datasets["dataset2"]
    for method in protocol.methods.values():
        known = method.build(dataset, 7).get_params()
        assert not {known[name] for name in known if name.endswith("n_jobs")} - {1, None}
        assert {known[name] for name in known if name.endswith("random_state")} <= {7}
        assert set(method.search_grid()) <= set(known)
    online = protocol.methods["online-paper"].build(dataset, 0)
    assert (online.n_hyperplanes, online.max_iter, online.shuffle) == (4, 400, False)


def test_paper_settings_are_the_papers(protocol):
    batch = protocol.methods["batch-paper"].build(protocol.datasets["dataset1"], 0)
    assert (batch.step_size, batch.tol, batch.margin, batch.n_init) == (0.1, 50, 0, 1)
    assert batch.standardize is False


def test_unknown_names(protocol):
    with pytest.raises(ValueError, match="methods: 'rf' is not one of batch-paper"):
        protocol.choose("methods", ["batch", "rf"])
    assert protocol.choose("methods", ["oc1", "batch"]) == ["batch", "oc1"]


def test_titles_need_no_escaping(protocol):
    """They are written into table1.tex as they are."""
    for one in [*protocol.datasets.values(), *protocol.methods.values()]:
        assert not re.search(r"[\\{}$&#%_~^]", one.title)
