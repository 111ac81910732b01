"""Pictures as files: whole, the same each time, and the user's words in them are only words."""

import io
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    OnlinePolyceptron,
    Polyceptron,
    Polyhedron,
)
from polyceptron.datasets import load_breast_cancer, make_polyhedron
from polyceptron.plots import (
    AnimationDisplay,
    PolyhedraDisplay,
    PolyhedronDisplay,
    WaterfallDisplay,
    animate,
    plot_model,
    save,
)
from polyceptron.plots import _style as style
from polyceptron.plots._choice import clearest
from polyceptron.plots._names import short_names, shorten, steady

plt = pytest.importorskip("matplotlib.pyplot")
legible = pytest.importorskip("polyceptron.plots._canvas").legible

HOSTILE = [
    r"$x^2$ \frac{1}{",
    "</svg><script>alert(1)</script>&\"'",
    "a" * 10_000,
    "b" * 9_999 + "é",
    "tab\tnew\nline\x00\x1b[31m",
    "emoji 😀 中文 עברית \u202e",
    r"\$%#_{}",
    "'; DROP TABLE x; --",
    "__hidden",
    "",
    "\ud800 alone",
]


@pytest.fixture(autouse=True)
def agg():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def hostile():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, len(HOSTILE)))
    polyhedron = Polyhedron(random.normal(size=(4, len(HOSTILE))), np.ones(4), HOSTILE)
    y = np.where(polyhedron.contains(X), "<b>in$</b>", "__out\n$\x00")
    return polyhedron, X, y


def pictures(polyhedron, X, y):
    inside = "<b>in$</b>"
    for plane in ((0, 1), (2, 5), (4, 10)):
        yield PolyhedronDisplay.from_polyhedron(
            polyhedron, X, y, inside=inside, plane=plane, regions="faces"
        )
    yield WaterfallDisplay.from_polyhedron(polyhedron, X[0], X, answers=(inside, "__out\n$\x00"))
    yield plot_model(polyhedron, X, y)  # the PCA plane, and the weights


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]


# --- hostile names ---------------------------------------------------------------------------


def test_hostile_names_are_only_text(hostile, tmp_path):
    for picture in pictures(*hostile):
        options = {"title": "</title><script>$x$\x00", "dpi": 40}
        svg, page = (save(picture, tmp_path / f"it.{kind}", **options) for kind in ("svg", "html"))
        root = ElementTree.parse(svg).getroot()
        assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
        text = page.read_text(encoding="utf-8")
        found = Tags(text)
        assert found.names.count("svg") == 1
        assert not {"script", "b"} & set(found.names)
        assert all(link.startswith(("#", "data:image/")) for link in found.links)
        assert "http" not in text.replace("http-equiv", "")
    assert save(picture, tmp_path / "it.png", **options).stat().st_size > 0


def test_names_are_text_in_svg(tmp_path):
    names = ["$dose$ <mg> & more", "age"]
    display = PolyhedronDisplay.from_polyhedron(Polyhedron([[1, 0], [0, 1]], [0, 0], names))
    root = ElementTree.parse(save(display, tmp_path / "it.svg")).getroot()
    texts = ["".join(element.itertext()).strip() for element in root.iter()]
    assert names[0] in texts
    assert names[1] in texts


@pytest.mark.parametrize("name", HOSTILE)
def test_short_names_are_printable_and_short(name):
    for width in (8, 18, 24):
        short = shorten(name, width)
        assert 0 < len(short) <= width
        assert short.isprintable()


def test_short_names_are_told_apart():
    names = ["x" * 50 + f"_{j}_" + "y" * 50 for j in range(30)]
    assert len(set(short_names(names, 16))) == 30
    assert all(len(name) <= 16 for name in short_names(names, 16))


def test_names_from_right_to_left_do_not_turn_what_follows():
    assert steady("age = 3") == "age = 3"
    assert steady("\u05d0\u05d1 = 3") == "\u200e\u05d0\u05d1\u200e = 3"
    assert steady("a\n+ \u05d0") == "\u200ea\n\u200e+ \u05d0\u200e"  # every line


