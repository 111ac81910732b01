"""Results on disk: whole lines, one writer, nothing lost."""

import json

import pytest

from polyceptron.paper.results_log import ResultsLog, ResultsLogError, read_results

HEADER = {"kind": "test", "seed": 0}


@pytest.fixture
def path(tmp_path):
    """A log with one result, in a folder that was not there."""
    path = tmp_path / "a" / "b.jsonl"
    with ResultsLog(path, HEADER, dict) as log:
        log.append({"x": "é\n"})
        # It is there before the log is closed.
        assert read_results(path, dict) == (HEADER, [{"x": "é\n"}])
    return path


def results(path):
    return read_results(path, dict)[1]


def test_resume_goes_on(path):
    with ResultsLog(path, HEADER, dict, resume=True) as log:
        assert log.results == [{"x": "é\n"}]
        log.append({"x": 2})
        assert log.results == [{"x": "é\n"}, {"x": 2}]
    lines = path.read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [HEADER, {"x": "é\n"}, {"x": 2}]


def test_resume_without_a_log_starts_one(tmp_path):
    with ResultsLog(tmp_path / "a.jsonl", HEADER, dict, resume=True) as log:
        assert log.results == []


def test_results_are_not_thrown_away_unasked(path):
    with pytest.raises(ResultsLogError, match="1 results are there already; --resume"):
        ResultsLog(path, HEADER, dict)
    assert len(results(path)) == 1
    ResultsLog(path, {**HEADER, "seed": 1}, dict, overwrite=True).close()
    assert read_results(path, dict) == ({**HEADER, "seed": 1}, [])


@pytest.mark.parametrize("torn", [b'{"x"', b'{"x": 2}', b"\xff"])
def test_a_torn_line_is_cut_off(path, torn):
    with path.open("ab") as file:
        file.write(torn)
    assert results(path) == [{"x": "é\n"}]
    with ResultsLog(path, HEADER, dict, resume=True) as log:
        log.append({"x": 3})
    assert results(path) == [{"x": "é\n"}, {"x": 3}]


def test_a_torn_header_is_no_header(path):
    path.write_bytes(b'{"kind": "te')
    with pytest.raises(ResultsLogError, match="no header"):
        results(path)
    ResultsLog(path, HEADER, dict).close()
    assert read_results(path, dict) == (HEADER, [])


@pytest.mark.parametrize(
    ("line", "what"), [("{", "Input data was truncated"), ("3", "Expected `object`")]
)
def test_damage_in_the_middle_is_an_error_with_its_line(path, line, what):
    path.write_text(path.read_text("utf-8") + line + '\n{"x": 1}\n', "utf-8")
    with pytest.raises(ResultsLogError, match=f"line 3: {what}"):
        results(path)
    with pytest.raises(ResultsLogError, match=f"line 3: {what}"):
        ResultsLog(path, HEADER, dict, resume=True)


def test_other_conditions_are_refused(path):
    with pytest.raises(ResultsLogError, match=r"another seed \(0, now 1\)"):
        ResultsLog(path, {**HEADER, "seed": 1}, dict, resume=True)
    with pytest.raises(ResultsLogError, match=r"another versions \(None, now"):
        ResultsLog(path, {**HEADER, "versions": {}}, dict, resume=True)
    assert len(results(path)) == 1


def test_one_writer_at_a_time(path):
    with (
        ResultsLog(path, HEADER, dict, resume=True),
        pytest.raises(ResultsLogError, match="another run is writing"),
    ):
        ResultsLog(path, HEADER, dict, overwrite=True)
    ResultsLog(path, HEADER, dict, resume=True).close()


def test_numbers_that_json_has_not(path):
    with (
        ResultsLog(path, HEADER, dict, resume=True) as log,
        pytest.raises(ValueError, match="JSON compliant"),
    ):
        log.append({"x": float("nan")})
    assert len(results(path)) == 1
