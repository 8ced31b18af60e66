"""Slips of users: what they get is an error at their line, or what they meant."""

from __future__ import annotations

import pytest

import cenote as cn

Byte = cn.UInt[8]


def test_lists_of_secrets_are_arrays():
    @cn.program
    def lists(a: cn.Garbler[Byte], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        places = cn.argmin((a, b)), cn.argmax([a, b])
        seen = cn.any(x == 3 for x in (a, b)) & ~cn.all([a == b, b == 3])
        return cn.sum([a, b]) + Byte(cn.sum(places, width=2)) + Byte(seen) + cn.sort([b, a])[0]

    for a, b in ((3, 9), (9, 3), (4, 5)):
        expected = a + b + 1 + (3 in (a, b)) + min(a, b)
        assert lists(a, b) == lists.simulate(a=a, b=b).value == expected


def test_slips_are_named_at_the_line():
    @cn.program
    def two(a: cn.Garbler[Byte], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        return a, b

    @cn.program
    def itself(a: cn.Garbler[Byte], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        return itself(a - 1, b)

    @cn.program
    def field(a: cn.Garbler[cn.Array[Byte, 4]], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        return cn.sort(a, by="b")[0] + b

    @cn.program
    def number(a: cn.Garbler[Byte], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        return cn.sum(7) + a + b

    for program, what in (
        (two, "is a tuple of 2, annotated is UInt\\[8\\]: annotate each part"),
        (itself, "calls itself without end(.|\n)*return itself\\(a - 1, b\\)"),
        (field, "only records have fields(.|\n)*test_small_slips.py"),
        (number, "sum of int: it takes a secret array, or a list of secrets(.|\n)*test_small_slips.py"),
    ):
        with pytest.raises(cn.CompileError, match=what):
            program.compile()


def test_small_programs_do_without_wide_cores():
    @cn.program
    def choose(a: cn.Garbler[cn.UInt[64]], b: cn.Evaluator[cn.UInt[64]]) -> cn.Both[cn.UInt[64]]:
        return cn.where(a < b, a, b)

    program = choose.compile()
    with_cores, without = (program.price("jimu", muxcore=wide)["garbler_bytes_sent"] for wide in (True, False))
    assert without < with_cores / 5
    run = program.run_local(a=2**60, b=3, backend="jimu", pool=1000, muxcore=False)
    assert run.value == 3


def test_a_function_that_gives_another_program_each_time_is_refused():
    runs: list[int] = []

    @cn.program
    def drifts(a: cn.Garbler[Byte]) -> cn.Both[Byte]:
        runs.append(0)
        return a + len(runs)

    with pytest.raises(cn.CompileError, match=r"drifts gives another program each time(.|\n)*test_small_slips\.py:\d+\n"):
        drifts.compile().simulate(a=1)
