"""Memories that outlive a run: how programs use them, in the clear and compiled, and what is refused."""

from __future__ import annotations

import random

import pytest

import cenote as cn


@cn.program
def begins(sums: cn.NewMemory[cn.Array[cn.UInt[8], 4]]):
    """Begins sums at 16."""
    sums.value = 16


@cn.program
def adds(place: cn.A[cn.UInt[2]], more: cn.B[cn.UInt[8]], sums: cn.Memory[cn.Array[cn.UInt[8], 4]]) -> cn.B[cn.UInt[8]]:
    """Adds to the sum at a secret place, and gives what it was."""
    before = sums.value[place]
    sums.value[place] = before + more
    return before


@cn.program
def ends(sums: cn.Memory[cn.Array[cn.UInt[8], 4]]) -> cn.Both[cn.Array[cn.UInt[8], 4]]:
    """Shows the sums for the last time."""
    sums.end()
    return sums.value


def test_runs_go_on_with_what_the_last_one_left():
    held: dict[str, object] = {}
    assert begins.simulate(memories=held).value == {}
    assert held == {"sums": [16] * 4}
    oracle, rng = [16] * 4, random.Random(7)
    for _ in range(20):
        place, more = rng.randrange(4), rng.randrange(9)
        assert adds.simulate(place=place, more=more, memories=held).value == oracle[place]
        oracle[place] += more
        assert held["sums"] == oracle
    assert ends.simulate(memories=held).value == oracle
    assert held == {}
    with pytest.raises(cn.InputError, match="there is no memory sums"):
        adds.simulate(place=1, more=2, memories=held)
    # A function that is called has no runs before it, nor has a run that nobody gives memories.
    assert adds(place=1, more=2) == adds.simulate(place=1, more=2).value == 0


def test_programs_say_what_they_do_with_memories():
    made = adds.compile()
    assert "memory sums[4]: found uint b8" in made.show()
    assert "keep sums:" in made.show()
    assert "keep" not in ends.compile().show()
    assert repr(made.memories) == "{'sums': Memory[Array[UInt[8], 4]]}"
    assert begins.compile().memories["sums"].is_new


def test_a_program_that_was_saved_keeps_its_memories(tmp_path):
    adds.compile().save(tmp_path / "adds.cenote")
    read = cn.load(tmp_path / "adds.cenote")
    held: dict[str, object] = {"sums": [1, 2, 3, 4]}
    assert read.simulate(place=2, more=9, memories=held).value == 3
    assert held == {"sums": [1, 2, 12, 4]}


class Card(cn.Record):
    number: cn.UInt[16]
    seen: cn.Array[cn.Bit, 2]


@cn.program
def notes(number: cn.A[cn.UInt[16]], cards: cn.Memory[cn.Array[Card, 3]], last: cn.Memory[Card], count: cn.Memory[cn.Int[8]]):
    """Changes a table in a loop, a record and a word."""
    table = cards.value
    for i in cn.range(3):
        table.number[i] = table.number[i] + number
        count.value = count.value - 1
    last.value = Card(number=number, seen=cn.stack([number > 5, number > 6]))


def test_memories_are_tables_records_and_words():
    held = {"cards": {"number": [1, 2, 3], "seen": [[False, True]] * 3}, "last": {"number": 0, "seen": [False, False]}, "count": 2}
    notes.simulate(number=6, memories=held)
    assert held == {
        "cards": {"number": [7, 8, 9], "seen": [[False, True]] * 3},
        "last": {"number": 6, "seen": [True, False]},
        "count": -1,
    }


def test_what_is_left_has_the_type_of_the_memory():
    @cn.program
    def wrong(sums: cn.NewMemory[cn.Array[cn.UInt[8], 4]]):
        sums.value = cn.UInt[8]([1, 2, 3])

    with pytest.raises(cn.CompileError, match=r"do not go together"):
        wrong.compile()


@pytest.mark.parametrize("backend", ["plain", "yao", "wrk", "jimu:pool=2000"])
def test_a_run_alone_begins_memories_and_finds_none(backend):
    @cn.program
    def counts(x: cn.A[cn.UInt[8]], total: cn.NewMemory[cn.UInt[8]]) -> cn.Both[cn.UInt[8]]:
        total.value = total.value + x
        return total.value

    assert counts.run_local(x=5, backend=backend).value == 5
    if backend == "plain":
        with pytest.raises(cn.PolicyError, match="there is no memory `sums`: it has ended, or was never begun"):
            adds.run_local(place=1, more=2, backend=backend)