def test_what_the_font_lacks_is_named():
    fonts = ["DejaVu Sans"]
    assert legible("été 😀", fonts) == "été 😀"
    assert legible("\U0001fae0 mg", fonts) == "U+1FAE0 mg"
    assert legible("中文", fonts) == "U+4E2D U+6587"
    assert legible("a中文字名b", fonts) == "aU+4E2D…U+540Db"


def test_what_the_font_lacks_stays_in_svg_and_is_not_drawn_in_png(tmp_path, monkeypatch):
    polyhedron = Polyhedron([[1, 2, 1], [2, 1, 1]], [0, 0], ["中文", "\U0001fae0", "age"])
    X = np.random.default_rng(0).normal(size=(30, 3))
    figures = [
        plot_model(polyhedron, X),
        WaterfallDisplay.from_polyhedron(polyhedron, X[0]),
        PolyhedronDisplay.from_polyhedron(polyhedron, X),
    ]
    svg = [save(f, tmp_path / "it.svg").read_text(encoding="utf-8") for f in figures]
    assert all("中文" in text and "U+4E2D" not in text for text in svg)
    monkeypatch.setattr(style, "any_script", nullcontext)  # a missing glyph would warn
    for figure in figures:
        assert save(figure, tmp_path / "it.png", dpi=40).stat().st_size > 0


# --- files -----------------------------------------------------------------------------------


def square():
    return PolyhedronDisplay.from_polyhedron(Polyhedron([[1, 0], [0, 1]], [0, 0]))


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_the_same_picture_gives_the_same_bytes(tmp_path, kind):
    files = [save(square(), tmp_path / f"{k}.{kind}").read_bytes() for k in range(2)]
    assert files[0] == files[1]


def test_png_is_read_back(tmp_path):
    from PIL import Image

    with Image.open(save(square(), tmp_path / "it.png", dpi=50)) as image:
        assert image.format == "PNG"
        assert image.height == 240


@pytest.mark.parametrize("kind", ["png", "svg", "html", "gif"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, kind):
    path = tmp_path / f"it.{kind}"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left on device")

    picture = learning() if kind == "gif" else square()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        save(picture, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_is_written_into(tmp_path):
    path = tmp_path / "it.png"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(path.read_bytes)
        save(square(), path)
        assert read.result(timeout=60) == save(square(), tmp_path / "file.png").read_bytes()
    assert path.is_fifo()


def test_save_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.png, \.svg or \.html"):
        save(square(), tmp_path / "it.bmp")
    with pytest.raises(ValueError, match="picture must be a display"):
        save("it", tmp_path / "it.png")
    with pytest.raises(ValueError, match=r"path must end in \.gif for an animation"):
        save(learning(), tmp_path / "it.png")


def test_many_rows_do_not_make_a_large_svg(tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    P = Polyhedron([[1, 0], [0, 1]], [0, 0])
    path = save(PolyhedronDisplay.from_polyhedron(P, X, P.contains(X)), tmp_path / "it.svg")
    assert path.stat().st_size < 1_000_000


# --- animations --------------------------------------------------------------------------------

ROWS, LABELS, _ = make_polyhedron(60, 2, 3, random_state=0)


def learning(learner=None, **options):
    learner = OnlinePolyceptron(3, random_state=0) if learner is None else learner
    return AnimationDisplay.from_learner(learner, ROWS, LABELS, **{"n_frames": 4, **options})


@pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2, PCSLP])
@pytest.mark.parametrize("K", [1, 3])
def test_moments_of_every_learner_of_steps(learner, K):
    one = learner(K, random_state=0)
    display = learning(one, n_frames=6)
    assert 2 <= len(display.moments) <= 6
    assert display.moments[0].when == "at the start"
    assert not hasattr(one, "polyhedron_")  # the learner is left as it is
    again = learning(learner(K, random_state=0), n_frames=6)
    assert again.moments == display.moments


def test_last_moment_of_a_run_that_finishes_is_the_answer_of_fit():
    clear = np.abs(ROWS[:, 0]) > 0.2
    X, y = ROWS[clear], ROWS[clear, 0] > 0
    learner = BatchPolyceptron(1, margin=0.0, n_init=1, standardize=False, random_state=0)
    display = AnimationDisplay.from_learner(learner, X, y, n_frames=500)
    fitted = learner.fit(X, y)
    assert fitted.converged_
    assert len(display.moments) == fitted.n_iter_ + 1
    assert display.moments[-1].polyhedron == fitted.polyhedron_


def test_online_moments_are_those_of_partial_fit():
    learner = OnlinePolyceptron(2, shuffle=False, random_state=3)
    display = learning(learner, n_frames=5)
    n = int(display.moments[1].when.split()[1])
    stream = OnlinePolyceptron(2, shuffle=False, random_state=3)
    stream.partial_fit(ROWS[:n], LABELS[:n], classes=[-1, 1])
    assert display.moments[1].polyhedron == stream.polyhedron_


@pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron])
def test_moments_have_the_names_of_a_frame(learner):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=["age", "$dose"])
    display = AnimationDisplay.from_learner(learner(2, random_state=0), frame, LABELS, n_frames=3)
    assert {moment.polyhedron.feature_names for moment in display.moments} == {("age", "$dose")}
    assert display.plot().ax_.get_ylabel() == "$dose"


