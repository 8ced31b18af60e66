"""Slips of users: what they get is an error at their line, or what they meant."""

from __future__ import annotations

import math
import random

import pytest
from ways import three_ways

import cenote as cn
from cenote import _ops

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


def test_a_function_that_draws_coins_is_refused_whatever_they_show():
    def outcome(coins: random.Random) -> object:
        @cn.program
        def either(a: cn.Garbler[Byte]) -> cn.Both[Byte]:
            return a + 1 if coins.random() < 0.5 else a ^ 2

        try:
            return either.compile().simulate(a=2).value
        except cn.Error as error:
            return type(error)

    # Nothing is wrong as long as the coins fall alike.
    assert {outcome(random.Random(seed)) for seed in range(20)} == {3, 0, cn.CompileError}


def test_compile_takes_what_is_no_input():
    @cn.program
    def scaled(a: cn.Garbler[Byte], n: int = 2) -> cn.Both[Byte]:
        return a * n

    for wrong, what in (
        ({"a": 5}, r"`a` is an input, given when the program runs, as in prog\.run_local\(a=\.\.\)"),
        ({"b": 5}, "scaled has no parameter b; it has a, n"),
    ):
        with pytest.raises(cn.CompileError, match=rf"{what}(.|\n)*test_small_slips\.py:\d+\n +scaled\.compile\(\*\*wrong\)"):
            scaled.compile(**wrong)
    assert scaled.compile(n=3).simulate(a=5).value == 15


def test_lines_that_cannot_be_have_no_price():
    @cn.program
    def plus(a: cn.Garbler[Byte], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        return a + b

    program = plus.compile()
    for name, values in (("rtt_ms", (-1, math.nan, math.inf)), ("mbit", (-5.0, 0, math.nan, math.inf))):
        for value in values:
            with pytest.raises(cn.InputError, match=f"^{name}={value!r}: "):
                program.price(**{name: value})
    assert program.price(rtt_ms=50, mbit=100)["seconds"] > program.price(rtt_ms=0)["seconds"] > 0


def test_too_much_for_one_statement_is_named_at_the_line():
    @cn.program
    def rounds(a: cn.Garbler[Byte]) -> cn.Both[Byte]:
        for _ in cn.range(2**32):
            a = a + 1
        return a

    def down(n: int) -> int:
        return 0 if n == 0 else down(n - 1)

    @cn.program
    def deep(a: cn.Garbler[Byte]) -> cn.Both[Byte]:
        return a + down(10**5)

    for program, what in (
        (rounds, r"at most 2\^30 rounds: write one inside of another(.|\n)*in cn\.range\(2\*\*32\)"),
        (deep, r"allow more by sys\.setrecursionlimit(.|\n)*test_small_slips\.py"),
    ):
        with pytest.raises(cn.CompileError, match=what):
            program.compile()


def test_what_a_body_prints_is_printed_once(capsys):
    @cn.program
    def talks(a: cn.Garbler[cn.Array[Byte, 4]], b: cn.Evaluator[Byte]) -> cn.Both[Byte]:
        total = 0
        for i in cn.range(4):
            print("outer")
            for _ in cn.range(2):
                print("inner")
                total = total + a[i] * b
        return total

    talks.compile()
    assert capsys.readouterr().out == "outer\ninner\n"

    @cn.program
    def fails(a: cn.Garbler[Byte]) -> cn.Both[Byte]:
        for _ in cn.range(4):
            print("so far")
            a = a + unknown
        return a

    with pytest.raises(cn.CompileError, match="`unknown` has no value"):
        fails.compile()
    assert capsys.readouterr().out == "so far\n"


@pytest.mark.parametrize("of", [cn.UInt[64], cn.Int[64]])
@pytest.mark.parametrize(("shape", "axis"), [((10**6,), None), ((10, 10**5), 1)])
def test_sums_of_very_many_words(of, shape, axis):
    @cn.program
    def made(x: cn.Garbler[of]):
        return cn.sum(cn.broadcast_to(x, shape), axis=axis)

    # In one statement these are more gates than may be looked at.
    assert 60 * 10**6 < made.compile().cost()["ands"] < 65 * 10**6


@pytest.mark.parametrize("signed", [False, True])
def test_sums_by_parts_are_sums(signed, monkeypatch):
    monkeypatch.setattr(_ops, "_ADDED", 64)
    monkeypatch.setattr(_ops, "_PART", 4)
    of = cn.Int[9] if signed else cn.UInt[9]
    numbers = [[(k * 37 + row * 11) % 400 - (200 if signed else 0) for k in range(27)] for row in range(2)]

    @cn.program(checked=True)
    def made(x: cn.Garbler[cn.Array[of, 2, 27]]):
        return cn.sum(x, width=14), cn.sum(x, axis=1, width=14), cn.sum(x, axis=0, width=12), cn.sum(x[0] > 3), cn.sum(x[0])

    (whole, rows, columns, count, narrow), run = three_ways(made, x=numbers)
    assert (whole, rows) == (sum(map(sum, numbers)), [sum(row) for row in numbers])
    assert (columns, count) == ([sum(pair) for pair in zip(*numbers)], sum(n > 3 for n in numbers[0]))
    assert (narrow - sum(numbers[0])) % 512 == 0
    assert run.overflowed is (not of.low <= sum(numbers[0]) <= of.high)
