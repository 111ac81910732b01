"""`compare`: all learners on one file."""

from cli_files import done, failed, people, run, text_of


class TestCompare:
    def test_compare(self, data):
        text = done("compare", data, "-t", "class", "--cv", 2, "--learners", "batch, oc1", "-k", 1)
        assert "2-fold cross-validation of 200 rows" in text
        assert {"batch", "oc1"} <= set(text.split())
        assert "'x' is not one of" in failed(
            "compare", data, "-t", "class", "--learners", "x", code=2
        )

    def test_all_that_can(self, tmp_path):
        rows = [[row[0], row[1], "old" if row[0] > 70 else row[3]] for row in people(60)]
        (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "class")))
        result = run("compare", tmp_path / "d.csv", "-t", "class", "--cv", 2, "-k", 1)
        assert result.exit_code == 0
        assert "batch learns two classes, and is left out" in result.stderr
        assert "polyceptron" in result.stdout
