"""The page of ``rabbet.debug.show`` in a real browser: tabs and lines answer, and nothing is asked for.

Needs a browser (see conftest.py).
"""

import re

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

SINE = re.compile(r"= sin |stablehlo\.sine|\bsine\(")
LIT = "[...document.querySelectorAll('section:not([hidden]) .lit')].map((e) => e.innerText)"
SHOWN = "[...document.querySelectorAll('section')].filter((p) => !p.hidden).map((p) => p.id)"


def model(x):
    y = rnp.tanh(x @ x)
    for _ in range(40):  # so that a stage is longer than its window
        y = rnp.sin(y)
    return rnp.where(y > 0, y, 0).sum()


@pytest.fixture
def opened(browser, tmp_path):
    """The page, and the list to which its complaints are added."""
    shown = rb.debug.show(model, np.ones((3, 3), np.float32), file=tmp_path / "model.html")
    page = browser.new_page(viewport={"width": 1400, "height": 500})
    complaints = []
    page.on("console", lambda m: complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith("file:") else complaints.append(r.url))
    page.goto(shown.path.as_uri())
    yield page, complaints
    page.close()


def test_tabs_show_one_stage_at_a_time(opened):
    page, complaints = opened
    assert page.evaluate(SHOWN) == ["stage0"]
    page.click("text=StableHLO")
    assert page.evaluate(SHOWN) == ["stage2"] and page.is_visible("text=stablehlo.tanh")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(SHOWN) == ["stage3"]
    assert page.locator("[role=tab][aria-selected=true]").all_inner_texts() == ["HLO"]
    assert complaints == []


def test_a_line_is_lit_in_every_stage_and_scrolled_to(opened):
    page, complaints = opened
    page.click("td.code:has-text('rnp.where')")
    for tab, operation in {"jaxpr": "select_n", "StableHLO": "stablehlo.select", "HLO": " select("}.items():
        page.get_by_role("tab", name=tab, exact=True).click()
        lit = page.evaluate(LIT)
        assert any(operation in line for line in lit), lit
        assert not any(SINE.search(line) for line in lit), lit
        first = page.locator("section:not([hidden]) .lit").first
        frame, line = page.locator("section:not([hidden]) pre").bounding_box(), first.bounding_box()
        assert frame["y"] <= line["y"] <= frame["y"] + frame["height"]
    page.click("td.code:has-text('rnp.where')")
    page.mouse.move(5, 5)
    assert page.evaluate("document.querySelectorAll('.lit').length") == 0
    assert complaints == []


def test_it_fits_windows_of_all_sizes_and_obeys_its_own_policy(opened):
    page, complaints = opened
    for width in (1400, 800, 390):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.invalid/x.png'}))")
    page.wait_for_timeout(100)
    assert any("Content Security Policy" in text for text in complaints)


def test_notebooks_frame_it(browser, tmp_path):
    shown = rb.debug.show(model, np.ones((3, 3), np.float32), file=tmp_path / "model.html")
    page = browser.new_page()
    page.set_content(f"<body>{shown._repr_html_()}</body>")
    frame = page.frame_locator("iframe")
    frame.get_by_role("tab", name="StableHLO").click()
    assert frame.locator("#stage2").is_visible()
    page.close()
