"""Pictures as files: whole, the same each time, the user's words only words."""

import os
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from hostile_names import HOSTILE
from polyceptron import Polyhedron
from polyceptron.plots import (
    AnimationDisplay,
    FaceHeatmapDisplay,
    PolyhedronDisplay,
    WaterfallDisplay,
    plot_model,
    save,
)
from polyceptron.rule import Rule


def pictures(polyhedron, X, y):
    pieces = dict.fromkeys(HOSTILE[:2], polyhedron)
    yield PolyhedronDisplay.from_polyhedra(pieces, X, y, plane=(0, 5), otherwise=HOSTILE[4])
    yield FaceHeatmapDisplay.from_polyhedra(pieces, X)
    rule = Rule.inside(["<b>in$</b>", "__out\n$\x00"], 0, polyhedron)
    yield WaterfallDisplay.from_estimator(rule, X[0], X)
    yield plot_model(rule, X, y)  # a plane, each place in the colour of its face; and the weights


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]


@pytest.fixture(scope="session")
def hostile():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, len(HOSTILE)))
    polyhedron = Polyhedron(random.normal(size=(4, len(HOSTILE))), np.ones(4), HOSTILE)
    y = np.where(polyhedron.contains(X), "<b>in$</b>", "__out\n$\x00")
    return polyhedron, X, y


def test_hostile_names_are_only_text(hostile, tmp_path):
    for picture in pictures(*hostile):
        options = {"title": "</title><script>$x$\x00", "dpi": 40}
        page = save(picture, tmp_path / "it.html", **options)
        text = page.read_text(encoding="utf-8")
        found = Tags(text)
        assert found.names.count("svg") == 1
        assert not {"script", "b"} & set(found.names)
        assert all(link.startswith(("#", "data:image/")) for link in found.links)
        assert "http" not in text.replace("http-equiv", "")
    root = ElementTree.parse(save(picture, tmp_path / "it.svg", **options)).getroot()
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    assert save(picture, tmp_path / "it.png", **options).stat().st_size > 0


def test_what_the_font_lacks_stays_in_svg_and_is_no_warning_elsewhere(tmp_path):
    names = ["中文", "\U0001fae0", "العربية", "$a$ <b> & c"]
    polyhedron = Polyhedron([[1, 2, 1, 1], [2, 1, 1, 1]], [0, 0], names)
    X = np.random.default_rng(0).normal(size=(30, 4))
    figure = plot_model(polyhedron, X)
    text = save(figure, tmp_path / "it.svg").read_text(encoding="utf-8")
    assert "中文" in text
    assert "$a$ &lt;b&gt; &amp; c" in text
    for kind in ("png", "pdf"):  # a missing glyph would warn, and warnings are errors
        assert save(figure, tmp_path / f"it.{kind}", dpi=40).stat().st_size > 0


def still():
    """An animation of one frame."""
    frames = [(Polyhedron([[1, 0]], [0]), "now")]
    return AnimationDisplay.from_predictions(frames, [[0, 0], [1, 1]], [0, 1])


def square():
    return PolyhedronDisplay.from_polyhedron(Polyhedron([[1, 0], [0, 1]], [0, 0]))


def test_the_same_picture_gives_the_same_bytes(tmp_path):
    one, other = square(), square()
    for kind in ("png", "pdf", "html"):  # which holds the SVG
        files = [save(it, tmp_path / f"{it is one}.{kind}").read_bytes() for it in (one, other)]
        assert files[0] == files[1]


@pytest.mark.parametrize("kind", ["png", "gif"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, kind):
    path = tmp_path / f"it.{kind}"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left on device")

    picture = still() if kind == "gif" else square()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        save(picture, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_save_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.png, \.svg, \.pdf or \.html"):
        save(square(), tmp_path / "it.bmp")
    with pytest.raises(ValueError, match="picture must be a display"):
        save("it", tmp_path / "it.png")
    with pytest.raises(ValueError, match=r"path must end in \.gif for an animation"):
        save(still(), tmp_path / "it.png")


def test_many_rows_do_not_make_a_large_svg(tmp_path):
    X = np.random.default_rng(0).normal(size=(5_000, 2))
    P = Polyhedron([[1, 0], [0, 1]], [0, 0])
    path = save(PolyhedronDisplay.from_polyhedron(P, X, P.contains(X)), tmp_path / "it.svg")
    assert path.stat().st_size < 300_000
