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


@cn.program
def counts(x: cn.A[cn.UInt[8]], total: cn.NewMemory[cn.UInt[8]]) -> cn.Both[cn.UInt[8]]:
    total.value = total.value + x
    return total.value


@pytest.mark.parametrize("backend", ["plain", "yao", "wrk", "jimu:pool=2000"])
def test_a_run_alone_begins_memories_and_finds_none(backend):
    assert counts.run_local(x=5, backend=backend).value == 5
    if backend == "plain":
        with pytest.raises(cn.InputError, match="adds goes on with memory sums, and a run of its own finds none: use simulate"):
            adds.run_local(place=1, more=2, backend=backend)


def test_a_memory_ends_and_begins_whatever_its_values_are():
    def branch(m, a):
        if cn.reveal(a == 1):
            m.end()

    def loop(m, a):
        for _ in cn.range(3):
            m.end()

    for body in (branch, loop):

        @cn.program
        def wrong(a: cn.A[cn.UInt[8]], m: cn.Memory[cn.UInt[8]], body: object) -> cn.Both[cn.UInt[8]]:
            cn.inline(body)(m, a)
            return a

        with pytest.raises(cn.CompileError, match=r"m\.end\(\) is for the whole program: write it outside of loops, branches"):
            wrong.compile(body=body)


def test_a_memory_is_not_what_is_in_it():
    @cn.program
    def wrong(m: cn.Memory[cn.Array[cn.UInt[8], 4]]) -> cn.Both[cn.UInt[8]]:
        return m[0]

    with pytest.raises(cn.CompileError, match=r"memory m is no array: what is in it is m\.value, as in m\.value\[i\]"):
        wrong.compile()
    with pytest.raises(cn.InputError, match=r"total is a memory of counts, not an input: simulate\(.., memories=\{'total': ..\}\)"):
        counts.simulate(x=1, total=3)


class Seen(cn.Record):
    count: cn.Int[8]
    flags: cn.Array[cn.Bit, 2]


@cn.program
def first_seen(seen: cn.NewMemory[cn.Ram[Seen, 20, 500]]):
    """Begins a memory of rows."""


@cn.program
def note(at: cn.A[cn.UInt[5]], by: cn.B[cn.Int[8]], seen: cn.Memory[cn.Ram[Seen, 20, 500]]) -> cn.Both[cn.Int[8]]:
    """Adds to a row at a secret place, and gives what it was."""
    old = seen.value.update(at, lambda row: Seen(count=row.count + by, flags=cn.stack([row.flags[1], by > 0])))
    return old.count


@cn.program
def last_seen(at: cn.A[cn.UInt[5]], seen: cn.Memory[cn.Ram[Seen, 20, 500]]) -> cn.Both[cn.Int[8]]:
    """Reads a row, and ends the memory."""
    seen.end()
    return seen.value[at].count


def test_random_access_memories_go_from_run_to_run():
    held: dict[str, object] = {}
    first_seen.simulate(memories=held)
    assert held == {"seen": {"count": [0] * 20, "flags": [[False, False]] * 20}}
    counts, flags, rng = [0] * 20, [[False, False] for _ in range(20)], random.Random(3)
    for _ in range(30):
        at, by = rng.randrange(20), rng.randrange(-5, 5)
        assert note.simulate(at=at, by=by, memories=held).value == counts[at]
        counts[at] += by
        flags[at] = [flags[at][1], by > 0]
        assert held == {"seen": {"count": counts, "flags": flags}}
    with pytest.warns(cn.OverflowWarning, match="beyond the end"):
        assert note.simulate(at=25, by=1, memories=held).value == 0
    assert last_seen.simulate(at=7, memories=held).value == counts[7]
    assert held == {}


def test_random_access_memories_are_declared_with_their_life(tmp_path):
    made = note.compile()
    assert "memory seen[20]: found ram 500 uint b10" in made.show()
    assert repr(made.memories) == "{'seen': Memory[Ram[Seen, 20, 500]]}"
    made.save(tmp_path / "note.cenote")
    read = cn.load(tmp_path / "note.cenote")
    assert repr(read.memories) == "{'seen': Memory[Ram[UInt[10], 20, 500]]}"
    held: dict[str, object] = {"seen": [3] * 20}
    assert read.simulate(at=2, by=4, memories=held).value == 3
    assert held["seen"][2] == 7 | 0b10 << 8

    @cn.program
    def whole(seen: cn.Memory[cn.Ram[Seen, 20, 500]]) -> cn.Both[cn.UInt[10]]:
        return cn.sum(seen.value.rows)

    with pytest.raises(cn.CompileError, match="lookup and store alone"):
        whole.compile()

    @cn.program
    def long(at: cn.A[cn.UInt[5]], seen: cn.Memory[cn.Ram[Seen, 20, 500]]):
        for _ in cn.range(501):
            seen.value.update(at, lambda row: row)

    with pytest.raises(cn.CompileError, match="has 500 accesses in its life, this program takes 501"):
        long.compile()
    with pytest.raises(cn.CompileError, match=r"Ram\[T, n, accesses\]"):
        cn.Ram[cn.UInt[8], 4]


def test_a_random_access_memory_begins_with_given_rows():
    @cn.program
    def load(rows: cn.A[cn.Array[cn.UInt[8], n]], m: cn.NewMemory[cn.Ram[cn.UInt[8], n, 100]], *, n: int = 6):
        m.value = cn.ram(rows)

    held: dict[str, object] = {}
    load.compile().simulate(rows=[1, 2, 3, 4, 5, 6], memories=held)
    assert held == {"m": [1, 2, 3, 4, 5, 6]}
