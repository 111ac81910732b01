"""Results on disk: whole lines, one writer, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from polyceptron.paper.results_log import ResultsLog, ResultsLogError, read_results

HEADER = {"kind": "test", "seed": 0}


def made(path, *records, header=HEADER):
    with ResultsLog(path, header, dict) as log:
        for record in records:
            log.append(record)
    return path


class TestResultsLog:
    def test_header_and_records_come_back(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 0.1}, {"x": "é\n"})
        assert read_results(path, dict) == (HEADER, [{"x": 0.1}, {"x": "é\n"}])
        assert len(path.read_text().splitlines()) == 3

    def test_folder_is_made(self, tmp_path):
        assert made(tmp_path / "a" / "b" / "c.jsonl").exists()

    def test_a_record_is_there_before_the_journal_is_closed(self, tmp_path):
        with ResultsLog(tmp_path / "a.jsonl", HEADER, dict) as log:
            log.append({"x": 1})
            assert read_results(tmp_path / "a.jsonl", dict)[1] == [{"x": 1}]

    def test_resume_goes_on(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with ResultsLog(path, HEADER, dict, resume=True) as log:
            assert log.results == [{"x": 1}]
            log.append({"x": 2})
            assert log.results == [{"x": 1}, {"x": 2}]
        assert read_results(path, dict)[1] == [{"x": 1}, {"x": 2}]

    def test_resume_without_a_journal_starts_one(self, tmp_path):
        with ResultsLog(tmp_path / "a.jsonl", HEADER, dict, resume=True) as log:
            assert log.results == []

    def test_results_are_not_thrown_away_unasked(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with pytest.raises(ResultsLogError, match="1 results are there already; --resume"):
            ResultsLog(path, HEADER, dict)
        assert read_results(path, dict)[1] == [{"x": 1}]
        ResultsLog(path, {**HEADER, "seed": 1}, dict, overwrite=True).close()
        assert read_results(path, dict) == ({**HEADER, "seed": 1}, [])

    @pytest.mark.parametrize("torn", [b'{"x"', b'{"x": 2}', b"\xff"])
    def test_a_torn_line_is_cut_off(self, tmp_path, torn):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with path.open("ab") as file:
            file.write(torn)
        assert read_results(path, dict)[1] == [{"x": 1}]
        with ResultsLog(path, HEADER, dict, resume=True) as log:
            log.append({"x": 3})
        assert read_results(path, dict)[1] == [{"x": 1}, {"x": 3}]

    def test_a_torn_header_is_no_header(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"kind": "te')
        with pytest.raises(ResultsLogError, match="no header"):
            read_results(path, dict)
        with ResultsLog(path, HEADER, dict) as log:
            log.append({"x": 1})
        assert read_results(path, dict) == (HEADER, [{"x": 1}])

    @pytest.mark.parametrize(
        ("line", "what"), [("{", "Input data was truncated"), ("3", "Expected `object`")]
    )
    def test_damage_in_the_middle_is_an_error_with_its_line(self, tmp_path, line, what):
        path = made(tmp_path / "a.jsonl")
        path.write_text(path.read_text() + line + '\n{"x": 1}\n')
        for action in (
            lambda p: read_results(p, dict),
            lambda p: ResultsLog(p, HEADER, dict, resume=True),
        ):
            with pytest.raises(ResultsLogError, match=f"line 2: {what}"):
                action(path)

    def test_other_conditions_are_refused(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with pytest.raises(ResultsLogError, match=r"another seed \(0, now 1\)"):
            ResultsLog(path, {**HEADER, "seed": 1}, dict, resume=True)
        with pytest.raises(ResultsLogError, match=r"another versions \(None, now"):
            ResultsLog(path, {**HEADER, "versions": {}}, dict, resume=True)
        assert read_results(path, dict)[1] == [{"x": 1}]

    def test_one_writer_at_a_time(self, tmp_path):
        with (
            ResultsLog(tmp_path / "a.jsonl", HEADER, dict) as log,
            pytest.raises(ResultsLogError, match="another run is writing"),
        ):
            ResultsLog(tmp_path / "a.jsonl", HEADER, dict, overwrite=True)
        log.close()
        ResultsLog(tmp_path / "a.jsonl", HEADER, dict, resume=True).close()

    def test_numbers_that_json_has_not(self, tmp_path):
        with (
            ResultsLog(tmp_path / "a.jsonl", HEADER, dict) as log,
            pytest.raises(ValueError, match="JSON compliant"),
        ):
            log.append({"x": float("nan")})
        assert read_results(tmp_path / "a.jsonl", dict)[1] == []

    def test_killed_while_it_writes(self, tmp_path):
        path = tmp_path / "a.jsonl"
        program = textwrap.dedent(
            f"""
            from polyceptron.paper.results_log import ResultsLog
            with ResultsLog({str(path)!r}, {HEADER!r}, dict) as log:
                for n in range(10**9):
                    log.append({{"n": n}})
                    print(n, flush=True)
            """
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
            said = [int(process.stdout.readline()) for _ in range(20)][-1]
            os.kill(process.pid, signal.SIGKILL)
        with ResultsLog(path, HEADER, dict, resume=True) as log:
            numbers = [record["n"] for record in log.results]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > said  # what it said was there is there


def test_the_lines_are_json(tmp_path):
    path = made(tmp_path / "a.jsonl", {"x": 1})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [HEADER, {"x": 1}]
