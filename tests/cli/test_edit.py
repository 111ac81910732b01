"""`edit`: faces that are changed by hand, and what that does to rows."""

import json
import re
import shlex
from pathlib import Path
from shutil import copy

import pytest

from cli_files import done, failed, people, run, text_of
from polyceptron.model_file import read_rule


@pytest.fixture
def two(folder, tmp_path):
    """A model of two faces."""
    return Path(copy(folder / "m.json", tmp_path))


def inequalities(path):
    return [line for piece in read_rule(path).rule.pieces for line in str(piece[0]).splitlines()]


class TestEdit:
    def test_all_numbers_are_those_of_the_model(self, two, folder, tmp_path):
        new, old = tmp_path / "new.json", inequalities(two)
        text = done(
            "edit", two, "--drop", 0, "--move", "1: to 90", "--set", '1: age + 5*"colour=red" >= 1',
            "--lock", 1, "--why", "said so", "--data", folder / "people.csv", "-o", new,
        )  # fmt: skip
        assert inequalities(new) == ['5*"colour=red" + age >= 90']
        assert old[0] in text.partition("After")[0]
        assert old[0] not in text.partition("After")[2]
        rule = read_rule(new).rule
        assert [(e.what, e.face, e.why) for e in rule.edits] == [
            ("replace", "1", "said so"),
            ("move", "1", "said so"),
            ("lock", "1", "said so"),
            ("drop", "0", "said so"),
        ]
        answers = [
            [line.split(",")[0] for line in done("predict", one, folder / "people.csv").split()[1:]]
            for one in (two, new)
        ]
        n, right = (sum(map(str.__ne__, *answers)), [row[3] for row in people()])
        counts = [sum(map(str.__eq__, one, right)) for one in answers]
        assert n > 0
        said = f"{n} of 200 rows switch. {counts[0]} were answered right, {counts[1]} are now."
        assert said in text
        shown = done("show", new)
        assert re.search(r"Edits\n  20\d\d-.*Z replace face 1: .* \(said so\)\n", shown)
        assert "Locked: 0" in shown
        assert "Accuracy" not in shown  # which was that of the other rule
        assert "face 0 is locked" in failed("edit", new, "--drop", 0, "-o", tmp_path / "o.json")
        done("edit", new, "--unlock", 0, "--round", "0: 1", "-o", tmp_path / "o.json")
        assert len(read_rule(tmp_path / "o.json").rule.edits) == 6
        for command in ("explain", "evaluate"):
            done(command, new, folder / "people.csv")
        assert "SELECT" in done("export", new, "--to", "sql")

    def test_classes_trees_and_probabilities(self, folder, tmp_path):
        ask = ("edit", folder / "three.json", "--move", "old/0: by -1.5", "-o", "-")
        result = run(*ask, "--calibrate", "--data", folder / "three.csv")
        assert "rows switch" in result.stderr
        document = json.loads(result.stdout)
        assert [one["what"] for one in document["edits"]] == ["move", "calibrate"]
        assert document["verdict"] is None
        face = next(iter(read_rule(folder / "tree.json").rule.edit().addresses))
        done("edit", folder / "tree.json", "--set", f"{face}: age >= 50", "-o", tmp_path / "t.json")
        assert {"age >= 50", "age <= 50"} <= set(inequalities(tmp_path / "t.json"))

    def test_labels_with_colons(self, tmp_path):
        rows = [[row[0], ("a:0", "b", "c")[min(row[0] // 30, 2)]] for row in people(90)]
        (tmp_path / "d.csv").write_text(text_of(rows, ("age", "class")))
        done("fit", tmp_path / "d.csv", "-t", "class", "-k", 1, "-o", tmp_path / "m.json")
        ask = ("edit", tmp_path / "m.json", "--set", "a:0/0: age <= 25", "-o", tmp_path / "n.json")
        done(*ask)
        assert inequalities(tmp_path / "n.json")[0] == "age <= 25"

    def test_files(self, two, tmp_path):
        before = two.read_text()
        ask = ("edit", two, "--move", "0: to 90", "-o")
        assert "is read here" in failed(*ask, two, "--force")
        (tmp_path / "there.json").write_text("x")
        assert "--force writes over it" in failed(*ask, tmp_path / "there.json")
        done(*ask, tmp_path / "there.json", "--force")
        assert two.read_text() == before

    def test_broken_promises_are_said(self, folder, tmp_path):
        ask = ["-t", "class", "--drop", "colour", "--max-terms", 1, "-o", tmp_path / "m.json"]
        done("fit", folder / "people.csv", *ask, "--face", "age <= 95", "--monotone", "age=-1")
        change = ["--unlock", 0, "--set", "0: age >= 20", "-o", tmp_path / "new.json"]
        text = run("edit", tmp_path / "m.json", *change).output
        noted = "Note: the model was learned with what this breaks: "
        assert f"{noted}age <= 95, one of fixed_faces, is no face of well" in text
        assert f"{noted}face 0 of well makes it less likely as age falls, against mono" in text

    @pytest.mark.parametrize(
        ("options", "code", "problem"),
        [
            ([], 2, "there is nothing to change"),
            (["--calibrate"], 2, "--calibrate needs --data"),
            (["--drop", 7], 1, "--drop: face must be one of '0', '1', as it is printed; got '7'"),
            (["--drop", 0, "--drop", 1], 1, "face 0 is the last one"),
            (["--set", "0: age > 3"], 1, "--set: the inequality 'age > 3' cannot be used: >"),
            (["--set", "0: agee >= 3"], 1, "column 'agee' is missing (is it 'age'?)"),
            (["--set", "age >= 3"], 1, "face must be one of '0', '1'"),
            (["--move", "0: 3"], 2, "'0: 3' is not FACE: to (or by) NUMBER"),
            (["--move", "0: to nan"], 1, "to must be a finite number"),
            (["--round", "0: few"], 2, "'0: few' is not FACE: DIGITS"),
            (["--drop", 0, "--data", "no.csv"], 1, "no.csv: No such file"),
        ],
    )
    def test_wrong_calls(self, folder, tmp_path, options, code, problem):
        new = tmp_path / "new.json"
        assert problem in failed("edit", folder / "m.json", *options, "-o", new, code=code)
        assert not new.exists()


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    section = page.read_text("utf-8").partition("## Changes by hand")[2]
    commands, printed = (
        re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL)[1] for kind in ("sh", "text")
    )
    monkeypatch.chdir(tmp_path)
    done("datasets", "breast-cancer", "-o", "bc.csv")
    fit, change = (shlex.split(line)[1:] for line in commands.replace("\\\n", "").splitlines())
    done(*fit)
    assert done(*change) == printed
