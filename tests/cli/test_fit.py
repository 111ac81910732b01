"""`fit`: what it learns, prints and refuses."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_files import QUICK, done, failed, people, read_csv, run, text_of
from polyceptron import load_model
from polyceptron.cli._learning import _of_fold, split
from polyceptron.data.encoding import Column, Encoding
from polyceptron.data.source import ArraySource
from polyceptron.data.values import as_labels
from polyceptron.learners.registry import BUILT_IN
from polyceptron.model_file import read_model


class TestFit:
    def test_prints_what_was_learned(self, tmp_path, data):
        text = done("fit", data, "--target", "class", *QUICK, "-o", tmp_path / "m.json")
        rows = people()
        sick = sum(row[-1] == "sick" for row in rows)
        assert f"Rows: 200 (sick {sick}, well {200 - sick}), 5 features" in text
        assert "Accuracy: " in text
        assert "class \\ answer  sick  well" in text
        assert "rejects others  rejects well  inequality" in text
        assert '"colour=light, green"' in text
        assert "Otherwise sick." in text
        assert f"Model: {tmp_path / 'm.json'}" in text
        read = read_model(tmp_path / "m.json")
        assert read.encoding.feature_names[-1] == "colour=red"
        assert read.summary["target"] == "class"
        assert read.summary["classes"] == {"sick": sick, "well": 200 - sick}

    def test_held_out_and_cross_validated(self, tmp_path, data):
        held = done("fit", data, "-t", "class", *QUICK, "--test-size", 0.25, "-o", tmp_path / "a")
        assert "(50 rows held out)" in held
        assert "(150 rows learned from)" in held
        crossed = done("fit", data, "-t", "class", *QUICK, "--cv", 4, "-o", tmp_path / "b")
        assert "(4-fold cross-validation), " in crossed
        assert read_model(tmp_path / "b").summary["rows"] == 200
        both = ["--cv", 4, "--test-size", 0.5]
        assert "exclude each other" in failed(
            "fit", data, "-t", "class", *both, "-o", tmp_path / "c", code=2
        )

    def test_the_text_of_a_sample_and_of_three_classes(self, tmp_path, monkeypatch):
        random = np.random.default_rng(0)
        x = np.round(random.normal(size=200), 2)
        y = np.array(["high", "low", "mid"])[np.digitize(x, [-0.4, 0.4])]
        pq.write_table(pa.table({"x": x, "y": y, "z": x > 0}), tmp_path / "a.parquet")
        monkeypatch.setattr("polyceptron.cli._fit._TYPICAL_ROWS", 90)
        ask = [
            "fit",
            tmp_path / "a.parquet",
            "--force",
            "-o",
            tmp_path / "m.json",
            "--max-terms",
            1,
        ]
        two = done(*ask, "-t", "z", "--drop", "y")
        sample = "90 of a sample of 90 of the 200 rows learned from"
        assert f"This text agrees with the model on {sample}." in two
        three = done(*ask, "-t", "y", "--drop", "z", "--face", "mid: x <= 0.9")
        rule = load_model(tmp_path / "m.json").rule_
        rows = x[np.arange(90) * 200 // 90, None]
        inside = [sum(p.contains(rows) for p in own) > 0 for own in rule.polyhedra.values()]
        alone = (np.sum(inside, axis=0) == 1).sum()
        assert f"These inequalities agree with those of the model on {sample}; {alone} are" in three

    def test_what_is_known_of_columns_of_text(self, tmp_path):
        random = np.random.default_rng(0)
        p, flag = np.round(random.normal(size=120), 1), random.choice(["no", "yes"], 120)
        kind, y = random.choice(["a", "b", "c"], 120), random.choice(["bad", "good"], 120)
        rows = pa.table({"p": p, "flag": flag, "kind": kind, "y": y})
        pq.write_table(rows, tmp_path / "rows.parquet")
        pq.write_table(rows.filter(flag == "no").slice(0, 3), tmp_path / "inside.parquet")
        ask = ["fit", tmp_path / "rows.parquet", "-t", "y", "--max-terms", 2, "--inside", "good"]
        ask += ["--force", "-o", tmp_path / "m.json", "--monotone", "flag=+1"]
        known = ["--together", "p,kind", "--together", "flag"]
        done(*ask, *known, "--must-contain", tmp_path / "inside.parquet")
        model = load_model(tmp_path / "m.json")
        assert model.monotonic_cst.tolist() == [0, 1, 0, 0, 0]
        assert model.features_of_faces.tolist() == [[1, 0, 1, 1, 1], [0, 1, 0, 0, 0]]
        assert model.must_contain.shape == (3, 5)
        assert (model.rule_.predict(model.must_contain) == "good").all()
        other = pa.table({"p": [0.0, 1], "flag": ["no", "maybe"], "kind": ["d", "e"]})
        pq.write_table(other, tmp_path / "other.parquet")
        noted = run(*ask, "--must-contain", tmp_path / "other.parquet").stderr
        assert "other.parquet: kind has values that DATA has not (2 rows)" in noted
        assert "other.parquet: flag has values that DATA has not (1 row)" in noted
        given = ("--must-contain", tmp_path / "inside.parquet", "--face", "kind = a")
        wrong = failed(*ask, *given, "--face", "kind = b")
        assert "the fixed face '\"kind=" in wrong
        wrong = failed(*ask, "--monotone", "kind=+1", code=2)
        assert "kind has 3 values, and no order: name one of kind=a" in wrong
        pq.write_table(rows.drop_columns("p"), tmp_path / "inside.parquet")
        wrong = failed(*ask, "--must-contain", tmp_path / "inside.parquet")
        assert "--must-contain" in wrong
        assert "column 'p' is missing" in wrong

    def test_digits(self, tmp_path, data):
        ask = ["fit", data, "-t", "class", "--force", "-o", tmp_path / "m.json"]
        small = ["--drop", "colour", "-k", 2]
        text = done(*ask, *small, "--digits", 1)
        rule = read_model(tmp_path / "m.json").estimator.rule_
        for line in str(rule.pieces[0].polyhedron).splitlines():
            assert line in text
        assert "This text agrees with the model on 200 of 200 rows learned from." in text
        assert "digits" not in read_model(tmp_path / "m.json").summary
        text = done(*ask, *small, "--digits", "none")
        read = read_model(tmp_path / "m.json")
        assert read.estimator.digits is None
        assert "agrees with the model on 200 of 200 rows" in text
        shown = read.estimator.rule_.pieces[0].polyhedron.to_text(read.summary["digits"])
        for line in shown.splitlines():
            assert line in text
            assert line in done("show", tmp_path / "m.json")
        assert "auto, none or a number" in failed(*ask, "--digits", "few", code=2)
        assert "does not round" in failed(*ask, "-l", "oc1", "--digits", 2, code=2)

    def test_inside(self, tmp_path, data):
        text = done("fit", data, "-t", "class", *QUICK, "--inside", "sick", "-o", tmp_path / "m")
        assert "sick if this holds" in text
        error = failed("fit", data, "-t", "class", "--inside", "ill", "-o", tmp_path / "n", code=2)
        assert "--inside must be one of sick, well; got 'ill'" in error

    def test_a_file_that_is_not_there(self, tmp_path):
        ask = ("fit", tmp_path / "none.csv", "-t", "class", "-o", tmp_path / "m")
        for options in ([], ["--cv", 3], ["--test-size", 0.3], ["-l", "pcslp"]):
            assert "none.csv: No such file or directory" in failed(*ask, *options)

    def test_rows_of_several_files_in_memory(self, tmp_path, data):
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "a.csv").write_text(data.read_text())
        ask = ("fit", tmp_path / "parts", "-t", "class", *QUICK, "--cv", 3, "-o", tmp_path / "m")
        assert "(--in-memory)" in failed(*ask, code=2)
        assert "3-fold" in done(*ask, "--in-memory")

    def test_unions(self, tmp_path):
        X = np.random.default_rng(0).uniform(-1, 1, (200, 2)).round(3)
        rows = [[*x, "in" if x[0] * x[1] > 0 else "out"] for x in X.tolist()]
        (tmp_path / "d.csv").write_text(text_of(rows, ("a", "b", "class")))
        ask = ("fit", tmp_path / "d.csv", "-t", "class", "-o", tmp_path / "m.json", "--force")
        assert "(piece 2 of 2)" in done(*ask, "--polyhedra", 2, "--max-faces", 5)
        model = read_model(tmp_path / "m.json").estimator
        assert (model.n_polyhedra, model.max_faces) == (2, 5)
        done(*ask, "--polyhedra", "auto", "-k", 1)
        assert read_model(tmp_path / "m.json").estimator.n_polyhedra == "auto"
        for given in ("0", "two", "-1"):
            assert "is not auto or a number from 1 to 10000" in failed(
                *ask, "--polyhedra", given, code=2
            )
        error = failed(*ask, *QUICK, "--polyhedra", 2, code=2)
        assert "--learner batch has no n_polyhedra; leave out --polyhedra, or choose one" in error
        assert "that has: polyceptron" in error
        assert "leave out --max-faces" in failed(*ask, *QUICK, "--max-faces", 2, code=2)

    @pytest.mark.parametrize("learner", BUILT_IN)
    def test_every_learner(self, tmp_path, learner):
        path, data = tmp_path / "m.json", tmp_path / "people.csv"
        data.write_text(text_of(people(80)))
        done("fit", data, "-t", "class", "-l", learner, "-o", path, "--drop", "colour")
        assert "Accuracy" in done("evaluate", path, data)
        assert "age" in done("show", path)
        assert len(done("predict", path, data, "--explain").splitlines()) == 81
        assert "Row 3 " in done("explain", path, data, "--row", 3)

    def test_three_classes(self, tmp_path):
        rows = [[*row[:2], "old" if row[0] > 70 else row[3]] for row in people(150)]
        path = tmp_path / "three.csv"
        path.write_text(text_of(rows, ("age", "dose", "class")))
        model = tmp_path / "m.json"
        text = done("fit", path, "-t", "class", "-k", 1, "-o", model)
        assert "old if " in text
        assert "most probable" in text
        assert "Accuracy" in done("evaluate", model, path)
        assert done("predict", model, path, "--explain").startswith("prediction,score,face,slack")
        error = failed("fit", path, "-t", "class", "-l", "batch", "-o", tmp_path / "n", code=2)
        assert "--learner batch learns two classes, and there are 3" in error
        assert "polyceptron, oc1" in error
        error = failed("fit", path, "-t", "class", "--inside", "ill", "-o", tmp_path / "n", code=2)
        assert "--inside must be one of old, sick, well; got 'ill'" in error

    def test_one_class_against_all_others(self, tmp_path):
        rows = [[*row[:2], "old" if row[0] > 70 else row[3]] for row in people()]
        path, model = tmp_path / "three.csv", tmp_path / "m.json"
        path.write_text(text_of(rows, ("age", "dose", "class")))
        result = run(
            "fit", path, "-t", "class", "-l", "batch", "-k", 1, "--inside", "old", "-o", model
        )
        assert result.exit_code == 0, result.output
        assert "3 classes: old is learned against the others, called 'not old'" in result.stderr
        assert "old if this holds" in result.stdout
        assert read_model(model).estimator.classes_.tolist() == ["not old", "old"]
        assert "not old" in done("evaluate", model, path)

    def test_formats_give_the_same_model(self, tmp_path, data):
        rows = people()
        columns = list(zip(*rows, strict=True))
        frame = pa.table(dict(zip(["age", "dose", "colour", "class"], columns, strict=True)))
        pq.write_table(frame, tmp_path / "p.parquet")
        (tmp_path / "g.tsv.gz").write_bytes(gzip.compress(text_of(rows, delimiter="\t").encode()))
        models = set()
        for path in (data, tmp_path / "p.parquet", tmp_path / "g.tsv.gz", "-"):
            ask = ("fit", path, "-t", "class", *QUICK, "-o", tmp_path / "m.json", "--force")
            done(*ask, stdin=data.read_bytes())
            models.add((tmp_path / "m.json").read_text())
        assert len(models) == 1

    def test_libsvm_and_npz_know_their_target(self, tmp_path):
        rows = people(60)
        lines = [f"{'+1' if row[3] == 'sick' else '-1'} 1:{row[0]} 2:{row[1]}" for row in rows]
        (tmp_path / "d.svm").write_text("\n".join(lines) + "\n")
        text = done("fit", tmp_path / "d.svm", *QUICK, "-o", tmp_path / "m.json")
        assert "*x1 " in text
        assert "*x2 " in text
        assert "Accuracy" in done("evaluate", tmp_path / "m.json", tmp_path / "d.svm")
        X = np.array([row[:2] for row in rows], dtype=float)
        np.savez(tmp_path / "d.npz", X=X, y=[row[3] for row in rows])
        done("fit", tmp_path / "d.npz", *QUICK, "-o", tmp_path / "n.json")
        first = done("predict", tmp_path / "m.json", tmp_path / "d.svm")
        assert done("predict", tmp_path / "m.json", tmp_path / "d.npz") == first

    def test_sparse_rows(self, tmp_path):
        rng = np.random.default_rng(0)
        lines = []
        for _ in range(80):
            label = rng.choice([-1, 1])
            lines.append(f"{label} {7 if label > 0 else 8}:1 {rng.integers(10, 400)}:0.5")
        (tmp_path / "d.svm").write_text("\n".join(lines) + "\n")
        text = done("fit", tmp_path / "d.svm", *QUICK, "-o", tmp_path / "m.json")
        assert "x7" in text
        assert "Accuracy: 100.00%" in done("evaluate", tmp_path / "m.json", tmp_path / "d.svm")
        assert "Row 2 " in done("explain", tmp_path / "m.json", tmp_path / "d.svm", "--row", 2)

    def test_no_header(self, tmp_path):
        (tmp_path / "d.txt").write_text(text_of([row[:2] + row[3:] for row in people(60)], None))
        models = set()
        for target in ("-1", "3", "x3"):
            ask = ("fit", tmp_path / "d.txt", "-t", target, "--no-header", *QUICK)
            assert "x1" in done(*ask, "-o", tmp_path / f"{target}.json")
            models.add((tmp_path / f"{target}.json").read_text())
        assert len(models) == 1

    def test_columns(self, tmp_path, data):
        done("fit", data, "-t", "class", *QUICK, "--features", "dose, age", "-o", tmp_path / "a")
        assert read_model(tmp_path / "a").encoding.names == ("dose", "age")
        done("fit", data, "-t", "class", *QUICK, "--drop", "colour", "-o", tmp_path / "b")
        assert read_model(tmp_path / "b").encoding.names == ("age", "dose")
        error = failed("fit", data, "-t", "class", "--drop", "color", "-o", tmp_path / "c")
        assert "column 'color' is missing (is it 'colour'?)" in error
        for option in ("--features", "--drop"):
            assert f"{option} names the target" in failed(
                "fit", data, "-t", "class", option, "class", "-o", tmp_path / "c", code=2
            )

    def test_a_column_without_a_name_is_left_out(self, tmp_path):
        rows = [[i, *row] for i, row in enumerate(people(60))]
        (tmp_path / "d.csv").write_text(text_of(rows, ("", "age", "dose", "colour", "class")))
        result = run("fit", tmp_path / "d.csv", "-t", "class", *QUICK, "-o", tmp_path / "m.json")
        assert result.exit_code == 0
        assert "Note: left out, as without a name: column 1" in result.stderr
        assert "column 1" not in read_model(tmp_path / "m.json").encoding.names

    def test_a_file_is_not_written_over(self, data, model):
        before = model.read_text()
        error = failed("fit", data, "-t", "class", *QUICK, "-o", model)
        assert error == f"Error: {model}: is there already; --force writes over it\n"
        assert model.read_text() == before
        done("fit", data, "-t", "class", "-l", "batch", "-k", 2, "-o", model, "--force")
        assert model.read_text() != before

    def test_to_standard_output(self, data, model):
        result = run("fit", data, "-t", "class", *QUICK, "-o", "-")
        assert result.exit_code == 0
        assert result.stdout == model.read_text()
        assert "Accuracy" in result.stderr

    def test_warnings_are_one_line(self, tmp_path, data, monkeypatch):
        import warnings

        from polyceptron.learners import BatchPolyceptron

        original = BatchPolyceptron.fit

        def fit(self, *arguments):
            warnings.warn("two\nlines", stacklevel=2)
            return original(self, *arguments)

        monkeypatch.setattr(BatchPolyceptron, "fit", fit)
        result = run("fit", data, "-t", "class", *QUICK, "-o", tmp_path / "m.json")
        assert result.exit_code == 0
        assert "Warning: two lines\n" in result.stderr


def test_a_column_of_weights_counts_rows_as_copies_would(tmp_path):
    """In memory, on disk, and where rows are written so many times."""
    weights = np.random.default_rng(0).integers(0, 4, 200)
    heads = ("age", "dose", "colour", "class", "n")
    rows = [[*row, n] for row, n in zip(people(), weights, strict=True)]
    copies = [row for row in rows for _ in range(row[-1])]
    learned = []
    ask = ("-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m.json", "--force")
    for lines, *options in (
        (rows, "--weight-column", "n"),
        (rows, "--weight-column", "n", "--out-of-core"),
        (copies, "--drop", "n"),
    ):
        (tmp_path / "rows.csv").write_text(text_of(lines, heads))
        text = done("fit", tmp_path / "rows.csv", *ask, *options)
        assert f" of the {weights.sum()} rows learned from" in text
        learned.append(load_model(tmp_path / "m.json").polyhedron_)
    assert learned[0] == learned[1]
    np.testing.assert_allclose(learned[0].W, learned[2].W, rtol=1e-6)


def test_costs_and_other_parameters(tmp_path, data):
    ask = ("fit", data, "-t", "class", "-l", "batch", "-k", 1, "--inside", "sick", "--force")
    ask = (*ask, "-o", tmp_path / "m.json", "--set", "max_iter=77", "--cost")
    recalls = []
    for cost in ("missed=50", "false=50"):
        printed = done(*ask, cost)
        model = load_model(tmp_path / "m.json")
        assert model.max_iter == 77
        (found, missed), (false, well) = model.verdict_.answers  # of sick and well
        price = {name: 50 if cost.startswith(name) else 1 for name in ("missed", "false")}
        n = found + missed + false + well
        spent = (missed * price["missed"] + false * price["false"]) / n
        least = min((false + well) * price["false"], (found + missed) * price["missed"]) / n
        assert f"Cost of mistakes: {spent:.4g} a row; always answering" in printed
        assert f": {least:.4g}\n" in printed
        recalls.append(next(c.recall for c in model.verdict_.classes if c.label == "sick"))
    assert recalls[0] > recalls[1]
    message = failed(*ask, "missed=2", "--set", "tol=-1")
    assert "tol must be" in message


class TestVerdict:
    @pytest.fixture
    def rare(self, tmp_path):
        """One row in 111 is of a class that nothing tells."""
        rng = np.random.default_rng(0)
        labels = np.repeat(["yes", "no"], [10, 1100])
        rows = zip(range(1110), *rng.normal(size=(2, 1110)).round(3), labels, strict=True)
        (tmp_path / "rare.csv").write_text(text_of(rows, ("customer", "u", "v", "buys")))
        return tmp_path / "rare.csv"

    def test_says_what_is_never_answered(self, tmp_path, rare):
        ask = ("fit", rare, "-t", "buys", "--drop", "customer", *QUICK, "-o")
        result = run(*ask, tmp_path / "a.json")
        assert "Always answering no: 99.10%\nBalanced accuracy: 50.00%\n" in result.stdout
        lines = [line.split() for line in result.stdout.splitlines()]
        assert ["no", "1100", "99.10%", "100.00%"] in lines
        assert ["yes", "10", "-", "0.00%"] in lines
        assert "Class yes is never answered, though it is 0.90% of the rows" in result.stdout
        assert "--balanced" in result.stdout
        assert result.stderr == ""  # it is said once
        told = read_model(tmp_path / "a.json").estimator.verdict_
        assert told.never_answered == ["yes"]
        text = done(*ask, tmp_path / "b.json", "--balanced")
        assert "never answered" not in text

    def test_identifiers_are_left_out_unless_asked_for(self, tmp_path, rare):
        model = tmp_path / "m.json"
        for options in (["--in-memory"], ["--out-of-core"], ["--test-size", 0.3]):
            ask = ("fit", rare, "-t", "buys", *QUICK, *options, "--force", "-o", model)
            result = run(*ask)
            assert "Note: 'customer' looks like an identifier, and is left out (" in result.stderr
            assert "customer" not in result.stdout
            assert "customer" not in read_model(model).estimator.feature_names_in_
            result = run(*ask, "--keep-identifiers")
            assert result.stderr == ""
            assert "The column customer looks like an identifier" in result.stdout
            assert read_model(model).estimator.verdict_.identifiers == ["customer"]
        names = rare.read_text().partition("\n")[0].split(",")
        others = ",".join(name for name in names if name != "buys")
        assert run(*ask, "--features", others).stderr == ""

    def test_is_that_of_rows_held_out(self, tmp_path, rare):
        ask = ("fit", rare, "-t", "buys", "--drop", "customer", *QUICK, "-o", tmp_path / "m.json")
        crossed = done(*ask, "--cv", 5)
        assert "Answers (5-fold cross-validation)" in crossed
        assert ["no", "1100"] in [line.split()[:2] for line in crossed.splitlines()]
        held = done(*ask, "--test-size", 0.1, "--force")
        assert "Answers (111 rows held out)" in held
        assert ["no", "110"] in [line.split()[:2] for line in held.splitlines()]
        told = read_model(tmp_path / "m.json").estimator.verdict_
        assert (told.rows, told.what) == (999, "rows learned from")


class TestMissing:
    @pytest.fixture
    def gaps(self, tmp_path):
        rows = people()
        rows[3][0] = ""
        rows[5][0] = "NA"
        rows[7][2] = ""
        rows[9][3] = "?"
        (tmp_path / "gaps.csv").write_text(text_of(rows))
        return tmp_path / "gaps.csv"

    def test_is_an_error_that_counts(self, tmp_path, gaps):
        error = failed("fit", gaps, "-t", "class", *QUICK, "-o", tmp_path / "m")
        assert f"{gaps}, line 5, column 'age': a missing value" in error
        assert "'age' (2), 'colour' (1), 'class' (1)" in error
        assert "--missing drop" in error

    def test_drop(self, tmp_path, gaps, data):
        result = run("fit", gaps, "-t", "class", *QUICK, "--missing", "drop", "-o", tmp_path / "m")
        assert "Note: 4 rows left out for missing values" in result.stderr
        assert "Rows: 196" in result.stdout
        error = failed("predict", tmp_path / "m", gaps)
        assert f"{gaps}, line 5, column 'age': a missing value, which this model" in error
        assert len(done("predict", tmp_path / "m", data).splitlines()) == 201

    def test_median(self, tmp_path, gaps):
        result = run(
            "fit", gaps, "-t", "class", *QUICK, "--missing", "median", "-o", tmp_path / "m"
        )
        assert "Note: 1 row left out" in result.stderr
        age, _, colour = read_model(tmp_path / "m").encoding.columns
        rows = [row for i, row in enumerate(people()) if i not in (3, 5, 9)]
        assert age.fill == np.median([row[0] for row in rows])
        assert colour.fill in colour.categories
        assert len(done("predict", tmp_path / "m", gaps).splitlines()) == 201
        assert "if missing" in done("show", tmp_path / "m")

    def test_by_column(self, tmp_path, gaps):
        ways = ("--missing", "age=indicator", "--missing", "colour=drop", "--missing", "class=drop")
        models = [tmp_path / "memory", tmp_path / "disk"]
        for place, model in zip(("--in-memory", "--out-of-core"), models, strict=True):
            result = run("fit", gaps, "-t", "class", *QUICK, *ways, place, "-o", model)
            assert "Note: 2 rows left out" in result.stderr
        assert models[0].read_bytes() == models[1].read_bytes()
        encoding = read_model(models[0]).encoding
        assert encoding.feature_names[:3] == ("age", "age is missing", "dose")
        rows = [row for i, row in enumerate(people()) if i not in (3, 5, 7, 9)]
        assert encoding.columns[0].fill == np.median([row[0] for row in rows])
        assert encoding.transform({"age": [None, 9], "dose": [1, 1], "colour": ["red"] * 2})[
            :, 1
        ].tolist() == [1, 0]
        answers = read_csv(done("predict", models[0], gaps, "--missing", "skip"))
        assert [i for i, row in enumerate(answers) if not row["prediction"]] == [7]
        error = failed("fit", gaps, "-t", "class", *QUICK, "--missing", "age=drop", "-o", "x")
        assert "column 'colour': a missing value" in error
        for wrong in ("mean", "age=", "=drop", "age=mean"):
            assert f"{wrong!r} is not one of drop, median" in failed(
                "fit", gaps, "-t", "class", "--missing", wrong, "-o", "x", code=2
            )

    def test_gaps_as_a_feature_of_programs(self, tmp_path):
        lines = [f"{'' if i % 3 else i},{'uv'[i % 3 > 0]}" for i in range(60)]
        data, model = tmp_path / "g.csv", tmp_path / "m"
        data.write_text("\n".join(["age,class", *lines]))
        done("fit", data, "-t", "class", *QUICK, "--missing", "indicator", "-o", model)
        module = {}
        exec(done("export", model, "--to", "python"), module)
        answers = [module["predict"]([None if i % 3 else i]) for i in range(60)]
        assert answers == [row["prediction"] for row in read_csv(done("predict", model, data))]
        assert answers == [line[-1] for line in lines]


def check_path_is_kept(text, model):
    """What `fit --show-path` printed is what `show --path` prints of the file."""
    own = text[text.index("Terms and accuracy") : text.index("Chosen are the fewest")]
    assert own in done("show", model, "--path")
    picture = model.with_suffix(".png")
    done("plot", model, "--path", "-o", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "--path takes no DATA" in failed("plot", model, model, "--path", "-o", picture, code=2)


class TestWhatIsKnown:
    """Few terms, signs, given faces and groups of columns, by the names of the columns."""

    @pytest.fixture
    def plant(self, tmp_path):
        random = np.random.default_rng(3)
        X = random.normal([350, 101_325, 7], [8, 900, 0.4], (400, 3)).round(2)
        ok = (X[:, 0] <= 355) & (X[:, 1] + 300 * X[:, 2] >= 103_000)
        lines = [
            f"{a},{b},{c},{'ok' if one else 'off'}" for (a, b, c), one in zip(X, ok, strict=True)
        ]
        path = tmp_path / "plant.csv"
        path.write_text("\n".join(["temperature,pressure,pH,state", *lines]))
        return "fit", path, "-t", "state", "--inside", "ok", "-o", tmp_path / "m"

    def test_few_terms(self, plant, tmp_path):
        text = done(*plant, "--max-terms", 1, "--max-faces", 3, "--show-path")
        assert "Terms and accuracy" in text
        assert text.count("chosen\n") == 1
        check_path_is_kept(text, tmp_path / "m")
        rule = load_model(tmp_path / "m").rule_
        for piece in rule.pieces:
            assert (np.count_nonzero(piece.polyhedron.W, axis=1) == 1).all()
            assert all(line in text for line in piece.polyhedron.to_text().splitlines())

    def test_faces_signs_and_groups(self, plant, tmp_path):
        given = ["--face", "temperature <= 351.5", "--monotone", "pressure=+1"]
        text = done(*plant, "-k", 3, *given, "--together", "pressure,pH")
        assert "temperature <= 351.5" in text
        model = load_model(tmp_path / "m")
        W = model.polyhedron_.W
        assert (W[:, 1] >= 0).all()
        assert not W[1:, 0].any()
        assert np.array_equal(model.monotonic_cst, [0, 1, 0])  # as the file keeps it

    def test_three_classes(self, tmp_path):
        random = np.random.default_rng(0)
        X = random.normal(size=(150, 2)).round(2)
        y = np.select([X[:, 0] > 0.3, X[:, 1] > 0], ["high: a", "b"], "high")
        lines = [f"{a},{b},{label}" for (a, b), label in zip(X, y, strict=True)]
        (tmp_path / "d.csv").write_text("\n".join(["age,bmi,risk", *lines]))
        fit = "fit", tmp_path / "d.csv", "-t", "risk", "-o", tmp_path / "m", "--max-faces", 2
        given = ["--face", "high: a: age >= 0.25", "--monotone", "b:bmi=+1", "--max-terms", 2]
        text = done(*fit, *given, "--show-path")
        assert text.count("Terms and accuracy: ") == 3
        check_path_is_kept(text, tmp_path / "m")
        model = load_model(tmp_path / "m")
        assert "age >= 0.25" in str(model.polyhedra_["high: a"])
        (piece,) = (one for one in model.rule_.pieces if model.rule_.labels[one.place] == "b")
        assert (piece.polyhedron.W[:, 1] >= 0).all()
        numbers = (tmp_path / "d.csv").read_text().replace("high: a", "1").replace("high", "2")
        (tmp_path / "d.csv").write_text(f"{numbers}\n".replace(",b\n", ",3.0\n"))
        done(*fit, "--force", "--max-terms", 1, "--face", "3: age <= 2", "--face", "1: bmi <= 2")
        assert [*load_model(tmp_path / "m").fixed_faces] == ["1", "3.0"]
        assert "say of which this is known: '1: age >= 1'" in failed(
            *fit, "--force", "--face", "age >= 1", code=2
        )

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--monotone", "presure=1"], "is it 'pressure'?"),
            (["--monotone", "pressure=2"], "is not COLUMN=+1 or COLUMN=-1"),
            (["--face", "pH > 3"], "must be >= or <="),
            (["--together", "pH,x"], "column 'x' is missing"),
            (["--show-path"], "--show-path needs --max-terms"),
            (["-l", "batch", "--face", "pH >= 3"], "leave out --face"),
        ],
    )
    def test_mistakes(self, plant, tmp_path, arguments, message):
        result = run(*plant, *arguments)
        assert result.exit_code in (1, 2)
        assert message in result.stderr
        assert not (tmp_path / "m").exists()


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "arguments", "message"),
        [
            ("age,target\n1,x\n2,y\n", ["-t", "Targte"], "'Targte' is missing (is it 'target'?)"),
            (
                "name,age,class\n" + "".join(f"n{i},{i},{i % 2}\n" for i in range(150)),
                ["-t", "class"],
                "line 2, column 'name': 'n0' is not a number: leave such columns out (--drop)",
            ),
            (
                "age,class\n1,x\n2,y\nabc,x\n4,y\n",
                ["-t", "class"],
                "line 4, column 'age': 'abc' is not a number: mend it, or use --drop",
            ),
            ("age,class\n1,x\n2,y\n3,x\n", ["-t", "class", "--cv", "2"], "--cv 2 needs 2 rows"),
            ("age,class\n1,x\n2,y\n", ["-t", "class", "--test-size", ".1"], "--test-size 0.1"),
        ],
    )  # fmt: skip
    def test_one_line(self, tmp_path, text, arguments, message):
        (tmp_path / "d.csv").write_text(text)
        result = run("fit", tmp_path / "d.csv", *arguments, "-o", tmp_path / "m.json")
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert message in result.stderr
        assert not (tmp_path / "m.json").exists()

    def test_options_that_do_not_go_together(self, tmp_path, data):
        tree = ("fit", data, "-t", "class", "-l", "oc1", "-o", tmp_path / "m.json")
        assert "leave out -k" in failed(*tree, "-k", 3, code=2)
        assert "no class inside" in failed(*tree, "--inside", "sick", code=2)

    def test_target_is_asked_for(self, tmp_path, data):
        error = failed("fit", data, "-o", tmp_path / "m", code=2)
        assert "which of 'age', 'dose', 'colour', 'class' is the class?" in error

    def test_no_such_file(self, tmp_path):
        error = failed("fit", tmp_path / "no.csv", "-t", "x", "-o", tmp_path / "m")
        assert error == f"Error: {tmp_path / 'no.csv'}: No such file or directory\n"

    def test_usage(self, tmp_path, data):
        for arguments in (["-k", 0], ["--cv", 1], ["--test-size", 1], ["-l", "x"], ["--nonsense"]):
            assert run("fit", data, "-t", "class", "-o", tmp_path / "m", *arguments).exit_code == 2

    def test_debug_shows_the_traceback(self, tmp_path):
        (tmp_path / "d.csv").write_text("age,class\n1,x\n2,y\nabc,x\n4,y\n")
        result = run("--debug", "fit", tmp_path / "d.csv", "-t", "class", "-o", tmp_path / "m")
        assert type(result.exception).__name__ == "NotANumberError"


def test_labels():
    assert as_labels(["1", "0"]) == [1, 0]
    assert as_labels(["1", "x"]) == ["1", "x"]
    assert as_labels(["1", "1.0"]) == ["1", "1.0"]
    assert as_labels(["\u0661", "1"]) == ["\u0661", "1"]


class TestFilesThatDoNotSayAll:
    """What is guessed is said, and every command takes the options that decide it."""

    ROWS = [(i, f"{i}.5", "gut" if i > 5 else "für mich") for i in range(12)] * 3

    def test_a_header_of_numbers(self, tmp_path):
        text = text_of([(*row[:2], "A" if row[0] > 5 else "B") for row in self.ROWS], None)
        (tmp_path / "d.csv").write_text("2019,2020,grade\n" + text)
        result = run("fit", tmp_path / "d.csv", "-t", "grade", *QUICK, "-o", tmp_path / "m.json")
        assert "Rows: 36 (A 18, B 18), 2 features" in result.stdout
        assert result.stderr == ""  # the target is among the names
        ask = ("fit", tmp_path / "d.csv", "-t", -1, *QUICK, "-o", tmp_path / "n.json")
        result = run(*ask)
        assert "Rows: 36 (A 18, B 18)" in result.stdout
        assert "'2019,2020,grade', is taken for the names of columns (--no-header" in result.stderr
        assert "there are 3" in failed(*ask, "--no-header", "--force", code=2)

    def test_commas_and_encodings(self, tmp_path):
        text = text_of(self.ROWS, ("größe", "b", "y"), ";").replace(".", ",")
        (tmp_path / "d.csv").write_bytes(text.encode("cp1252"))
        (tmp_path / "plain.csv").write_text(text.replace(",", "."))
        model, plain = tmp_path / "m.json", tmp_path / "plain.json"
        result = run("fit", tmp_path / "d.csv", "-t", "y", *QUICK, "-o", model)
        assert "für mich 18, gut 18" in result.stdout
        assert "text is read as cp1252 (--encoding" in result.stderr
        assert "a decimal comma (--decimal . " in result.stderr
        done("fit", tmp_path / "plain.csv", "-t", "y", *QUICK, "-o", plain)
        assert model.read_bytes() == plain.read_bytes()
        said = ("--decimal", ",", "--encoding", "latin-1")
        assert run("predict", model, tmp_path / "d.csv", *said).stderr == ""
        for command in ("predict", "evaluate", "explain"):
            assert "decimal comma" in run(command, model, tmp_path / "d.csv").stderr
            assert done(command, model, tmp_path / "d.csv", *said)
            error = failed(command, model, tmp_path / "d.csv", "--encoding", "utf-8")
            assert "the name of column 1 is not UTF-8: b'gr\\xf6\\xdfe'" in error
        done("compare", tmp_path / "d.csv", "-t", "y", "--learners", "batch", "--cv", 2, *said)


class TestOnlyTrainingRowsTell:
    """What fills gaps and which categories there are does not come from rows held out."""

    def table(self, seed=0):
        rng, n = np.random.default_rng(seed), 80
        a = [None if rng.random() < 0.3 else round(10 ** rng.normal(), 3) for _ in range(n)]
        colour = rng.choice(["red", "blue", None], n).tolist()
        kind = ["usual"] * n
        colour[7], kind[11] = "rare", "odd"  # may be held out
        flag = [None if rng.random() < 0.1 else rng.random() < 0.5 for _ in range(n)]
        few = (np.arange(n) == 17).astype(int)
        y = rng.choice(["no", "yes"], n)
        columns = {"a": a, "colour": colour, "kind": kind, "flag": flag, "few": few, "y": y}
        return pa.table(columns)

    @pytest.mark.parametrize("seed", range(4))
    def test_as_a_file_of_the_training_rows_alone(self, tmp_path, seed):
        table = self.table(seed)
        pq.write_table(table, tmp_path / "all")
        ways = ["median"], ["indicator"], ["median", "--missing", "a=indicator"]
        fit = ("-t", "y", "--missing", *ways[seed % 3], *QUICK, "--force", "-o")
        done("fit", tmp_path / "all", *fit, tmp_path / "m", "--test-size", 0.5, "--seed", seed)
        y = np.array(table["y"].to_pylist())
        train, _ = split(np.unique(y, return_inverse=True)[1], 0.5, seed)
        pq.write_table(table.take(pa.array(train)), tmp_path / "part")
        done("fit", tmp_path / "part", *fit, tmp_path / "n", "--seed", seed)
        one, other = (json.loads((tmp_path / name).read_text()) for name in "mn")
        one["summary"]["accuracy"].pop("40 rows held out")
        one["verdict"].pop("identifiers", None), other["verdict"].pop("identifiers", None)
        assert one == other

    def test_all_rows_tell_with_cross_validation(self, tmp_path):
        pq.write_table(self.table(), tmp_path / "all")
        fit = ("fit", tmp_path / "all", "-t", "y", "--missing", "median", *QUICK, "-o")
        done(*fit, tmp_path / "m", "--cv", 3)
        done(*fit, tmp_path / "n")
        one, other = (json.loads((tmp_path / name).read_text()) for name in "mn")
        one["summary"]["accuracy"].pop("3-fold cross-validation")
        assert one == other

    def test_folds_fill_with_their_own(self):
        columns = [Column("a", "number", (), 0.0), Column("c", "category", ("u", "v", "w"), "u")]
        rows = ArraySource(
            np.array([[1, 1, 0, 0], [3, 0, 1, 0], [np.nan, 0, 0, 1], [9, *[np.nan] * 3]]),
            [0, 1, 0, 1],
        )
        rows.encoding = Encoding(columns)
        found = _of_fold(rows, np.array([0, 1]))
        assert found.tolist() == [[1, 1, 0, 0], [3, 0, 1, 0], [2, 0, 0, 0], [9, 1, 0, 0]]


def test_of_many_categories_the_most_frequent_are_kept(tmp_path):
    rows = [(i % 60, f"city {i % 30 if i % 2 else i % 6}", i % 2) for i in range(120)]
    (tmp_path / "d.csv").write_text(text_of(rows, ("a", "city", "y")))
    ask = ("fit", tmp_path / "d.csv", "-t", "y", *QUICK, "--force", "-o", tmp_path / "m.json")
    assert run(*ask).stderr == ""
    found = []
    for place in ("--in-memory", "--out-of-core"):
        result = run(*ask, "--max-categories", 3, place)
        assert "'city': the 3 most frequent values have a feature, 15 others" in result.stderr
        assert "--max-categories" in result.stderr
        found.append((tmp_path / "m.json").read_bytes())
    assert found[0] == found[1]
    kept = read_model(tmp_path / "m.json").encoding.columns[1].categories
    assert kept == ("city 0", "city 2", "city 4")
    assert "15 other" not in done("predict", tmp_path / "m.json", tmp_path / "d.csv")
