"""Results on disk: whole lines, one writer, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from polyceptron.paper.journal import Journal, JournalError, read_journal
from polyceptron.utils.atomic import write_text

HEADER = {"kind": "test", "seed": 0}


def made(path, *records, header=HEADER):
    with Journal(path, header) as journal:
        for record in records:
            journal.append(record)
    return path


class TestJournal:
    def test_header_and_records_come_back(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 0.1}, {"x": "é\n"})
        assert read_journal(path) == (HEADER, [{"x": 0.1}, {"x": "é\n"}])
        assert len(path.read_text().splitlines()) == 3

    def test_folder_is_made(self, tmp_path):
        assert made(tmp_path / "a" / "b" / "c.jsonl").exists()

    def test_a_record_is_there_before_the_journal_is_closed(self, tmp_path):
        with Journal(tmp_path / "a.jsonl", HEADER) as journal:
            journal.append({"x": 1})
            assert read_journal(tmp_path / "a.jsonl")[1] == [{"x": 1}]

    def test_resume_goes_on(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with Journal(path, HEADER, resume=True) as journal:
            assert journal.records == [{"x": 1}]
            journal.append({"x": 2})
            assert journal.records == [{"x": 1}, {"x": 2}]
        assert read_journal(path)[1] == [{"x": 1}, {"x": 2}]

    def test_resume_without_a_journal_starts_one(self, tmp_path):
        with Journal(tmp_path / "a.jsonl", HEADER, resume=True) as journal:
            assert journal.records == []

    def test_results_are_not_thrown_away_unasked(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with pytest.raises(JournalError, match="1 results are there already; --resume"):
            Journal(path, HEADER)
        assert read_journal(path)[1] == [{"x": 1}]
        Journal(path, {**HEADER, "seed": 1}, overwrite=True).close()
        assert read_journal(path) == ({**HEADER, "seed": 1}, [])

    @pytest.mark.parametrize("torn", [b'{"x"', b'{"x": 2}', b"\xff"])
    def test_a_torn_line_is_cut_off(self, tmp_path, torn):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with path.open("ab") as file:
            file.write(torn)
        assert read_journal(path)[1] == [{"x": 1}]
        with Journal(path, HEADER, resume=True) as journal:
            journal.append({"x": 3})
        assert read_journal(path)[1] == [{"x": 1}, {"x": 3}]

    def test_a_torn_header_is_no_header(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"kind": "te')
        with pytest.raises(JournalError, match="no header"):
            read_journal(path)
        with Journal(path, HEADER) as journal:
            journal.append({"x": 1})
        assert read_journal(path) == (HEADER, [{"x": 1}])

    @pytest.mark.parametrize(("line", "what"), [("{", "not a JSON doc"), ("3", "not a JSON obj")])
    def test_damage_in_the_middle_is_an_error_with_its_line(self, tmp_path, line, what):
        path = made(tmp_path / "a.jsonl")
        path.write_text(path.read_text() + line + '\n{"x": 1}\n')
        for action in (read_journal, lambda p: Journal(p, HEADER, resume=True)):
            with pytest.raises(JournalError, match=f"line 2: {what}"):
                action(path)

    def test_other_conditions_are_refused(self, tmp_path):
        path = made(tmp_path / "a.jsonl", {"x": 1})
        with pytest.raises(JournalError, match=r"another seed \(0, now 1\)"):
            Journal(path, {**HEADER, "seed": 1}, resume=True)
        with pytest.raises(JournalError, match=r"another versions \(None, now"):
            Journal(path, {**HEADER, "versions": {}}, resume=True)
        assert read_journal(path)[1] == [{"x": 1}]

    def test_one_writer_at_a_time(self, tmp_path):
        with (
            Journal(tmp_path / "a.jsonl", HEADER) as journal,
            pytest.raises(JournalError, match="another run is writing"),
        ):
            Journal(tmp_path / "a.jsonl", HEADER, overwrite=True)
        journal.close()
        Journal(tmp_path / "a.jsonl", HEADER, resume=True).close()

    def test_numbers_that_json_has_not(self, tmp_path):
        with (
            Journal(tmp_path / "a.jsonl", HEADER) as journal,
            pytest.raises(ValueError, match="JSON compliant"),
        ):
            journal.append({"x": float("nan")})
        assert read_journal(tmp_path / "a.jsonl")[1] == []

    def test_killed_while_it_writes(self, tmp_path):
        path = tmp_path / "a.jsonl"
        program = textwrap.dedent(
            f"""
            from polyceptron.paper.journal import Journal
            with Journal({str(path)!r}, {HEADER!r}) as journal:
                for n in range(10**9):
                    journal.append({{"n": n}})
                    print(n, flush=True)
            """
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
            said = [int(process.stdout.readline()) for _ in range(20)][-1]
            os.kill(process.pid, signal.SIGKILL)
        with Journal(path, HEADER, resume=True) as journal:
            numbers = [record["n"] for record in journal.records]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > said  # what it said was there is there


class TestWriteText:
    def test_replaces_and_leaves_nothing_beside(self, tmp_path):
        for text in ("one", "zwei é"):
            write_text(tmp_path / "a.txt", text)
            assert (tmp_path / "a.txt").read_text(encoding="utf-8") == text
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

    def test_what_fails_leaves_the_old_file(self, tmp_path):
        write_text(tmp_path / "a.txt", "old")
        with pytest.raises(UnicodeEncodeError):
            write_text(tmp_path / "a.txt", "\ud800")
        assert (tmp_path / "a.txt").read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_the_lines_are_json(tmp_path):
    path = made(tmp_path / "a.jsonl", {"x": 1})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [HEADER, {"x": 1}]
