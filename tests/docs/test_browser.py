"""The site in a real browser: nothing on the console, the search finds names, tables are not cut off.

Needs a browser (see conftest.py).
"""

import functools
import http.server
import threading

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

# Of the reference a page of each kind: all modules, a long module, a function, a class, a value, a door.
REFERENCE = (
    "api/", "api/rabbet/", "api/rabbet.numpy/", "api/rabbet.numpy/einsum/", "api/rabbet/Array/",
    "api/rabbet.numpy/pi/", "api/rabbet.scipy.stats/", "api/rabbet.scipy.stats.norm/pdf/",
    "api/rabbet.extend.primitive/", "decisions/0001-plugins-are-values/",
)  # fmt: skip
# What reaches beyond the right edge of the window and cannot be scrolled to within a box of its own.
CUT_OFF = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (e) => e && e !== document.body
      && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const found = [...document.querySelectorAll('article table, article img, article pre')]
      .filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e));
  const text = found.map((e) => e.tagName + ': ' + e.innerText.slice(0, 40));
  if (document.documentElement.scrollWidth > width) text.push('the page itself');
  return text;
}"""
# Tables that need to be scrolled to be read; on a wide window there should be none.
WIDE = """() => [...document.querySelectorAll('article table')]
    .filter((e) => e.scrollWidth > e.closest('.md-typeset__scrollwrap, article').clientWidth + 1)
    .map((e) => e.innerText.slice(0, 60))"""


SEARCHES = {
    "einsum": "rabbet.numpy.einsum",
    "PRNGKey": "rabbet.random.PRNGKey",
    "grad": "rabbet.grad",
    "jit": "rabbet.jit",
    "custom_vjp": "rabbet.custom_vjp",
    "linalg.svdvals": "rabbet.numpy.linalg.svdvals",
    "gammaln": "rabbet.scipy.special.gammaln",
    "jax_enable_x64": "Coming from JAX",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not print each request."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served while these tests run."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def paths(site):
    """Every page that was written by hand, of the decisions one, and some of the reference."""
    written = [path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")]
    alike = ("api", "decisions/00")  # one of these says as much as all of them
    written = sorted("" if path == "." else f"{path}/" for path in written if not path.startswith(alike))
    assert len(written) > 10
    return [*written, *REFERENCE]


def opened(browser, width, scheme="light"):
    """A page of that width, and the list to which its complaints are added."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    # The site must work where nothing else can be reached, and must ask nobody else.
    page.on(
        "request",
        lambda r: None if "127.0.0.1" in r.url or r.url[:5] == "data:" else complaints.append(r.url),
    )
    return page, complaints


def test_pages_open_without_complaint_and_nothing_is_cut_off(browser, address, paths):
    page, complaints = opened(browser, 1280)
    found = {}
    for path in paths:
        page.goto(address + path, wait_until="load")
        page.wait_for_selector("article h1")
        wrong = page.evaluate(CUT_OFF) + page.evaluate(WIDE)
        page.set_viewport_size({"width": 390, "height": 900})
        wrong += [f"390: {text}" for text in page.evaluate(CUT_OFF)]
        page.set_viewport_size({"width": 1280, "height": 900})
        if wrong := complaints + wrong:
            found[path] = wrong
        complaints.clear()
    page.close()
    assert found == {}


def test_what_is_cut_off_is_found(browser, address):
    page, _ = opened(browser, 390)
    page.goto(address + "installing/")
    wide = '<pre style="width: 900px; overflow: visible">x</pre>'
    page.evaluate(f"document.querySelector('article').insertAdjacentHTML('beforeend', '{wide}')")
    assert any(text.startswith("PRE") for text in page.evaluate(CUT_OFF))
    page.close()


def test_the_search_finds(browser, address):
    """Typed into the search of one page, one after the other: the page is among the first three results."""
    page, complaints = opened(browser, 1280)
    page.goto(address)
    page.click(".md-search__input")
    first = "[...document.querySelectorAll('.md-search-result__item h1')].slice(0, 3).map((e) => e.innerText)"
    for query, title in SEARCHES.items():
        page.fill(".md-search__input", "")
        page.type(".md-search__input", query)  # key by key: the search listens to keys
        try:
            page.wait_for_function(f"(title) => {first}.includes(title)", arg=title, timeout=20_000)
        except playwright.TimeoutError:
            pytest.fail(f"{query!r} finds {page.evaluate(first)}")
    assert complaints == []
    page.close()


def test_the_reader_chooses_dark_or_light(browser, address):
    backgrounds = {}
    for scheme in ("light", "dark"):
        page, complaints = opened(browser, 1280, scheme)
        page.goto(address)
        page.wait_for_timeout(200)
        read = "getComputedStyle(document.body).backgroundColor"
        backgrounds[scheme] = page.evaluate(read)
        page.click("form[data-md-component=palette] label:visible")
        page.wait_for_function(f"{read} !== '{backgrounds[scheme]}'")
        assert complaints == []
        page.close()
    assert backgrounds["light"] != backgrounds["dark"]


def test_one_page_leads_to_the_next(browser, address):
    page, _ = opened(browser, 1280)
    page.goto(address + "api/rabbet.numpy/einsum/")
    page.click("a.md-footer__link--next")
    page.wait_for_url("**/api/rabbet.numpy/einsum_path/")
    page.click("a.md-footer__link--prev")
    page.wait_for_url("**/api/rabbet.numpy/einsum/")
    page.goto(address)
    page.click("a.md-footer__link--next")
    page.wait_for_url("**/installing/")
    page.close()