def test_gif_has_every_frame_and_is_the_same_each_time(tmp_path):
    from PIL import Image

    path = tmp_path / "learning.gif"
    learner = OnlinePolyceptron(3, random_state=0)
    display = animate(learner, ROWS, LABELS, path, n_frames=4)
    with Image.open(path) as image:
        assert image.format == "GIF"
        assert image.n_frames == len(display.moments)
        assert image.info["loop"] == 0
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert learning().to_gif() == path.read_bytes()
    assert not plt.get_fignums()


def test_a_frame_shows_its_moment():
    display = learning()
    for frame, (polyhedron, when) in enumerate(display.moments):
        title = display.plot(frame).ax_.get_title(loc="left")
        wrong = (polyhedron.contains(ROWS) != (LABELS == 1)).sum()
        assert title == f"{when}: {wrong} of 60 on the wrong side"
        for k, line in display.faces_.items():
            np.testing.assert_allclose(polyhedron.margins(line.get_xydata())[:, k], 0, atol=1e-9)


def test_animation_of_one_column_and_of_a_plane():
    X, y, _ = make_polyhedron(40, 4, 2, random_state=0)
    for rows, plane in ((X, "pca"), (X[:, :1], None)):
        display = AnimationDisplay.from_learner(
            OnlinePolyceptron(2, random_state=0), rows, y, n_frames=3, plane=plane
        )
        assert display.to_gif(dpi=40).startswith(b"GIF89a")


def test_animation_wrong_arguments():
    with pytest.raises(ValueError, match=r"learner must be one that moves .* got Polyceptron"):
        learning(Polyceptron())
    with pytest.raises(ValueError, match="n_frames must be a whole number of at least 2"):
        learning(n_frames=1)
    with pytest.raises(ValueError, match="fps must be positive"):
        learning().to_gif(fps=0)


# --- the picture of a model -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


def drawn(figure):
    figure.savefig(io.BytesIO())
    return figure


def test_two_columns_are_drawn_as_a_region():
    model = OnlinePolyceptron(3, random_state=0).fit(ROWS, LABELS)
    figure = drawn(plot_model(model, ROWS, LABELS, feature_names=["age", "dose"]))
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "dose")
    assert len(drawn(plot_model(model)).axes) == 1
    assert not plt.get_fignums()  # nothing is left in pyplot


def test_more_columns_are_a_plane_and_weights_or_weights(cancer):
    X, y = cancer.data, cancer.target
    model = BatchPolyceptron(2, random_state=0).fit(X, y)
    plane = [ax for ax in drawn(plot_model(model, X, y)).axes if "principal" in ax.get_xlabel()]
    assert len(plane) == 1
    weights = drawn(plot_model(model)).axes[0]
    assert [t.get_text() for t in weights.get_yticklabels()] == list(X.columns)


