"""Every learner answers as it did when answers.json was recorded."""

import json

import pytest

from golden import record

RECORDED = record.recorded()
pytestmark = [
    # What sockets of Dask leave to the collector is not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_every_case_is_recorded():
    assert RECORDED.keys() == record.CASES.keys()


@pytest.mark.parametrize("name", record.CASES)
def test_the_answers_are_those_recorded(name):
    found = json.loads(record.as_json(record.CASES[name].answers()))
    assert not dict(record.differences(RECORDED[name], found, tolerance=1e-9))
