"""Rules in notebooks: a real browser with names that would break out of a page."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
import sklearn

from common import quick
from hostile_names import HOSTILE
from polyceptron import OC1, Polyhedron, Rule, load_model, save_model
from polyceptron.utils import palette

rng = np.random.default_rng(0)
HOSTILE_RULE = Rule.inside(
    HOSTILE[1:3],
    0,
    *(Polyhedron(rng.standard_normal((2, len(HOSTILE))), [1, 2], HOSTILE) for _ in range(2)),
)


def texts(page):
    return [unescape(found) for found in re.findall(r"<code>(.*?)</code>", page, re.DOTALL)]


class TestNumbersNamesColours:
    def test_those_of_the_text(self):
        P = Polyhedron([[2 / 3, -1], [0, 1]], [1, 0.1], ["a < b", "dose"])
        rule = Rule.inside(["<b>", "&amp;"], 1, P)
        assert texts(P._repr_html_()) == P.to_text().splitlines()
        assert texts(rule._repr_html_()) == P.to_text().splitlines()
        assert "&quot;&amp;amp;&quot; if all 2 hold" in rule._repr_html_()
        assert "Otherwise &quot;&lt;b&gt;&quot;." in rule._repr_html_()

    def test_a_face_has_the_colour_of_pictures(self):
        style = pytest.importorskip("polyceptron.plots.style")
        page = Polyhedron(np.eye(9), np.arange(9))._repr_html_()
        grounds = re.findall(r'class="face" style="background:(#\w+);color:(#\w+)"', page)
        assert [ground for ground, _ in grounds] == [style.look(k).colour for k in range(9)]
        assert grounds[4] == (palette.BLUE, palette.PAPER)

    def test_several_pieces_have_those_of_classes(self):
        one, two = Polyhedron([[1]], [0]), Polyhedron([[-1]], [-5])
        page = Rule.inside(["a", "b"], 1, one, two)._repr_html_()
        assert re.findall(r'class="class" style="background:(#\w+)"', page) == [palette.ORANGE] * 2
        assert set(re.findall(r'class="face" style="background:(#\w+)', page)) == {palette.PAPER}

    def test_much_is_cut_short_and_said(self):
        P = Polyhedron(np.ones((150, 400)), np.arange(150))
        page = P._repr_html_()
        assert "50 more faces are not shown here" in page
        assert len(texts(page)) == 100
        assert len(page) < 150_000


class TestLearners:
    X = pd.DataFrame({"<script>": [0.0, 1, 2, 3, 4, 5], "b": [0.0, 1, 0, 1, 0, 1]})
    y = np.array(list("nnnyyy"))

    def test_below_the_diagram_of_scikit_learn(self, tmp_path):
        model = quick(OC1).fit(self.X, self.y)
        page = model._repr_html_()
        assert "polyceptron-rule" in model._repr_mimebundle_()["text/html"]
        assert page.index("sk-top-container") < page.index("polyceptron-rule")
        assert texts(page)[-1] == model.rule_.pieces[-1].polyhedron.to_text().splitlines()[-1]
        assert "Of 6 rows learned from, 100.00% are answered right." in page
        edited = model.rule_.edit().rule
        save_model(model, tmp_path / "m.json", rule=edited)
        assert "rows learned from" not in load_model(tmp_path / "m.json")._repr_html_()

    def test_as_scikit_learn_is_asked_to_show(self):
        assert "polyceptron-rule" not in OC1()._repr_html_()  # not fitted
        model = quick(OC1).fit(self.X, self.y)
        with sklearn.config_context(display="text"):
            assert not hasattr(model, "_repr_html_")
            assert set(model._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_hostile_names_are_text_in_a_browser(browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page, trouble = context.new_page(), []
    for event in ("console", "pageerror", "dialog", "request"):
        page.on(event, lambda *found: trouble.append(found))
    names = HOSTILE[:-1]  # pandas takes no surrogates
    rows = pd.DataFrame(rng.random((8, len(names))), columns=names)
    fitted = quick(OC1).fit(rows, np.array(HOSTILE[:2] * 4, object))
    long = Rule.inside(["a" * 90, "b"], 0, Polyhedron([[1.0]], [0], ["c" * 90]))
    page.set_content("".join(one._repr_html_() for one in (HOSTILE_RULE, fitted, long)))
    assert page.locator(".polyceptron-rule :is(svg, script)").count() == 0
    shown = page.locator(".polyceptron-rule").first.locator("code").all_inner_texts()
    expected = "\n".join(one.polyhedron.to_text() for one in HOSTILE_RULE.pieces).splitlines()
    assert [one[:900] for one in shown] == [one[:900] for one in expected]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
    assert trouble == []
