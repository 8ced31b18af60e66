"""Programs that another process wrote: names, structure and kinds of ports are in the file."""

import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cenote as cn
from cenote._records import field_types
from cenote._types import ArrayType

CIRCUITS = Path(__file__).parents[2] / "data" / "circuits"


class Address(cn.Record):
    """A part of a row."""

    city: cn.UInt[5]
    point: cn.Array[cn.Fixed[8, 8], 2]


class Person(cn.Record):
    """A row."""

    age: cn.UInt[8]
    balance: cn.Fixed[12, 4]
    home: Address
    member: cn.Bit


@cn.program
def summed(
    people: cn.Garbler[cn.Array[Person, 3]],
    one: cn.Garbler[Person],
    grid: cn.Evaluator[cn.Array[cn.Int[8], 2, 3]],
    least: cn.Evaluator[cn.Array[cn.UInt[8], 1]],
    cut: cn.Evaluator[cn.Fixed[12, 4]],
):
    """Everything that a port can be a part of."""
    rich = people.balance > cut
    return {
        "count": cn.sum(rich),
        "people": people,
        "pair": (one, [grid, people.home.point]),
        "old": people.age >= least,
    }


FRAME = {
    "age": [31, 47, 5],
    "balance": [1.5, -3.25, 100.0625],
    "home.city": [3, 1, 31],
    "home.point": [[0.5, 1.25], [-1.0, 2.0], [0.0, 127.5]],
    "member": [True, False, True],
}
ONE = {"age": 1, "balance": 2.5, "home": {"city": 7, "point": [1.0, -1.0]}, "member": True}


def values():
    """Inputs of ``summed``."""
    return {"people": pd.DataFrame(FRAME), "one": ONE, "grid": np.array([[1, 2, 3], [-4, -5, -6]]), "least": [30], "cut": 1.25}


def loaded(made, tmp_path, name="made.cenote"):
    """The program as somebody reads it who has the file alone."""
    made.save(tmp_path / name)
    return cn.load(tmp_path / name)


def plain(value):
    """A result with tuples for lists and dictionaries for all that has names."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if hasattr(value, "__dataclass_fields__"):
        return plain({name: getattr(value, name) for name in value.__dataclass_fields__})
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return value


def shapes(of):
    """A type without the names of its record types."""
    if isinstance(of, ArrayType):
        return of.shape, shapes(of.item)
    if isinstance(of, type):
        return {name: shapes(field) for name, field in field_types(of).items()}
    return of


@pytest.mark.parametrize("name", ["made.cenote", "made.txt"])
def test_the_peer_passes_what_the_writer_does(tmp_path, name):
    made = summed.compile()
    read = loaded(made, tmp_path, name)
    assert read.digest == made.digest
    assert list(read.inputs) == list(made.inputs)
    for (_, mine), (_, theirs) in zip(made.inputs.items(), read.inputs.items()):
        assert (mine.party, shapes(mine.type)) == (theirs.party, shapes(theirs.type))
    assert read.outputs == made.outputs
    clear = summed(**values())
    expected = {**clear, "pair": (clear["pair"][0], tuple(clear["pair"][1]))}
    assert read.simulate(values()).value == expected
    assert read.run_local(values(), backend="plain").value == expected
    assert read.simulate(values()).numpy["pair"][1][0].tolist() == [[1, 2, 3], [-4, -5, -6]]
    columns = ", ".join(FRAME)
    with pytest.raises(cn.InputError, match=f"input `people` has no column `balance`; People takes {columns}"):
        read.simulate({**values(), "people": pd.DataFrame(FRAME).rename(columns={"balance": "money"})})


WRITER = """
import cenote as cn
class Purchase(cn.Record):
    customer: cn.UInt[16]
    amount: cn.Fixed[16, 8]
@cn.program
def spent(rows: cn.Garbler[cn.Array[Purchase, 3]], who: cn.Evaluator[cn.UInt[16]]) -> cn.Both[cn.Fixed[16, 8]]:
    return cn.sum(cn.where(rows.customer == who, rows.amount, 0))
