"""Files as people have them: each is read right, or refused with what is wrong, where, and what to do.

Most were written for this test after kinds of files that are in the wild: the UCI repository (.data without a
header, gaps as ?), Excel in German and French, pandas, R, exports of databases. No row of them is of a real person.
Excerpts of public sets are penguins.csv (palmerpenguins, CC0, all of it), flights-2013.csv (nycflights13, CC0, every
842nd flight), credit.csv (modeldata's credit_data, MIT, every 12th row, with its row numbers) and diamonds.tsv
(ggplot2, MIT, 110 of each of three cuts). airports.csv (30 of them) and cars.json (made up, in its form) are after vega_datasets.
"""

import warnings
from pathlib import Path

import pytest

from polyceptron import open_blocks
from polyceptron.data.source import SourceError, SourceWarning

FOLDER = Path(__file__).parent
IRIS = (4, ("length", "width"), ["setosa", "versicolor"])
NAMES, ROW = "taken for the names of columns (--no-header", "taken for a row (--header"
DAYS = "days_since_1970-01-01"

# The file, how it came about, the target, and more arguments; rows, features and classes; what is announced.
READ = [
    ("iris.csv", "plain", "species", {}, IRIS, ""),
    ("iris-crlf.csv", "Windows", "species", {}, IRIS, ""),
    ("iris-mac.csv", "old Excel for Mac", "species", {}, IRIS, ""),
    ("iris-bom.csv", "Excel, CSV UTF-8", "species", {}, IRIS, ""),
    ("iris.tsv", "R's write.table", "species", {}, IRIS, ""),
    ("iris-pipe.txt", "an export of a database", "species", {}, IRIS, ""),
    ("iris-blanks.txt", "columns with a blank between", "species", {}, IRIS, ""),
    ("iris.csv.gz", "gzip", "species", {}, IRIS, ""),
    ("iris.csv.bz2", "bzip2", "species", {}, IRIS, ""),
    ("iris-index.csv", "pandas with its index", "species", {}, IRIS, ""),
    ("iris.jsonl", "a log", "species", {}, IRIS, ""),
    ("iris.json", "a web service", "species", {}, IRIS, ""),
    ("cars.json", "a web page, as vega has it", "Origin", {"missing": "median"}, (12, ("Miles_per_Gallon", "Horsepower", f"{DAYS}(Year)"), ["Europe", "Japan", "USA"]), "dates become"),
    ("iris.xlsx", "Excel", "species", {}, IRIS, ""),
    ("two-sheets.xlsx", "a report", "species", {"sheet": "iris"}, IRIS, ""),
    ("iris.parquet", "pandas", "species", {}, IRIS, ""),
    ("iris.feather", "R's arrow", "species", {}, IRIS, ""),
    ("iris.data", "UCI", -1, {}, (4, ("x1", "x2"), ["setosa", "versicolor"]), ""),
    ("banknotes.txt", "UCI", -1, {}, (4, ("x1", "x2", "x3"), [0, 1]), ""),
    ("mushrooms.data", "UCI", 1, {}, (6, ("x2=x", "x3=y", "x4=n", "x4=w", "x4=y"), ["e", "p"]), ROW),
    ("years.csv", "a pivot table", "grade", {}, (4, ("2019", "2020"), ["A", "B"]), ""),
    ("years.csv", "a pivot table", -1, {}, (4, ("2019", "2020"), ["A", "B"]), NAMES),
    ("pandas-default.csv", "to_csv(index=False)", "2", {}, (4, ("0", "1"), [0, 1]), NAMES),
    ("bank-de.csv", "Excel, German", "Kredit", {}, (4, ("Alter", "Einkommen"), ["ja", "nein"]), "decimal comma"),
    ("excel-fr.csv", "Excel, French", "réponse", {}, (4, ("âge", "ville=Orléans"), ["non", "oui"]), "cp1252"),
    ("excel-unicode.txt", "Excel, Unicode text", "réponse", {}, (2, ("âge", "ville=Łódź"), ["non", "oui"]), "utf-16"),
    ("excel-sep.csv", "Excel, with sep=", "y", {}, (2, ("a", "b"), ["u", "v"]), ""),
    ("adult-gaps.csv", "UCI", "income", {"missing": "drop"}, (2, ("age", "work=State", "hours"), ["<=50K", ">50K"]), ""),
    ("adult-gaps.csv", "UCI", "income", {"missing": "median"}, (4, ("age", "work=State", "hours"), ["<=50K", ">50K"]), ""),
    ("titanic.csv", "quotes in names", "Survived", {"drop": "Name"}, (4, ("PassengerId", "Sex=male", "Age"), [0, 1]), ""),
    ("smoker-bool.csv", "pandas", "ill", {}, (4, ("age", "smoker=true"), ["no", "yes"]), ""),
    ("smoker-bool.parquet", "pandas", "ill", {}, (4, ("age", "smoker=true"), ["no", "yes"]), ""),
    ("smoker-numbers.csv", "SPSS", "ill", {}, (4, ("smoker", "age"), ["no", "yes"]), ""),
    ("bank-de-thousands.csv", "Excel, German", "Kredit", {}, (14, ("Alter", "Einkommen"), ["ja", "nein"]), "numbers of 'Einkommen' are read with separators of thousands (--no-thousands"),
    ("thousands-us.csv", "Excel, American", "y", {"drop": "city", "missing": "drop"}, (3, ("population",), ["u", "v"]), "separators of thousands"),
    ("thousands-us.csv", "all are asked for", "y", {"drop": "city", "missing": {"population": "indicator"}, "thousands": True}, (4, ("population", "population is missing"), ["u", "v"]), ""),
    ("dates-us.csv", "Excel, American", "y", {}, (19, ("a", f"{DAYS}(start)"), ["u", "v"]), "'start' are read as month/day/year (--date-order dmy"),
    ("dates-either.csv", "Excel, British", "y", {"date_order": "dmy", "dates": "parts"}, (2, ("month(start)", "weekday(start)"), ["u", "v"]), "dates become"),
    ("dates-asia.csv", "Excel, Japanese; and vega's weather", "y", {}, (12, ("a", f"{DAYS}(start)"), ["u", "v"]), "dates become"),
    ("dates-names.csv", "Oracle", "y", {}, (19, ("a", f"{DAYS}(start)"), ["u", "v"]), "dates become"),
    ("dates-words.csv", "a web page", "y", {"dates": "parts"}, (8, ("a", "month(start)", "weekday(start)", "hour(start)"), ["u", "v"]), "dates become"),
    ("dates-de.csv", "Excel, German", "y", {"dates": "parts"}, (3, ("month(start)", "weekday(start)", "hour(start)"), ["u", "v"]), "day.month.year"),
    ("log.jsonl", "a log", "y", {}, (2, (f"{DAYS}(time)",), ["u", "v"]), "dates become"),
    ("customers.csv", "a database", "y", {}, (20, ("amount",), ["u", "v"]), "'customer' looks like an identifier, and is left out (features or keep_identifiers"),
    ("customers.csv", "a database", "y", {"keep_identifiers": True}, (20, ("customer", "amount"), ["u", "v"]), ""),
    ("customers.csv", "a database", "y", {"features": ["customer"]}, (20, ("customer",), ["u", "v"]), ""),
    ("penguins.csv", "palmerpenguins", "species", {"missing": {None: "drop", "sex": "indicator"}, "features": ["year", "sex", "bill_depth_mm"]}, (342, ("year", "sex=male", "sex is missing", "bill_depth_mm"), ["Adelie", "Chinstrap", "Gentoo"]), ""),
    ("flights-2013.csv", "nycflights13", "arrival", {"features": ["origin", "distance"]}, (400, ("origin=EWR", "origin=JFK", "origin=LGA", "distance"), ["cancelled", "early", "late"]), ""),
    ("credit.csv", "modeldata", "Status", {"missing": "drop", "drop": ["Home", "Marital", "Job", "Income", "Assets", "Debt", "Price"]}, (360, ("Seniority", "Time", "Age", "Records", "Expenses", "Amount"), ["bad", "good"]), "'rownames' looks like an identifier"),
    ("diamonds.tsv", "ggplot2", "cut", {"drop": "color"}, (330, ("carat", "depth", "table", "price"), ["Fair", "Good", "Ideal"]), ""),
    ("flights.csv", "nycflights13", "late", {}, (4, ("carrier=UA", "delay", f"{DAYS}(departure)"), ["no", "yes"]), "dates become"),
    ("days.parquet", "a warehouse", "y", {"dates": "parts"}, (4, ("month(day)", "weekday(day)"), ["a", "b"]), "dates become"),
    ("cities.csv", "many categories", "y", {"max_categories": 2}, (360, ("city=city 1", "a"), ["u", "v"]), "118 others have none"),
    ("percent.csv", "a spreadsheet", "y", {}, (4, ("share=20%", "a"), ["u", "v"]), ""),
    ("a1a.libsvm", "LIBSVM", None, {}, (4, ("x1", "x2"), [-1, 1]), ""),
    ("matrix.npy", "numpy", -1, {}, (4, None, [0.0, 1.0]), ""),
    ("arrays.npz", "numpy", None, {}, (4, ("x1", "x2"), [0, 1]), ""),
]  # fmt: skip

