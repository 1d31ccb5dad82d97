"""Facts that are kept with immutable objects."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

from attndsl.base.facts import kept
from attndsl.expr import Const, Symbol
from attndsl.tile.scalars import free
from attndsl.tile.statements import For, If, Let, Seq, seq

asked: list[str] = []


@dataclass(frozen=True)
class Named:
    """An object whose fact counts how often it is asked for."""

    name: str

    @kept
    def length(self) -> int:
        """Characters of the name."""
        asked.append(self.name)
        return len(self.name)


def test_a_fact_is_found_once_an_object():
    asked.clear()
    one, equal = Named("one"), Named("one")
    assert [one.length(), one.length(), equal.length()] == [3, 3, 3]
    assert asked == ["one", "one"] and one == equal


def test_a_copy_with_other_fields_has_facts_of_its_own():
    one = Named("one")
    one.length()
    assert replace(one, name="three").length() == 5


def test_an_expression_with_facts_is_still_equal_to_one_without():
    x, y = Symbol("x"), Symbol("y")
    known, fresh = (x + y) * 2, (Symbol("x") + Symbol("y")) * 2
    assert known.symbols() == {"x", "y"} and len(known.nodes()) == 5
    assert known.same(fresh) and hash(known) == hash(fresh)
    assert pickle.loads(pickle.dumps(known)).same(fresh)
    assert not known.same(fresh + 1)


def test_nodes_come_before_their_operands():
    x, y = Symbol("x"), Symbol("y")
    total = x + y * 2
    assert [str(node) for node in total.nodes()] == ["x + y * 2", "x", "y * 2", "y", "2"]


def test_free_scalars_of_a_tree_are_those_of_its_parts():
    """In order of first use, without what is bound in front of them."""
    a, b, c, i = (Symbol(name) for name in "abci")
    inner = If(condition=c > 0, then=seq(Let(symbol=b, value=a)))
    body = seq(Let(symbol=a, value=i + 1), inner, Let(symbol=c, value=b))
    tree = For(var=i, end=Symbol("n"), body=body)
    assert list(free(inner)) == ["c", "a"]
    assert list(free(body)) == ["i", "c", "b"]
    assert list(free(tree)) == ["n", "c", "b"]
    assert list(free(seq(Let(symbol=c, value=Const(1)), tree))) == ["n", "b"]
    assert list(free(Seq(body=()))) == []
