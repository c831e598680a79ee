"""Pages of the reference: types that say something, where a name is defined, what it works with."""

import api_pages
import badges
import pytest
import typed


@pytest.fixture(scope="module")
def page():
    """page("rabbet.numpy.einsum"): its text."""
    made = api_pages.Site()

    def of(full):
        module, _, last = full.rpartition(".")
        (name,) = [one for one in made.names[module] if one.name == last]
        return made.name_page(name)

    return of


def test_types_have_no_quotes_and_say_something(page):
    said = page("rabbet.numpy.einsum")
    assert "preferred_element_type: DTypeLike | None = None," in said and ") -> Array" in said
    assert "out=None," in said and "Any'" not in said
    assert "_dot_general" not in said  # for programs that know it


def test_a_page_tells_where_its_name_is_defined(page):
    assert "Source: `core/src/rabbet/lax/loops.py:" in page("rabbet.lax.scan")
    assert "Source:" not in page("rabbet.numpy.sin")  # made by a function that makes many


@pytest.mark.parametrize(
    ("full", "said"),
    [
        ("rabbet.lax.sin", ["jit ✓", "grad ✓", "vmap ✓"]),
        ("rabbet.lax.eq", ["jit ✓", "grad 0", "vmap ✓"]),
        ("rabbet.numpy.floor", ["jit ✓", "grad 0", "vmap ✓"]),
    ],
)
def test_badges_are_those_of_the_tables(full, said, page):
    text = page(full)
    assert [one for one in said if one in text] == said


def test_what_has_no_rule_has_another_badge(page):
    works = {name: badges.works_with(p)["grad"] for name, p in badges.primitives().items()}
    assert works["sin"] == "yes" and works["floor"] == "zero"
    assert set(works.values()) <= {"yes", "zero", "no"}
    assert badges.line("rabbet.numpy", "einsum", None) is None


def test_annotations_are_short():
    assert typed.annotation("'collections.abc.Callable[..., rabbet.lax.array_types.ArrayLike]'") == (
        "Callable[..., ArrayLike]"
    )
    assert typed.annotation("Value | None") == "Array | None"
