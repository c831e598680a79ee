"""What people type into the site's search finds the page that answers it, among the first three.

The order of results is computed here as the site's own search does it: lunr with the fields and boosts that
stand in the index, every word also as a beginning of a word, and the results of a page together. Words that a
page lacks, and that people use for what it tells, are put into its `tags`, at its top.
"""

import json
import math
import pathlib
import re

import pytest

QUERIES = [
    [part.strip() for part in line.split("|")]
    for line in pathlib.Path(__file__).with_name("queries.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# Words that lunr leaves out of the index; a query may have them.
STOP = set(
    "a able about across after all almost also am among an and any are as at be because been but by can "
    "cannot could dear did do does either else ever every for from get got had has have he her hers him "
    "his how however i if in into is it its just least let like likely may me might most must my "
    "neither no nor not of off often on only or other our own rather said say says she should since so "
    "some than that the their them then there these they this tis to too twas us wants was we were what "
    "when where which while who whom why will with would yet you your".split()
)


class Index:
    """A search index, and the pages that it finds."""

    def __init__(self, read):
        self.docs = read["docs"]
        self.separator = re.compile(read["config"]["separator"])
        self.boosts = {field: about["boost"] for field, about in read["config"]["fields"].items()}
        self.found = {}  # word -> {(entry, field): how often}
        for number, entry in enumerate(self.docs):
            for field in self.boosts:
                for word in self.words(entry.get(field, "")):
                    if word not in STOP:
                        places = self.found.setdefault(word, {})
                        places[number, field] = places.get((number, field), 0) + 1

    def words(self, text):
        """The words of a text without its HTML, or of a list of texts."""
        for one in [text] if isinstance(text, str) else text:
            for part in re.split(r"<[^>]*>", one):
                yield from (word for word in self.separator.split(part.lower()) if word)

    def rarity(self, places):
        """How much a word says: lunr's measure, in which a field of an entry counts by itself."""
        count = len(places)
        return math.log(1 + abs((len(self.docs) - count + 0.5) / (count + 0.5)))

    def pages(self, query):
        """The addresses of the pages found, the best first."""
        asked = list(dict.fromkeys(self.words(query)))
        scores, matched = {}, {}
        for begin in asked:
            for word, places in self.found.items():
                if word.startswith(begin):
                    rarity = self.rarity(places)
                    for (number, field), often in places.items():
                        boost = self.boosts[field] * self.docs[number].get("boost", 1)
                        score = rarity * 2.2 * often / (1.2 + often) * boost
                        scores[number] = scores.get(number, 0) + score
                        matched.setdefault(number, set()).add(begin)
        best = {}
        for number, score in scores.items():
            page, _, section = self.docs[number]["location"].partition("#")
            words = [word for word in asked if word in matched[number] or word not in STOP]
            share = len(matched[number]) / len(words) + (not section)
            best[page] = max(best.get(page, 0), score * (1 + share**2))
        return sorted(best, key=best.get, reverse=True)


@pytest.fixture(scope="module")
def index(site):
    """The index of the built site."""
    return Index(json.loads((site / "search" / "search_index.json").read_text()))


def test_there_are_forty_queries():
    assert len({query for query, _ in QUERIES}) == len(QUERIES) >= 40


def test_queries_find_their_pages(index):
    """Where one fails, put the words into the `tags` of the page that answers it."""
    wrong = {}
    for query, pages in QUERIES:
        first = index.pages(query)[:3]
        if not set(first) & set(pages.split(", ")):
            wrong[query] = first
    assert wrong == {}


def test_the_pages_that_queries_name_are_there(index):
    """A page that is renamed must not make its query fail for that alone."""
    there = {entry["location"] for entry in index.docs}
    assert {page for _, pages in QUERIES for page in pages.split(", ")} <= there


def test_a_page_without_the_words_is_not_found(index):
    assert index.pages("xyzzy") == []
    assert "howto/checkpoints/" not in index.pages("vmap")[:3]
