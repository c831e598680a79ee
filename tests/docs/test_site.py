"""The built site as files: no link leads nowhere, every public name has a page and is in the search index."""

import html
import json
import posixpath
import re
import urllib.parse
from typing import NamedTuple

import pytest
from public_names import all_names, modules

# MkDocs leaves out quotes where HTML allows it.
ADDRESS = re.compile(r"""\s(?:href|src)=(?:"([^"]*)"|([^\s">]+))""")
ANCHOR = re.compile(r"""\s(?:id|name)=(?:"([^"]*)"|([^\s">]+))""")


class Links(NamedTuple):
    """The addresses that a page leads to, and the places in it that others may lead to."""

    addresses: set
    anchors: set

    @classmethod
    def of(cls, text):
        """What stands in the tags of a page; in what they show, quotes are written otherwise."""
        found = [
            {html.unescape(quoted or plain) for quoted, plain in pattern.findall(text)}
            for pattern in (ADDRESS, ANCHOR)
        ]
        return cls(found[0] - {""}, found[1] | {""})


@pytest.fixture(scope="module")
def pages(site):
    """The links of every page, by its path within the site."""
    return {path.relative_to(site).as_posix(): Links.of(path.read_text()) for path in site.rglob("*.html")}


def broken(site, page, address, pages):
    """What is wrong with an address that stands on a page (its path within the site), or None."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme or parts.netloc:
        return None  # another site: the tests use no network
    local = urllib.parse.unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), local)) if local else page
    index = posixpath.normpath(f"{target}/index.html")
    target = index if index in pages else target
    if target not in pages and not (site / target).is_file():
        return f"{page}: {address} is not there"
    if target in pages and parts.fragment not in pages[target].anchors:
        return f"{page}: {address} has no such heading"
    return None


def test_no_link_is_broken(site, pages):
    assert len(pages) > 1000
    found = [
        fault
        for page, links in pages.items()
        if page != "404.html"  # its addresses are those of a site at the root of a server
        for address in links.addresses
        if (fault := broken(site, page, address, pages))
    ]
    assert found == []


def test_the_check_of_links_finds_what_is_broken(site, pages):
    assert "is not there" in broken(site, "index.html", "nowhere/", pages)
    assert "no such heading" in broken(site, "index.html", "tutorial/#nowhere", pages)
    assert "no such heading" in broken(site, "index.html", "#nowhere", pages)
    assert broken(site, "index.html", "tutorial/", pages) is None
    assert broken(site, "faq/index.html", "../tutorial/#arrays", pages) is None


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
