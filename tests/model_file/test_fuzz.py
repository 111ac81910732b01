"""Spoilt model files: refused with our own error, or usable."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyceptron import model_file
from polyceptron.model_file import ModelFileError, _json

ROOT = str(Path(__file__).parents[2])

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.characters(categories=["Cs"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def fuzz():
    """The program, which is beside the package and not in it."""
    sys.path.insert(0, ROOT)
    try:
        from benchmarks import fuzz_targets, spoil
    finally:
        sys.path.remove(ROOT)
    return SimpleNamespace(**vars(spoil), model_target=fuzz_targets.model_target)


@pytest.fixture(scope="module")
def target(fuzz):
    return fuzz.model_target()


class TestSpoiltFiles:
    def test_the_whole_files_are_read(self, target):
        assert all(target.read(data) for data in target.corpus)

    @settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
    @given(random=st.randoms(use_true_random=False))
    def test_documents(self, fuzz, target, random):
        """What is taken can be used, and the schema takes it as well."""
        target.read(fuzz.spoilt_document(random, random.choice(target.corpus)))

    @settings(max_examples=75)
    @given(random=st.randoms(use_true_random=False))
    def test_bytes(self, fuzz, target, random):
        how = random.choice([fuzz.spoilt_bytes, fuzz.cut, fuzz.field_twice, fuzz.random_bytes])
        target.read(how(random, random.choice(target.corpus)))

    @settings(max_examples=75)
    @given(value=ANY_JSON, random=st.randoms(use_true_random=False))
    def test_any_value_in_any_place(self, fuzz, target, value, random):
        document = json.loads(random.choice(target.corpus))
        container, key = random.choice(fuzz.places(document))
        container[key] = value
        target.read(json.dumps(document).encode())

    def test_every_place_without_what_is_there(self, fuzz, target):
        for data in target.corpus:
            for number in range(0, len(fuzz.places(json.loads(data))), 4):
                document = json.loads(data)
                container, key = fuzz.places(document)[number]
                del container[key]
                target.read(json.dumps(document).encode())

    def test_every_cut(self, target):
        data = min(target.corpus, key=len)
        for end in range(0, len(data) - 2, 7):  # the last two are a bracket and the end of the line
            with pytest.raises(ModelFileError):
                model_file.decode(data[:end])

    @settings(max_examples=50)
    @given(data=st.binary())
    @example(data=b"\xef\xbb\xbf{}")
    def test_random_bytes(self, target, data):
        assert not target.read(data)

    @settings(max_examples=50)
    @given(value=ANY_JSON)
    def test_random_documents(self, target, value):
        assert not target.read(json.dumps(value).encode())


class TestText:
    """What is written is what is read."""

    @given(value=ANY_JSON)
    def test_layout_is_json(self, value):
        try:
            expected = json.dumps(value, allow_nan=False)
        except ValueError:
            with pytest.raises(ValueError, match="not JSON compliant"):
                _json.layout(value)
        else:
            text = _json.layout(value)
            assert text.isascii()
            assert json.dumps(json.loads(text)) == expected

    @given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
    def test_numbers_to_the_last_bit(self, values):
        read = _json.parse_json(_json.layout(values).encode())
        assert np.array(read).tobytes() == np.array(values).tobytes()
