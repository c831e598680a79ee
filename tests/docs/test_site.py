"""The built site as files: no link leads nowhere, every public name has a page and is in the search index."""

import html.parser
import json
import urllib.parse

import pytest
from public_names import all_names, modules


class Links(html.parser.HTMLParser):
    """The addresses that a page leads to, and the places in it that others may lead to."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.addresses, self.anchors = set(), {""}

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        self.addresses |= {attrs[key] for key in ("href", "src") if attrs.get(key)}


@pytest.fixture(scope="module")
def pages(site):
    """The links of every page, by its path."""
    found = {}
    for path in site.rglob("*.html"):
        links = Links()
        links.feed(path.read_text())
        found[path.resolve()] = links
    return found


def broken(site, path, address, pages):
    """What is wrong with an address that stands on the page ``path``, or None."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme or parts.netloc:
        return None  # another site: the tests use no network
    local = urllib.parse.unquote(parts.path)
    if not local:
        target = path
    elif local.startswith("/"):
        target = site / local.lstrip("/")
    else:
        target = path.parent / local
    target = target.resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return f"{path.relative_to(site.resolve())}: {address} is not there"
    if target.suffix == ".html" and parts.fragment not in pages[target].anchors:
        return f"{path.relative_to(site.resolve())}: {address} has no such heading"
    return None


def test_no_link_is_broken(site, pages):
    assert len(pages) > 1000
    found = [
        fault
        for path, links in pages.items()
        if path.name != "404.html"  # its addresses are those of a site at the root of a server
        for address in links.addresses
        if (fault := broken(site, path, address, pages))
    ]
    assert found == []


def test_the_check_of_links_finds_what_is_broken(site, pages):
    page = (site / "index.html").resolve()
    assert "is not there" in broken(site, page, "nowhere/", pages)
    assert "no such heading" in broken(site, page, "tutorial/#nowhere", pages)
    assert broken(site, page, "tutorial/", pages) is None


def test_every_public_name_has_a_page(site):
    names = all_names()
    assert len(names) > 1500 and len(modules()) > 80
    missing = [n.full for n in names if not (site / "api" / n.module / n.name / "index.html").is_file()]
    assert missing == []


def test_every_public_name_is_in_the_search_index(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    titles = {entry["title"] for entry in index["docs"]}
    assert {name.full for name in all_names()} <= titles


def test_a_page_says_what_the_docstring_says(site):
    text = (site / "api" / "rabbet.numpy" / "einsum" / "index.html").read_text()
    for part in ("subscripts", "left to right", "rabbet-numpy", "Raises"):
        assert part in text