def mixed_rows():
    """Two numbers, and two text columns that go together: the PCA plane is all theirs."""
    random = np.random.default_rng(0)
    values = random.choice(3, size=300, p=[0.5, 0.3, 0.2])
    numbers = random.normal(size=(300, 2)) * [10, 2] + [40, 5]
    names = ["age", "dose", *(f"{column}={value}" for column in "ab" for value in "xyz")]
    return np.hstack([numbers, np.eye(3)[values], np.eye(3)[values]]), names


def test_faces_are_in_view_with_text_columns():
    X, names = mixed_rows()
    W = np.zeros((2, 8))
    W[0, 0], W[1, 1], W[1, 2] = -1, -1, 0.1
    polyhedron = Polyhedron(W, [45, 6], names)
    shown = [
        PolyhedronDisplay.from_polyhedron(polyhedron, X, plane=plane)
        for plane in ("pca", clearest([polyhedron], X))
    ]
    assert not shown[0].faces_
    assert set(shown[1].faces_) == {0, 1}
    assert shown[1].region_ is not None
    labels = {ax.get_xlabel() for ax in drawn(plot_model(polyhedron, X)).axes}
    assert shown[1].ax_.get_xlabel() in labels


@pytest.mark.parametrize("learner", [BatchPolyceptron(2, random_state=0), OC1(random_state=0)])
def test_learned_faces_are_in_view_with_text_columns(learner):
    X, _ = mixed_rows()
    y = (X[:, 0] < 45) & (X[:, 1] < 6) & (X[:, 3] == 0)
    model = learner.fit(X, y)
    if isinstance(learner, OC1):
        polyhedra = [p for label in model.classes_ for p in model.polyhedra(label)]
        display = PolyhedraDisplay.from_estimator(model, X, y, plane=clearest(polyhedra, X))
        assert all(display.regions_[label] for label in (False, True))
    else:
        plane = clearest([model.polyhedron_], X)
        assert PolyhedronDisplay.from_estimator(model, X, y, plane=plane).faces_


def test_slices_have_text_columns_at_their_commonest_value():
    X, names = mixed_rows()
    display = PolyhedronDisplay.from_polyhedron(Polyhedron(np.ones((1, 8)), [0], names), X)
    np.testing.assert_array_equal(display.at[:2], np.median(X[:, :2], axis=0))
    np.testing.assert_array_equal(display.at[2:], [1, 0, 0, 1, 0, 0])
    assert display.ax_.get_title(loc="left") == "Slice at a=x = 1, b=x = 1, a=y = 0 and 3 more"


def test_trees_and_several_classes(cancer):
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    many = Polyceptron(1, margin=20, penalty=None, random_state=0).fit(iris.data, iris.target)
    tree = OC1(random_state=0).fit(cancer.data, cancer.target)
    for model, data in ((many, iris), (tree, cancer)):
        figure = drawn(plot_model(model, data.data, data.target))
        legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
        assert "region of" in legends[0].get_texts()[0].get_text()
        drawn(plot_model(model))
        drawn(plot_model(model, data.data))


def test_one_column():
    X = ROWS[:, :1]
    model = BatchPolyceptron(1, random_state=0).fit(X, X[:, 0] > 0)
    (ax,) = drawn(plot_model(model, X, X[:, 0] > 0)).axes
    assert ax.get_xlabel() == "x0"


def test_plot_model_wrong_arguments():
    with pytest.raises(ValueError, match="model must be a Polyhedron or a fitted learner"):
        plot_model("model.json")
    with pytest.raises(ValueError, match="y must be 60 labels"):
        plot_model(OnlinePolyceptron(3, random_state=0).fit(ROWS, LABELS), ROWS, LABELS[:5])


def test_an_animation_of_polyhedra_that_are_known():
    learned = AnimationDisplay.from_estimator(
        OnlinePolyceptron(2, random_state=0), ROWS, LABELS, n_frames=3
    )
    known = AnimationDisplay.from_predictions(learned.moments, ROWS, LABELS, inside=learned.inside)
    assert known.to_gif() == learned.to_gif()
    with pytest.raises(ValueError, match="at least one polyhedron"):
        AnimationDisplay.from_predictions([], ROWS, LABELS)
