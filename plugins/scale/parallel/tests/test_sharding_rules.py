"""Sharding rules: how they are read, what Shardy is told, and what is refused."""

import pytest
from rabbet.experimental.custom_partitioning import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule
from rabbet_parallel.sharding_rules import parse_rule


@pytest.mark.parametrize(
    ("rule", "operands", "results", "text"),
    [
        ("i j -> i j", [(16, 8)], [(16, 8)], "([i, j])->([i, j]) {i=16, j=8}"),
        ("rows k, k cols -> rows cols", [(16, 8), (8, 12)], [(16, 12)],
         "([i, j], [j, k])->([i, k]) {i=16, j=8, k=12}"),
        ("... j -> ... j", [(3, 4, 8)], [(3, 4, 8)], "([i, j, k])->([i, j, k]) {i=3, j=4, k=8}"),
        ("...j -> ...", [(3, 8)], [(3,)], "([i, j])->([i]) {i=3, j=8}"),
        ("... -> ...", [()], [()], "([])->([]) {}"),
        ("(i k) j -> i k j", [(16, 8)], [(4, 4, 8)], "([ij, k])->([i, j, k]) {i=4, j=4, k=8}"),
        ("i -> i, i", [(4,)], [(4,), (4,)], "([i])->([i], [i]) {i=4}"),
    ],
)  # fmt: skip
def test_what_shardy_is_told(rule, operands, results, text):
    told = parse_rule(rule, {}, {}).text(operands, results, "f")
    assert told == f"#sdy.op_sharding_rule<{text}, custom>"


def test_kinds_of_factors_and_sizes():
    special = {"reduction_factors": ("j",), "need_replication_factors": ("k", "i")}
    told = parse_rule("i j k -> k i", special, {}).text([(2, 3, 4)], [(4, 2)], "f")
    assert told.endswith("{i=2, j=3, k=4} reduction={j} need_replication={i, k}, custom>")
    told = parse_rule("(i k) -> (i k)", {}, {"i": 4, "k": 2}).text([(8,)], [(8,)], "f")
    assert "([ij])->([ij]) {i=4, j=2}" in told


def test_many_factors_have_names():
    names = [f"f{i}" for i in range(20)]
    told = parse_rule(" ".join(names) + " -> f0", {"reduction_factors": names[1:]}, {})
    text = told.text([(2,) * 20], [(2,)], "f")
    assert "z, z_1, z_2])->([i])" in text and text.endswith("z, z_1, z_2}, custom>")


def test_a_rule_made_of_objects_is_that_of_its_text():
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("a", "b")), ("a",)),
        ((BATCHING, "b"),),
        reduction_factors=("a",),
    )
    assert rule == parse_rule("... (a b), a -> ... b", {"reduction_factors": ("a",)}, {})
    assert hash(rule) == hash(parse_rule("...(a b),a->...b", {"reduction_factors": ("a",)}, {}))
    assert str(rule) == "... (a b), a -> ... b" and rule != parse_rule("a -> a", {}, {})


@pytest.mark.parametrize(
    ("rule", "special", "sizes", "words"),
    [
        ("i j", {}, {}, "one arrow"),
        ("i -> j -> k", {}, {}, "one arrow"),
        ("i ( j -> i", {}, {}, "without '\\)'"),
        ("i + j -> i", {}, {}, "'\\+'"),
        ("i ... -> i", {}, {}, "in front"),
        ("i -> i", {"reduction_factors": ("q",)}, {}, "'q'"),
        ("i -> i", {"reduction_factors": ("i",)}, {}, "in a result"),
        ("i j -> i", {"reduction_factors": ("j",), "need_replication_factors": ("j",)}, {}, "twice"),
        ("(i k) -> (i k)", {}, {"i": 2}, "give its size, k="),
        ("i -> i", {}, {"i": 2}, "'i'"),
    ],
)
def test_rules_that_are_refused(rule, special, sizes, words):
    with pytest.raises(ValueError, match=words):
        parse_rule(rule, special, sizes)


@pytest.mark.parametrize(
    ("rule", "operands", "results", "words"),
    [
        ("i -> i", [(2, 3)], [(2, 3)], "operand 0 .* 1 dimensions"),
        ("i, j -> i", [(2,)], [(2,)], "2 operands, and the function has 1"),
        ("i -> i, i", [(2,)], [(2,)], "2 results, and the function has 1"),
        ("(i j), i, j -> i", [(7,), (2,), (3,)], [(2,)], None),
        ("i, j, (i j) -> i", [(2,), (3,), (7,)], [(2,)], "7.*6 together"),
    ],
)
def test_rules_that_do_not_fit(rule, operands, results, words):
    parsed = parse_rule(rule, {}, {})
    if words is None:
        assert "{i=2, j=3}" in parsed.text(operands, results, "f")
        return
    with pytest.raises(ValueError, match=words):
        parsed.text(operands, results, "f")