spent.compile().save("spent.cenote")
"""
READER = """
import sys
import pandas as pd
import cenote as cn
made = cn.load("spent.cenote")
rows = pd.DataFrame({"amount": [1.5, 2.0, 4.25], "customer": [1, 2, 1]})
assert "Purchase" not in globals()
print(made.simulate(rows=rows, who=1).value, made.run_local(rows=rows, who=2, backend="yao").value)
"""


def test_two_processes(tmp_path):
    def run(source):
        done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(WRITER)
    assert run(READER) == "5.75 2.0\n"


Parts = namedtuple("Parts", ["small", "large"])


@dataclass
class Answer:
    """A result with names."""

    sum: object
    rows: object


@pytest.mark.parametrize(
    "shaped",
    [
        lambda x, t: x[0],
        lambda x, t: x,
        lambda x, t: t,
        lambda x, t: t[1],
        lambda x, t: (x[0], x),
        lambda x, t: {"only": x},
        lambda x, t: {"a": (x[0], {"b": t}), "c": x},
        lambda x, t: Parts(x[0], t),
        lambda x, t: Answer(x, t),
        lambda x, t: ((x[0],), x[1]),
    ],
)
def test_results_keep_their_structure(tmp_path, shaped):
    def result(x: cn.Garbler[cn.Array[cn.UInt[8], 2]], t: cn.Evaluator[cn.Array[Address, 2, 2]]):
        return shaped(x, t)

    made = cn.program(result).compile()
    given = {"x": [1, 2], "t": {"city": [[1, 2], [3, 4]], "point": [[[0.5, 1.0]] * 2] * 2}}
    expected = plain(made.simulate(given).value)
    run = loaded(made, tmp_path).simulate(given)
    assert run.value == expected
    assert run.outputs == made.simulate(given).outputs


def test_annotated_results_keep_their_structure(tmp_path):
    @cn.program
    def result(x: cn.Garbler[cn.Array[Person, 3]]) -> tuple[cn.Both[cn.Array[Person, 3]], cn.Evaluator[cn.UInt[8]]]:
        return x, x.age[0]

    made = result.compile()
    given = pd.DataFrame(FRAME)
    assert loaded(made, tmp_path).simulate(x=given).value == result(given)
    assert [port.split(":")[0] for port in made.show().split("output ")[1:]] == [
        "result.0[3].age",
        "result.0[3].balance",
        "result.0[3].home.city",
        "result.0[3].home.point[2]",
        "result.0[3].member",
        "result.1",
    ]
    run = loaded(made, tmp_path).run_local(x=given, backend="plain")
    assert (run.garbler[1], run.evaluator[1]) == (None, 31)


def test_overflow_stays_apart(tmp_path):
    @cn.program(checked=True)
    def total(x: cn.Garbler[cn.UInt[8]], y: cn.Evaluator[cn.UInt[8]]):
        return x + y

    read = loaded(total.compile(), tmp_path)
    run = read.simulate(x=200, y=100)
    assert (run.value, run.overflowed, run.outputs) == (44, True, {"result": 44, "overflow": True})
    assert read.run_local(x=20, y=10, backend="plain").overflowed is False

    @cn.program
    def taken(x: cn.Garbler[cn.UInt[8]]):
        return {"overflow": x}

    with pytest.raises(cn.CompileError, match=r"output overflow has the name of the bit that cn\.checked adds: rename it"):
        taken.compile()


def test_names_with_dots_are_refused():
    @cn.program
    def dotted(x: cn.Garbler[cn.UInt[8]]):
        return {"a.b": x}

    with pytest.raises(cn.CompileError, match=r"`a\.b` is no name of a port: each dot stands between two names"):
        dotted.compile()


FIRST = """cenote 1
program first "a file from before there was structure"
input rows.age: garbler uint 3xb8
input x: evaluator fixed.4 b12
{
  %2 = not %0
}
output rows.age: both uint %2
"""


def test_programs_of_version_1_run_as_before(tmp_path):
    (tmp_path / "first.txt").write_text(FIRST)
    made = cn.load(tmp_path / "first.txt")
    assert {name: repr(port) for name, port in made.inputs.items()} == {
        "rows.age": "A[Array[UInt[8], 3]]",
        "x": "B[Fixed[8, 4]]",
    }
    assert made.simulate({"rows.age": [1, 2, 3], "x": 1.5}).value == [254, 253, 252]
    assert made.show() == FIRST
    assert loaded(made, tmp_path).digest == made.digest == "33e6aa8fdc4b870539aeb2bf65da9db00d1a4fb4a82e747059e1454268ab8739"
    (tmp_path / "third.txt").write_text(FIRST.replace("cenote 1", "cenote 5"))
    with pytest.raises(cn.CompileError, match=r"third\.txt:1:8: expected version 1, 2, 3 or 4, found `5`"):
        cn.load(tmp_path / "third.txt")


def test_tuples_are_given_as_tuples(tmp_path):
    text = 'cenote 2\nprogram t ""\ninput x.0: a uint b8\ninput x.1[2]: a uint b8\ninput t[2].0: b uint b8\ninput t[2].1: b uint b8\n{\n}\n'
    outputs = "output z: both uint %0\noutput y[2]: both uint %3\n"
    (tmp_path / "t.txt").write_text(text + outputs)
    made = cn.load(tmp_path / "t.txt")
    assert made.simulate(x=(1, [2, 3]), t=[(4, 5), (6, 7)]).value == {"z": 1, "y": [5, 7]}
    with pytest.raises(cn.InputError, match="input `x` has 3 parts, the program takes 2"):
        made.simulate(x=(1, 2, 3), t=[(4, 5), (6, 7)])


def test_circuits(tmp_path):
    made = cn.load(CIRCUITS / "add64.txt")
    assert {name: repr(port) for name, port in made.inputs.items()} == {"x": "A[UInt[64]]", "y": "B[UInt[64]]"}
    assert made.simulate(x=2**63, y=7).value == {"sum": 2**63 + 7}
    assert made.run_local(x=5, y=7, backend="yao").value == {"sum": 12}
    assert loaded(made, tmp_path).digest == made.digest
    assert made.name == "add64"
    (tmp_path / "2 bits.txt").write_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n")
    made = cn.load(tmp_path / "2 bits.txt")
    assert made.name == "_2_bits"
    assert made.simulate(in0=1, in1=1).value == {"out0": 0}
    with pytest.raises(FileNotFoundError):
        cn.load(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("cut.txt", b"1 3\n2 1 1\n1 1\n\n2 1 0 1 2\n", r"cut\.txt:5:"),
        ("latch.blif", b".model m\n.inputs a\n.outputs b\n.latch a b re c 0\n.end\n", r"from-circuit"),
        ("wires.v", b"module m(input a, output b); assign b = a; endmodule\n", r"Verilog takes yosys to read: .*from-circuit"),
        ("letter.txt", b"Dear Sir\n", r"letter\.txt"),
        ("text.txt", b"cenote 2\nprogram \xff", r"text\.txt: the text is not UTF-8"),
    ],
)
def test_files_that_are_no_program(tmp_path, name, content, error):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(cn.CompileError, match=error):
        cn.load(tmp_path / name)
