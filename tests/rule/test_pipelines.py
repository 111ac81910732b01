"""Pipelines as rules on the columns that they are given: they answer alike."""

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from common import fit, quick
from polyceptron import OC1, SPLA1, BatchPolyceptron, Polyceptron, explain, export, save_model
from polyceptron.model_file import read_model
from polyceptron.rule import as_rule, show_label

rng = np.random.default_rng(0)
N = 400
# Means that are large beside the spreads, as of kelvin and pascal.
X = pd.DataFrame(rng.normal([300, 1e5, 0, 5], [10, 300, 1, 2], (N, 4)), columns=list("tpqr"))
y = np.where((X["t"] - 300) / 10 + (X["p"] - 1e5) / 300 > 0.3 * X["q"], "high", "low")
MORE = pd.DataFrame(rng.normal([300, 1e5, 0, 5], [12, 400, 2, 3], (5000, 4)), columns=list("tpqr"))

LINEAR = {
    "standard": lambda: [StandardScaler()],
    "no mean": lambda: [StandardScaler(with_mean=False)],
    "no spread": lambda: [StandardScaler(with_std=False)],
    "min and max": lambda: [MinMaxScaler((-1, 3))],
    "robust": lambda: [RobustScaler()],
    "robust, nothing": lambda: [RobustScaler(with_centering=False, with_scaling=False)],
    "greatest": lambda: [MaxAbsScaler()],
    "selection": lambda: ["passthrough", VarianceThreshold(), SelectKBest(k=2), StandardScaler()],
    "pca": lambda: [StandardScaler(), PCA(3)],
    "whitened": lambda: [PCA(2, whiten=True)],
    "svd": lambda: [StandardScaler(), TruncatedSVD(2, random_state=0)],
    "nested": lambda: [make_pipeline(StandardScaler(), MinMaxScaler()), RobustScaler()],
    "columns": lambda: [
        ColumnTransformer(
            [("a", StandardScaler(), ["p", "t"]), ("b", "passthrough", slice(2, 3))],
            remainder="drop",
        )
    ],
    "union": lambda: [
        FeatureUnion(
            [("a", StandardScaler()), ("b", make_pipeline(MinMaxScaler(), PCA(2))), ("c", "drop")]
        )
    ],
    "rest": lambda: [ColumnTransformer([("a", MinMaxScaler(), [-1, 1])], remainder="passthrough")],
}


class TestLinearSteps:
    @pytest.mark.parametrize("learner", [BatchPolyceptron, OC1, Polyceptron])
    @pytest.mark.parametrize("steps", LINEAR)
    def test_the_same_answers(self, steps, learner):
        model = fit(make_pipeline(*LINEAR[steps](), quick(learner)), X, y)
        rule = as_rule(model)
        leaves_out = steps == "columns"  # the last one, which may be text then
        assert (rule.encoding is None) == (not leaves_out)
        assert rule.feature_names == tuple("tpq" if leaves_out else "tpqr")
        np.testing.assert_array_equal(rule.predict(MORE), model.predict(MORE))
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(
                rule.predict_proba(MORE), model.predict_proba(MORE), atol=1e-8
            )

    def test_faces_are_the_nearest_numbers(self):
        model = fit(make_pipeline(StandardScaler(), quick(SPLA1)), X, y)
        scaler, last = model[0], model[-1].polyhedron_
        folded = as_rule(model).pieces[0].polyhedron
        wide = last.W.astype(np.longdouble) / scaler.scale_
        offsets = last.b - (wide * scaler.mean_).sum(axis=1)
        np.testing.assert_array_equal(folded.W, wide.astype(float))
        np.testing.assert_allclose(folded.b, offsets.astype(float), rtol=1e-15)

    def test_rows_without_names_and_sparse(self):
        model = fit(make_pipeline(MaxAbsScaler(), quick(BatchPolyceptron)), sp.csr_array(X), y)
        rule = as_rule(model)
        assert rule.feature_names is None
        np.testing.assert_array_equal(rule.predict(sp.csr_array(MORE)), model.predict(MORE.values))

    def test_explanations_are_in_the_units_of_the_pipeline(self):
        model = fit(make_pipeline(StandardScaler(), quick(BatchPolyceptron)), X, y)
        found = explain.counterfactual(model, X.iloc[0])
        np.testing.assert_allclose(found.x - found.change, X.iloc[0])
        assert found.before == model.predict(X[:1])[0] != found.after
        assert found.after == as_rule(model).predict([found.x])[0]

    def test_the_leaves_of_a_tree_stay_leaves(self):
        model = fit(make_pipeline(StandardScaler(), quick(OC1)), X, y)
        assert as_rule(model).splits.keys() == model[-1].rule_.splits.keys()


TABLE = pd.DataFrame(
    {
        "age": np.where(rng.random(N) < 0.1, np.nan, rng.integers(20, 80, N)),
        "city": pd.Series(rng.choice(["Oslo", "Bergen", "<b>Tromsø</b>"], N)).mask(
            rng.random(N) < 0.1
        ),
        "zone": rng.integers(1, 4, N),
        "id": [f"n{j}" for j in range(N)],
        "pay": rng.normal(5e4, 1e4, N),
    }
)
CHOICE = np.where(
    TABLE["pay"] / 1e4 + (TABLE["city"] == "Oslo") - TABLE["age"].fillna(50) / 20 > 3, "yes", "no"
)


