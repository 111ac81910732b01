"""Dates as numbers: the same from text, Parquet and frames, when learning and when answering."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_files import QUICK, done, failed, read_csv, run
from polyceptron import open_blocks
from polyceptron.data.source import SourceError, SourceWarning
from polyceptron.model_file import read_model
from tables_of_tests import everything, refused

DAYS = "days_since_1970-01-01(start)"
TIMES = [datetime.datetime(2024, 1 + i % 12, 1 + i % 28, i % 24, 30) for i in range(60)]
LABELS = ["late" if time.month > 6 else "early" for time in TIMES]


@pytest.fixture
def files(tmp_path):
    pq.write_table(pa.table({"start": TIMES, "y": LABELS}), tmp_path / "d.parquet")
    lines = [f"{time.isoformat(' ')},{label}" for time, label in zip(TIMES, LABELS, strict=True)]
    (tmp_path / "d.csv").write_text("start,y\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", ["d.parquet", "d.csv"])
def test_days_and_parts(files, name):
    with pytest.warns(SourceWarning, match=r"dates become .*\(dates='parts' otherwise\)"):
        source = open_blocks(files / name, "y")
    assert source.feature_names == (DAYS,)
    days = [(time - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1) for time in TIMES]
    assert everything(source).X[:, 0].tolist() == days
    with pytest.warns(SourceWarning, match="dates become"):
        source = open_blocks(files / name, "y", dates="parts")
    assert source.feature_names == ("month(start)", "weekday(start)", "hour(start)")
    found = [[time.month, time.weekday(), time.hour] for time in TIMES]
    assert everything(source).X.tolist() == found


def test_dates_without_hours():
    table = pa.table({"start": [one.date() for one in TIMES], "y": LABELS})
    with pytest.warns(SourceWarning, match="dates become"):
        source = open_blocks(table, "y", dates="parts")
    assert source.feature_names == ("month(start)", "weekday(start)")
    table = pa.table({"start": pa.array(TIMES).cast(pa.timestamp("us", "UTC")), "y": LABELS})
    with pytest.warns(SourceWarning, match="dates become"):
        assert open_blocks(table, "y").feature_names == (DAYS,)
    assert "dates must be 'days' or 'parts'" in refused(table, "y", dates="years")
    with pytest.raises(SourceError, match="column 'start': dates are no classes"):
        open_blocks(table, "start")


def test_the_same_when_answering(files):
    model = files / "m.json"
    for name, more in (("d.csv", ["--dates", "parts"]), ("d.parquet", [])):
        result = run("fit", files / name, "-t", "y", *QUICK, *more, "--force", "-o", model)
        assert result.exit_code == 0, result.output
        assert "dates become" in result.stderr
        assert "(start)" in result.stdout
        answers = done("predict", model, files / "d.csv")
        assert answers == done("predict", model, files / "d.parquet")
        frame = pd.read_parquet(files / "d.parquet")
        expected = [row["prediction"] for row in read_csv(answers)]
        assert read_model(model).predict(frame).tolist() == expected
        assert "Accuracy" in done("evaluate", model, files / "d.csv")
    error = failed("predict", model, "-", stdin="x\n1\n")
    assert f"column '{DAYS}' is missing" in error


def test_names_of_dates_in_options(files):
    for option in (["--drop", "start"], ["--features", "start"]):
        ask = ("fit", files / "d.csv", "-t", "y", *QUICK, *option, "-o", files / "m.json")
        if option[0] == "--drop":
            assert "no column is left to learn from" in failed(*ask)
        else:
            done(*ask)


WRITTEN = {  # dates as text, what they are in ISO 8601; options, and what is said
    "American": ("01/31/2024 2/1/2024", "2024-01-31 2024-02-01", {}, "date-order dmy"),
    "hours": ("1/31/2024T2:05PM 2/1/2024T12:00AM", "2024-01-31T14:05 2024-02-01", {}, "month/day"),
    "British": ("31/01/2024 2/1/2024", "2024-01-31 2024-01-02", {}, "date-order mdy"),
    "German": ("1.2.2024 03.04.2024T7:15", "2024-02-01 2024-04-03T07:15", {}, "day.month.year"),
    "asked for": ("1/2/2024 3/4/2024", "2024-02-01 2024-04-03", {"date_order": "dmy"}, ""),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_as_people_write_them(tmp_path, case):
    texts, iso, options, said = WRITTEN[case]
    first, second = texts.split()
    (tmp_path / "d.csv").write_text(f"start,y\n{first},a\n{second.replace('T', ' ')},b\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SourceWarning)
        source = open_blocks(tmp_path / "d.csv", "y", cache_dir=tmp_path, **options)
    days = np.array(iso.split(), "datetime64[s]").astype(int) / 86_400
    assert everything(source).X[:, 0].tolist() == days.tolist()
    assert said in str(caught[-1].message)
    assert len(caught) == 1 + bool(said)


def test_dates_that_may_be_either(tmp_path):
    (tmp_path / "d.csv").write_text("start,y\n,a\n01/02/2024,a\n03/04/2024,b\n")
    said = refused(tmp_path / "d.csv", "y", missing="median")
    assert "line 3, column 'start': '01/02/2024' may be month/day or day/month" in said
    assert "--date-order mdy or dmy" in said
    assert "no column is left" in refused(tmp_path / "d.csv", "y", drop="start")


def test_json_has_dates_as_text(tmp_path):
    times = ["2024-01-01T10:00:00.5Z", "2024-01-02T10:00:00.123456789Z"]
    lines = [f'{{"t": "{time}", "y": "{y}"}}' for time, y in zip(times, "ab", strict=True)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    with pytest.warns(SourceWarning, match="dates become"):
        source = open_blocks(tmp_path / "d.jsonl", "y", cache_dir=tmp_path)
    expected = [19723 + 36000.5 / 86400, 19724 + 36000.123456 / 86400]
    np.testing.assert_allclose(everything(source).X[:, 0], expected, rtol=1e-15)


def test_what_is_no_date(tmp_path):
    rows = "start,y\n" + "2024-01-01,a\n" * 300 + "2024-02-30,b\n"
    (tmp_path / "d.csv").write_text(rows)
    assert "line 302, column 'start': '2024-02-30' is no date" in refused(tmp_path / "d.csv", "y")


@pytest.mark.parametrize(
    "form",
    [
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d-%b-%Y",
        "%d %B %Y",
        "%d%b%Y",
        "%d/%b/%Y",
        "%b %d %Y",
        "%B %d, %Y",
        "%d %B, %Y",
        "%b-%d-%Y",
    ],
)
@pytest.mark.parametrize("hours", ["", " %H:%M", " %I:%M %p"])
@pytest.mark.parametrize("change", [str, str.upper])
def test_dates_that_say_what_they_are(form, hours, change, tmp_path):
    texts = [change(time.strftime(form + hours)) for time in TIMES]
    pd.DataFrame({"start": texts, "y": LABELS}).to_csv(tmp_path / "d.csv", index=False)
    with pytest.warns(SourceWarning, match="dates become"):
        source = open_blocks(tmp_path / "d.csv", "y", cache_dir=tmp_path)
    times = TIMES if hours else [time.replace(hour=0, minute=0) for time in TIMES]
    days = [(time - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1) for time in times]
    assert everything(source).X[:, 0].tolist() == days


def test_words_that_are_no_dates_stay_text(tmp_path):
    texts = ["2019/6/13", "Mayor 3 2019", "june 2019"] * 20
    pd.DataFrame({"start": texts, "y": LABELS}).to_csv(tmp_path / "d.csv", index=False)
    source = open_blocks(tmp_path / "d.csv", "y", cache_dir=tmp_path)
    assert len(source.feature_names) == 3
