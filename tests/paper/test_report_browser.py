"""The report in a real browser: desktop and phone, light and dark."""

import pytest


@pytest.fixture
def visit(browser, report):
    """Open the page; at the end there must have been no error and no other request."""
    contexts, trouble, requests = [], [], []

    def go(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert trouble == []
    assert {url for url in requests if not url.startswith("data:")} == {report.as_uri()}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_table_and_figures_are_there(visit, width, scheme):
    page = visit(width, scheme)
    assert page.locator("#table1 tbody tr").count() == 6
    figures = page.locator("figure.chart")
    assert figures.count() == 8
    for i in range(figures.count()):
        box = figures.nth(i).locator("img").bounding_box()
        assert box["width"] > 250
        assert box["height"] > 150
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    ink, turned = page.evaluate(
        """[getComputedStyle(document.body).color,
            getComputedStyle(document.querySelector("figure img")).filter]"""
    )
    assert (int(ink.split("(")[1].split(",")[0]) > 128) == (scheme == "dark")
    assert (turned != "none") == (scheme == "dark")


def _accuracies(page):
    cells = page.locator("#table1 tbody tr:visible td:nth-child(3)")
    return [float(cell.split()[0]) for cell in cells.all_inner_texts()]


def test_sorting_by_click_and_filter(visit):
    page = visit()
    head = page.locator("#table1 thead th", has_text="Accuracy")
    before = _accuracies(page)
    for order in ("descending", "ascending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        assert _accuracies(page) == sorted(before, reverse=order == "descending")
    # Rows without a figure of the paper come last in both orders.
    button = page.locator("#table1 thead th", has_text="Difference").get_by_role("button")
    for _ in range(2):
        button.click()
        cells = page.locator("#table1 tbody td:nth-child(5)").all_inner_texts()
        assert [len(cell) == 1 for cell in cells] == [False] * 4 + [True] * 2
    page.get_by_role("radio", name="Breast-Cancer").check()
    assert page.locator("#table1 tbody tr:visible").count() == 3
    page.get_by_role("radio", name="all sets").check()
    assert page.locator("#table1 tbody tr:visible").count() == 6


def test_sorting_by_keyboard(visit):
    page = visit()
    head = page.locator("#table1 thead th", has_text="Method")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    names = page.locator("#table1 tbody th").evaluate_all("all => all.map(e => e.dataset.text)")
    assert names == sorted(names, key=str.casefold)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "none"
    order = page.locator("#table1 tbody tr").evaluate_all("all => all.map(e => e.dataset.set)")
    assert order == ["dataset1"] * 3 + ["breast-cancer"] * 3


def test_table_scrolls_in_its_box_on_a_phone(visit):
    page = visit(360)
    box = page.locator(".scroll", has=page.locator("#table1"))
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")
    box.evaluate("e => { e.scrollLeft = 200; }")
    first = page.locator("#table1 tbody th").first.bounding_box()
    assert abs(first["x"] - box.bounding_box()["x"]) <= 1
