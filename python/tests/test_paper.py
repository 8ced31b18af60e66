"""The interface of the POOL paper: figure 3, on the program of figure 4 and on a memory."""

from __future__ import annotations

import pytest

import cenote as cn
from cenote import paper


def int2bits(number, length=8):
    return [bool(number >> k & 1) for k in range(length)]


def bits2int(bits):
    return sum(bit << k for k, bit in enumerate(bits))


def mux(x, y, c):
    return (c & (x ^ y)) ^ y


def mux8(ws):
    x, y, c = ws[:8], ws[8:16], ws[16]
    return [mux(x[i], y[i], c) for i in range(8)]


@paper.program
def figure_4(party):
    """Selects one of two numbers."""
    wires_a = party.garbler_in("a", 8)
    wires_b = party.evaluator_in("b", 8)
    choice = party.garbler_in("choice", 1)
    party.evaluator_out("selected", party.exec(mux8, [*wires_a, *wires_b, *choice]))


INPUT_A = int2bits(0x01AA, 9)
INPUTS = {"a": INPUT_A[:8], "b": int2bits(0xBB), "choice": INPUT_A[8:]}


@pytest.mark.parametrize(("choice", "selected"), [(True, 0xAA), (False, 0xBB)])
def test_figure_4_selects(choice, selected):
    given = {**INPUTS, "choice": [choice]}
    assert bits2int(figure_4(**given)["selected"]) == selected
    assert bits2int(figure_4.simulate(**given).value["selected"]) == selected


def test_figure_4_runs_and_the_evaluator_alone_learns():
    run = figure_4.run_local(**INPUTS, backend="wrk")
    assert run.a == {"selected": None}
    assert bits2int(run.b["selected"]) == 0xAA


def test_figure_4_is_what_its_gates_are():
    prog = figure_4.compile()
    assert prog.cost()["ands"] == 8
    assert {name: repr(port) for name, port in prog.inputs.items()} == {
        "a": "A[Array[Bit, 8]]",
        "b": "B[Array[Bit, 8]]",
        "choice": "A[Array[Bit, 1]]",
    }
    assert prog.outputs == {"selected": ("evaluator", "Array[Bit, 8]")}
    assert prog.name == "figure_4"


@paper.program
def memory(party):
    """Two accesses to a memory that begins with zeros, with gates by their names."""
    data, place, write = party.garbler_in("data", 4), party.evaluator_in("place", 3), party.evaluator_in("write", 2)
    ram = party.init_ram(5, 4)
    first = party.access_ram(ram, write[0], place, data)
    second = party.access_ram(ram, write[1], place, [party.xor(bit, first[0]) for bit in data])
    party.garbler_out("first", first)
    party.evaluator_out("second", second)
    party.evaluator_out("both", [party.and_(*write)])


@pytest.mark.filterwarnings("ignore::cenote.OverflowWarning")
@pytest.mark.parametrize("place", [0, 4, 5, 7])
@pytest.mark.parametrize("write", [0, 1, 2, 3])
def test_a_memory_gives_what_was_written(place, write):
    given = {"data": int2bits(11, 4), "place": int2bits(place, 3), "write": int2bits(write, 2)}
    found = {name: bits2int(bits) for name, bits in memory.simulate(**given).value.items()}
    # Beyond the end nothing is written.
    assert found == {"first": 0, "second": 11 if write & 1 and place < 5 else 0, "both": int(write == 3)}


@pytest.mark.parametrize("twice", ["garbler_in", "evaluator_in"])
def test_names_are_taken_once(twice):
    def doubled(party):
        party.garbler_in("x", 1)
        getattr(party, twice)("x", 1)

    with pytest.raises(cn.CompileError, match="there is an input `x` already"):
        paper.program(doubled)


def test_outputs_are_named_once():
    def doubled(party):
        x = party.garbler_in("x", 1)
        party.garbler_out("z", x)
        party.evaluator_out("z", x)

    with pytest.raises(cn.CompileError, match="there is an output `z` already"):
        paper.program(doubled)