# The file, how it came about, the target, and more arguments; what is said after the name of the file.
REFUSED = [
    ("adult-gaps.csv", "UCI", "income", {}, ", line 3, column 'work': a missing value, the first of those in 'work' (1), 'hours' (1); missing='drop'"),
    ("bank-de.csv", "German, said otherwise", "Kredit", {"decimal": "."}, ", line 2, column 'Einkommen': '1234,50' is not a number (decimals need a point, or the option decimal a comma)"),
    ("bank-de-thousands.csv", "Excel, German", "Kredit", {"thousands": False}, ": too many categories: 'Einkommen' has 14 in 14 rows, as of {}, line 2, column 'Einkommen': '1.234,50' is not a number"),
    ("thousands-us.csv", "said otherwise", "y", {"drop": "city", "thousands": False}, ", line 2, column 'population': '134,591' is not a number"),
    ("excel-fr.csv", "said to be UTF-8", "réponse", {"encoding": "utf-8"}, ", line 1: the name of column 1 is not UTF-8: b'\\xe2ge' (name another encoding, such as cp1252)"),
    ("broken-utf8.csv", "two exports joined", "y", {}, ", line 3, column 'name': b'Jos\\xe9' is not UTF-8: name another encoding"),
    ("titanic.csv", "a class that is missing", "survived", {}, ": column 'survived' is missing (is it 'Survived'?)"),
    ("clock.parquet", "a warehouse", "y", {}, ", column 'clock': a column of time32[ms] is neither numbers nor text; leave it out (drop)"),
    ("days.parquet", "a warehouse", "day", {}, ", column 'day': dates are no classes"),
    ("dates-us.csv", "said otherwise", "y", {"date_order": "dmy"}, ", line 2, column 'start': '01/31/2024' is no date such as 31/12/2020 or 31/12/2020 23:59"),
    ("dates-either.csv", "Excel, British", "y", {}, ", line 2, column 'start': '01/02/2024' may be month/day or day/month: --date-order mdy or dmy says which"),
    ("damaged.csv.bz2", "a download that broke off", "species", {}, ": the bz2 file is damaged ("),
    ("dates-sas.csv", "SAS, typed by hand", "y", {}, ", line 3, column 'start': '31JUN2019' is no date such as 31-Dec-2020 or 31-Dec-2020 23:59"),
    ("bad-date.csv", "typed by hand", "y", {}, ", line 3, column 'start': '2024-02-30' is no date such as 2020-12-31"),
    ("typo.csv", "typed by hand", "y", {}, ", line 4, column 'b': 'o.5' is not a number: mend it, or use drop or categories for the column"),
    ("inf.csv", "a division by zero", "y", {}, ", line 3, column 'a': 'inf' is not a number: mend it, or leave it empty and say by"),
    ("iris-crlf.csv", "no header, said wrongly", -1, {"header": False}, ", line 1, column 'x1': 'length' is not a number: mend it"),
    ("ragged.csv", "typed by hand", "y", {}, ", line 3: 2 fields where the header has 3"),
    ("joined.csv", "cat of two files", "y", {}, ", line 4, column 'a': 'a' is not a number: mend it"),
    ("open-quote.csv", "a quote too many", "y", {}, ", line 2: a quoted field is never closed"),
    ("twice.csv", "a join", "y", {}, ", line 1: columns 1 and 2 are both called 'a'"),
    ("empty.csv", "a query without an answer", "y", {}, " is empty"),
    ("header-only.csv", "a query without an answer", "y", {}, " has a header and no rows"),
    ("one-class.csv", "a filter", "y", {}, ", column 'y': two classes are needed; all rows are 'u'"),
    ("names.csv", "a list of people", "y", {}, ": too many categories: 'name' has 30 in 30 rows"),
    ("measurement.csv", "a regression", "y", {}, ", column 'y': 120 different values in 120 rows are no classes (at most 100)"),
    ("affairs.csv", "statsmodels, a regression", "affairs", {}, ", column 'affairs': '0.4347826' is no class, but a measurement, as 25 different values are numbers"),
    ("airports.csv", "vega", "state", {}, ": too many categories: 'iata' has 30 in 30 rows, as of {}, line 2, column 'iata': '00M' is not a number; the same holds for 'name', 'city': leave"),
    ("currency.csv", "a shop", "y", {}, ": too many categories: 'price' has 12 in 12 rows, as of {}, line 2, column 'price': '$1200' is not a number"),
    ("iris.zip", "Kaggle", "species", {}, " is a zip archive, neither of arrays nor a workbook: unpack it (it holds 'iris.csv')"),
    ("iris.csv.xz", "a backup", "species", {}, " is compressed by xz: unpack it, or use gzip"),
    ("two-sheets.xlsx", "a report", "species", {}, ", sheet 'cover' (--sheet names another): column 'species' is missing"),
    ("two-sheets.xlsx", "a report", "species", {"sheet": "Iris"}, ": no sheet 'Iris'; there are 'cover', 'iris'"),
    ("a1a-bad.libsvm", "LIBSVM", None, {}, ", line 2: '1:x' is not index:value"),
    ("damaged.parquet", "a download that broke off", "species", {}, ": the file of Parquet is damaged"),
    ("cut.json", "a download that broke off", "y", {}, ": neither JSON lines, one object on each, nor a list of them"),
    ("photo.png", "the wrong file", "y", {}, " is a picture, and no table"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "origin", "target", "options", "expected", "said"), READ)
def test_read(tmp_path, name, origin, target, options, expected, said):
    del origin
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SourceWarning)
        source = open_blocks(FOLDER / name, target, cache_dir=tmp_path, **options)
    assert (source.n_samples, source.feature_names, source.classes.tolist()) == expected
    notes = " ".join(str(one.message) for one in caught)
    assert said in notes
    assert bool(said) == bool(notes)


@pytest.mark.parametrize(("name", "origin", "target", "options", "message"), REFUSED)
def test_refused(tmp_path, name, origin, target, options, message):
    del origin
    with pytest.raises(SourceError) as caught:
        open_blocks(FOLDER / name, target, cache_dir=tmp_path, **options)
    text = str(caught.value)
    assert text.startswith(f"{FOLDER / name}{message.format(FOLDER / name)}")
    assert "\n" not in text


def test_every_file_has_an_outcome():
    known = {case[0] for case in (*READ, *REFUSED)}
    there = {path.name for path in FOLDER.iterdir() if path.suffix not in (".py", "")}
    assert there - {"__pycache__", ".gitattributes"} == known
