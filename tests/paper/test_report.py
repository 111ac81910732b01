"""The report: what is on the page, and that nothing on it comes from elsewhere."""

import base64
import html
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from polyceptron import Polyhedron
from polyceptron.paper.convergence.study import RUNS_FILE, SEARCHES_FILE
from polyceptron.paper.folds import FoldResult
from polyceptron.paper.protocol import load_protocol
from polyceptron.paper.report import write_report
from polyceptron.paper.reproduce import FOLDS_FILE, folds_header
from polyceptron.paper.results_log import ResultsLog
from polyceptron.paper.words import duration

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from polyceptron.paper.report import figures, page, study
from polyceptron.paper.report.figures import Curves, Learned

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """What is on a page: start tags with attributes, and text by the tag that it is in."""

    EMPTY = frozenset({"meta", "link", "br", "input", "img"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def said(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def text(report):
    return report.read_text("utf-8")


@pytest.fixture(scope="module")
def full(text):
    return Reader(text)


def test_sections_and_links_within_the_page(full):
    ids = [a["id"] for _, a in full.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert [a["id"] for a in full.all("section")] == [
        "table", "mistakes", "criterion", "time", "inequalities", "planes", "convergence",
        "environment",
    ]  # fmt: skip
    for link in full.all("a"):
        assert link["href"].removeprefix("#") in ids


def test_table_and_what_is_said_of_it(full):
    rows = [a for a in full.all("tr") if "data-set" in a]
    assert [row["data-set"] for row in rows] == ["dataset1"] * 3 + ["breast-cancer"] * 3
    assert [row["data-set"] for row in rows if row.get("class") == "below"] == ["breast-cancer"]
    reason = load_protocol().reasons["batch"]["breast-cancer"]
    for words in (
        "reaches or exceeds the accuracy that the paper prints",
        "in 1 of 2 cases",  # 97 on both sets: above the printed 95.05, below the printed 98.52
        "2 repetitions of 10-fold cross-validation",
        "seed 7",
        "▼ note 1",
        " ".join(reason.split()),
        *("0.1 (paper)", " 0.01 ", " 0.001 ", " 0.0001 ", "cut off"),
    ):
        assert words in full.said()


def test_figures_have_labels_and_captions(full):
    drawn = full.all("img")
    names = [a["id"] for a in full.all("figure")]
    assert len(drawn) == len(names) == len(full.all("figcaption"))
    assert all(len(a["alt"]) > 20 for a in drawn)
    for a in drawn:
        svg = base64.b64decode(a["src"].removeprefix("data:image/svg+xml;base64,"))
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    for name in ("mistakes-dataset1", "criterion-breast-cancer", "time-dataset1",
                 "plane-breast-cancer", "study-K"):  # fmt: skip
        assert f"figure-{name}" in names


def test_nothing_is_fetched(full, text):
    assert not re.search("https?:|@import", text)
    assert len(text) < 2_000_000
    assert [a["href"] for a in full.all("link")] == ["data:,"]
    assert all("src" not in a for a in full.all("script"))
    (policy,) = (a["content"] for a in full.all("meta") if "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_the_study_has_the_cycle_and_the_cells(full):
    said = full.said()
    assert "Question. Does online Polyceptron converge" in said
    assert "= start" in said
    assert "d 2, K 2, margin 0.1, N 30, 6 digits" in said
    assert "polyceptron study convergence --quick --seed 3 --out FOLDER" in said


def test_the_cycle_by_hand():
    cycle = study.written_out("smallest")
    assert cycle["start"] == ["(0, 0)", "(0, 0)"]
    minus = "\N{MINUS SIGN}"
    assert cycle["moves"][0] == {
        "number": 1, "point": f"{minus}1", "label": f"{minus}1", "scores": ["0", "0"], "moved": 0,
        "weights": [f"(1, {minus}1)", "(0, 0)"],
    }  # fmt: skip
    assert cycle["moves"][-1]["weights"] == cycle["start"]


def test_empty_folder(tmp_path):
    read = Reader(write_report(tmp_path).read_text("utf-8"))
    assert "polyceptron reproduce --out FOLDER" in read.said()
    assert "polyceptron study convergence --out FOLDER" in read.said()
    assert read.all("img") == []
    ResultsLog(tmp_path / FOLDS_FILE, folds_header(load_protocol(), 0), FoldResult).close()
    assert "No fold has been measured" in write_report(tmp_path).read_text("utf-8")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_report(tmp_path / "nowhere")


def test_unfinished_run_and_the_same_page_again(tmp_path, fill_folds, monkeypatch):
    monkeypatch.setattr(page, "STARTS", {"criterion": 1})
    monkeypatch.setattr(page, "SMALLER_STEPS", (0.01,))
    fill_folds(tmp_path, datasets=["breast-cancer"], methods=["batch", "cart"], drop=1)
    content = (tmp_path / FOLDS_FILE).read_bytes()
    (tmp_path / FOLDS_FILE).write_bytes(content[:-9])  # as a kill leaves it
    text = write_report(tmp_path).read_text("utf-8")
    assert write_report(tmp_path).read_text("utf-8") == text
    assert {path.name for path in tmp_path.iterdir()} == {FOLDS_FILE, "report.html"}
    said = Reader(text).said()
    assert "The run is not finished: 1 of 2 rows" in said
    assert "--datasets breast-cancer --methods batch,cart --repetitions 2 --seed 7" in said


def test_study_without_searches_or_without_runs(tmp_path, fill_study):
    fill_study(tmp_path)
    content = (tmp_path / SEARCHES_FILE).read_bytes()
    (tmp_path / SEARCHES_FILE).unlink()
    assert "d 2, K 2" in Reader(write_report(tmp_path).read_text("utf-8")).said()
    (tmp_path / SEARCHES_FILE).write_bytes(content)
    (tmp_path / RUNS_FILE).unlink()
    assert "Answer. No:" in Reader(write_report(tmp_path).read_text("utf-8")).said()


def hostile():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    names = [HOSTILE, "a&b\"'<b>$x_1$", "\u2028{{ 7 * 7 }}"]
    polyhedron = Polyhedron([[1.0, 2.0, 0.5], [-1.0, 1.0, 0.0]], [0.3, 0.2], names)
    y = np.where(polyhedron.contains(X), 1, -1)
    dataset = load_protocol().datasets["ionosphere"]
    return Learned(dataset, polyhedron, X, y, 1, HOSTILE, "<i>out</i>")


def test_names_from_data_are_escaped(tmp_path, fill_folds, monkeypatch):
    learned = hostile()
    fill_folds(tmp_path, datasets=["ionosphere"], methods=["cart"])
    monkeypatch.setattr(page, "learn_polyhedron", lambda *_: learned)
    monkeypatch.setattr(page, "learning_curves", lambda *_, **__: CURVES)
    read = Reader(page.render(tmp_path))
    assert read.all("b") == read.all("i") == []
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in read.all("img"))
    assert len(read.all("script")) == 1
    assert HOSTILE in read.said()
    assert "{{ 7 * 7 }}" in read.said()


def test_text_in_figures_is_escaped_and_left_as_it_is():
    said = {"title": "t", "given": CURVES, "reshuffled": CURVES}
    chart = figures.draw_chart(
        "mistakes-x", paint=lambda f: f.text(0.1, 0.5, HOSTILE), height=2, **said
    )
    drawn = base64.b64decode(chart.svg).decode()
    assert html.escape(HOSTILE, quote=False) in drawn
    assert "<img" not in drawn


def test_faces_count_what_they_reject():
    learned = hostile()
    found = page.face_facts(learned)
    margins = learned.polyhedron.margins(learned.X)
    for face in found["faces"]:
        k = face["number"]
        assert face["rejected"] == (margins[:, k] < 0).sum()
        others = np.delete(margins, k, axis=1)
        assert face["alone"] == ((margins[:, k] < 0) & (others >= 0).all(axis=1)).sum()
    assert sum(abs(shares[0]) for _, shares in found["weights"]) == pytest.approx(100)
    assert learned.right == 60


CURVES = Curves(
    load_protocol().datasets["ionosphere"],
    [np.array([3.0, 2.0, 2.5, 1.0]), np.array([2.0, 2.0, 1.0])],
    4,
)


def test_rises_are_counted():
    assert (CURVES.rises, CURVES.steps, CURVES.falling, CURVES.cut) == (1, 5, 1, 1)


def test_durations():
    said = [duration(seconds) for seconds in (0.00123, 0.0634, 1.26, 45)]
    assert said == ["1.2 ms", "63 ms", "1.3 s", "45 s"]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_missing_packages_say_what_to_install(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install -e '.*\[report\]'"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
