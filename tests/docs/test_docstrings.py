"""What makes pages of docstrings: sections, lists, examples, links, and nothing that Markdown misreads."""

from docstrings import inline, markdown, summary

DOC = """A sum of ``x * y`` over *all* axes, see ``dot``::

    s = x[0] * y[0]

Args:
  x, y: arrays with the shape ``[n]``;
    promoted.
  axis: an int.

Returns:
  the sum.

Example:
  >>> f(1)
  1
  >>> g(
  ...     2)
  2

Notes stand at the margin.
- one
- two"""


def test_a_docstring_becomes_markdown():
    pages = {"dot": "dot.md"}
    assert markdown(DOC, pages.get).splitlines() == [
        r"A sum of `x * y` over \*all\* axes, see [`dot`](dot.md):", "",
        "```text", "s = x[0] * y[0]", "```", "",
        "**Args**", "",
        "- `x`, `y`: arrays with the shape `[n]`; promoted.",
        "- `axis`: an int.", "",
        "**Returns**", "", "the sum.", "",
        "**Example**", "",
        "```pycon", ">>> f(1)", "1", ">>> g(", "...     2)", "2", "```", "",
        "Notes stand at the margin.", "", "- one", "- two",
    ]  # fmt: skip


def test_an_example_needs_no_heading_and_no_blank_line():
    assert markdown("Adds.\n>>> 1 + 1\n2").splitlines() == ["Adds.", "", "```pycon", ">>> 1 + 1", "2", "```"]


def test_text_is_escaped_and_code_is_not():
    assert inline("a_b <c> `d_e` [f](g)") == r"a\_b &lt;c&gt; `d_e` \[f\](g)"
    assert inline("``a`b``") == "`` a`b ``"


def test_a_summary_is_one_sentence():
    assert summary("First. Second.\n\nThird.") == "First."
    assert summary("An index i.e. a number. `x` is.") == "An index i.e. a number."


def test_of_an_empty_docstring_nothing_comes():
    assert markdown("") == "\n" and summary("") == ""