def of_tables(learner=SPLA1, **one_hot):
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", **one_hot)
    )
    columns = make_column_transformer(
        (numbers, ["age", "pay"]), (texts, ["city"]), (OneHotEncoder(), ["zone"])
    )
    return fit(make_pipeline(columns, quick(learner)), TABLE, CHOICE)


class TestTables:
    @pytest.mark.parametrize("learner", [SPLA1, Polyceptron])
    @pytest.mark.parametrize("drop", [None, "first"])
    def test_the_same_answers(self, drop, learner):
        model = of_tables(learner, drop=drop)
        rule = as_rule(model)
        assert rule.encoding.names == ("age", "city", "zone", "pay")
        assert "city=Oslo" in rule.feature_names
        assert "zone=2" in rule.feature_names
        np.testing.assert_array_equal(rule.predict(TABLE), model.predict(TABLE))
        np.testing.assert_allclose(rule.predict_proba(TABLE), model.predict_proba(TABLE), atol=1e-9)
        for table in (pa.Table.from_pandas(TABLE), TABLE[[*rule.encoding.names]].to_numpy()):
            np.testing.assert_array_equal(rule.predict(table), model.predict(TABLE))
        again = pickle.loads(pickle.dumps(rule))
        np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))

    def test_text_that_is_left_out(self, tmp_path):
        """A pipeline of numbers alone answers the table that it was given, text and all."""
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["pay", "age"])
        )
        model = fit(make_pipeline(columns, quick(SPLA1)), TABLE, CHOICE)
        rule = as_rule(model)
        assert rule.feature_names == ("age", "pay")
        np.testing.assert_array_equal(rule.predict(TABLE), model.predict(TABLE))
        assert "age" in explain.rules(model)
        filled = TABLE.fillna({"age": 40.0}).iloc[0]
        assert explain.counterfactual(model, filled).before == model.predict(TABLE)[0]
        assert explain.verdict(model, TABLE, CHOICE).accuracy == model.score(TABLE, CHOICE)
        save_model(model, tmp_path / "model.json")
        loaded = read_model(tmp_path / "model.json")
        assert loaded.predict(TABLE).tolist() == model.predict(TABLE).tolist()
        no_gaps = make_column_transformer((StandardScaler(), ["pay"]))
        model = fit(make_pipeline(no_gaps, quick(SPLA1)), TABLE, CHOICE)
        np.testing.assert_array_equal(as_rule(model).predict(TABLE), model.predict(TABLE))

    @pytest.mark.parametrize(
        "how", [{}, {"handle_unknown": "use_encoded_value", "unknown_value": -3}]
    )
    def test_numbers_of_categories(self, how):
        both = FeatureUnion([("a", OrdinalEncoder(**how)), ("b", OneHotEncoder(drop="first"))])
        columns = make_column_transformer(
            (OrdinalEncoder(**how), ["zone"]),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), both), ["city"]),
            (StandardScaler(), ["pay"]),
        )
        model = fit(make_pipeline(columns, quick(SPLA1)), TABLE, CHOICE)
        rule = as_rule(model)
        assert {"zone=3", "city=Oslo"} <= {*rule.feature_names}
        np.testing.assert_array_equal(rule.predict(TABLE), model.predict(TABLE))
        np.testing.assert_allclose(rule.predict_proba(TABLE), model.predict_proba(TABLE), atol=1e-9)
        if how:
            unknown = TABLE.assign(zone=9)
            np.testing.assert_allclose(
                model[:-1].transform(unknown)[:, 0], np.full(N, -3), atol=1e-12
            )
            np.testing.assert_array_equal(rule.predict(unknown), model.predict(unknown))

    def test_text_and_explanations(self):
        model = of_tables()
        words = explain.rules(model)
        assert "city=Oslo" in words
        filled = [f"Where age is missing, {TABLE['age'].median():g} is taken."]
        filled += [f"Where city is missing, {show_label(TABLE['city'].mode()[0])} is taken."]
        assert words.splitlines()[-3:-1] == filled
        page = as_rule(model)._repr_html_()
        assert filled[0] in page
        row = TABLE.iloc[3]
        for x in (row, row.to_dict(), TABLE.iloc[[3]]):
            inside = explain.membership(model, x).inside
            assert inside == (model.predict(TABLE.iloc[[3]])[0] == model[-1].inside_)
        assert explain.verdict(model, TABLE, CHOICE).accuracy == model.score(TABLE, CHOICE)
        assert explain.verdict(model, TABLE, CHOICE).asked == model[-1].verdict_.asked
        assert explain.rules_table(model)["class"] == ["yes"] * 3

    @pytest.mark.parametrize("drop", [None, "first"])
    def test_changed_rows_have_one_value_of_each_category(self, drop):
        model = of_tables(drop=drop)
        rule, n_changed = as_rule(model), 0
        for _, row in TABLE.iloc[:12].iterrows():
            found = explain.counterfactual(model, row, frozen=["age", "pay"])
            found = found if found.feasible else explain.counterfactual(model, row)
            new = row.copy()
            for column, start, stop in rule.encoding.places():
                values = found.x[start:stop]
                if column.kind != "category":
                    new[column.name] = values[0]
                    continue
                assert sorted(values) == [0] * (len(values) - 1) + [1]
                text = column.categories[int(values.argmax())]
                n_changed += str(new[column.name]) not in (text, "nan")
                new[column.name] = int(text) if column.name == "zone" else text
            table = pd.DataFrame([new]).astype(TABLE.dtypes)
            assert rule.predict(table)[0] == found.after != found.before
        assert n_changed

    def test_exports_read_the_table(self):
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("sqlglot")
        model = of_tables()
        data = TABLE.astype({"city": object})  # noqa: F841 - DuckDB finds it by name
        found = duckdb.sql(export.to_sql(model, table="data")).df()
        assert found.iloc[:, -1].tolist() == model.predict(TABLE).tolist()
        assert "Bergen" in export.to_python(model)

    @pytest.mark.parametrize("learner", [SPLA1, Polyceptron, OC1])
    def test_model_files(self, learner, tmp_path):
        model = of_tables(learner)
        save_model(model, tmp_path / "model.json")
        loaded = read_model(tmp_path / "model.json")
        assert loaded.predict(TABLE).tolist() == model.predict(TABLE).tolist()
        proba = loaded.predict_proba(TABLE)
        np.testing.assert_allclose(proba, model.predict_proba(TABLE), atol=1e-9)
        columns = json.loads((tmp_path / "model.json").read_text())["encoding"]
        assert columns[0]["fill"] == TABLE["age"].median()

    def test_pictures(self):
        pytest.importorskip("matplotlib")
        from polyceptron.plots import FaceHeatmapDisplay, WaterfallDisplay, plot_model

        model = of_tables()
        assert len(plot_model(model, TABLE, CHOICE).axes) >= 2
        names = [
            t.get_text()
            for t in FaceHeatmapDisplay.from_estimator(model, TABLE).ax_.get_yticklabels()
        ]
        assert any("Oslo" in name for name in names)
        WaterfallDisplay.from_estimator(model, TABLE.iloc[0], TABLE)

    def test_gaps_in_arrays(self):
        rows = TABLE[["age", "pay"]].to_numpy()
        model = fit(make_pipeline(SimpleImputer(), RobustScaler(), quick(SPLA1)), rows, CHOICE)
        rule = as_rule(model)
        assert rule.feature_names is None
        assert [one.fill for one in rule.encoding.columns] == [
            np.nanmean(rows[:, 0]),
            rows[:, 1].mean(),
        ]
        for array in (rows, np.ascontiguousarray(rows)):
            np.testing.assert_array_equal(rule.predict(array), model.predict(rows))


class TestRefused:
    @pytest.mark.parametrize(
        ("steps", "what"),
        [
            ([PolynomialFeatures()], "PolynomialFeatures"),
            ([Normalizer()], "Normalizer"),
            ([MinMaxScaler(clip=True)], r"MinMaxScaler\(clip=True\)"),
            ([FunctionTransformer(np.abs)], "FunctionTransformer of a function"),
            ([SimpleImputer(add_indicator=True)], r"SimpleImputer\(add_indicator=True\)"),
            ([SimpleImputer(missing_values=0)], r"SimpleImputer\(missing_values=0\)"),
            ([StandardScaler(), SimpleImputer()], "SimpleImputer after .*: put it first"),
            (
                [ColumnTransformer([("a", SimpleImputer(), [0]), ("b", "passthrough", [0, 1])])],
                "the column 't' read in two ways",
            ),
        ],
    )
    def test_what_cannot_be_folded(self, steps, what):
        model = fit(make_pipeline(*steps, quick(SPLA1)), X, y)
        message = f"as inequalities of its own columns with {what}.* give its last step"
        with pytest.raises(explain.ExplainError, match=message):
            explain.rules(model)

    def test_gaps_and_rare_values_as_categories(self):
        for encoder, what in [
            (OneHotEncoder(sparse_output=False), "OneHotEncoder of gaps"),
            (OneHotEncoder(max_categories=2), "infrequent categories"),
        ]:
            columns = make_column_transformer((encoder, make_column_selector("city")))
            model = fit(make_pipeline(columns, quick(SPLA1)), TABLE, CHOICE)
            with pytest.raises(ValueError, match=what):
                as_rule(model)

    def test_other_learners_and_searches(self):
        other = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        with pytest.raises(
            ValueError, match=r"must be a fitted learner .* got a LogisticRegression"
        ):
            as_rule(other)
        search = GridSearchCV(quick(OC1), {"n_restarts": [1]}, cv=2).fit(X, y)
        with pytest.raises(ValueError, match="give best_estimator_"):
            as_rule(search)
        assert as_rule(search.best_estimator_) == search.best_estimator_.rule_
