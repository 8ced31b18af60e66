"""Random functions with loops: rewritten and compiled they give what Python's own loops give."""

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn

NAMES = ["a", "b", "c", "d"]
ROUNDS = 3


@st.composite
def expressions(draw, counters, names):
    """Sums and products of variables, items of the array and loop variables."""
    atoms = [*names, *(f"x[{i}]" for i in counters), *(f"x[{ROUNDS - 1} - {i}]" for i in counters), "x[1]", "1"]
    left, right = draw(st.sampled_from(names)), draw(st.sampled_from(atoms))
    return f"{left} {draw(st.sampled_from('+-*^'))} {right}"


@st.composite
def blocks(draw, counters=(), names=tuple(NAMES)):
    """Statements; some names come to be inside of a block and are used there alone."""
    lines, names = [], list(names)
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["assign", "assign", "change", "store", "swap", "fresh", "loop"]))
        if kind == "assign":
            lines.append(f"{draw(st.sampled_from(NAMES))} = {draw(expressions(counters, names))}")
        elif kind == "change":
            lines.append(f"{draw(st.sampled_from(NAMES))} += {draw(expressions(counters, names))}")
        elif kind == "store":
            lines.append(f"x[{draw(st.sampled_from([*counters, '2']))}] = {draw(expressions(counters, names))}")
        elif kind == "swap":
            one, two = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
            lines.append(f"{one}, {two} = {two}, {one}" if one != two else "pass")
        elif kind == "fresh":
            name = f"t{len(counters)}{len(names)}"
            lines.append(f"{name} = {draw(expressions(counters, names))}")
            names.append(name)
        elif len(counters) < 2:
            counter = "ij"[len(counters)]
            lines.append(f"for {counter} in rounds({ROUNDS}):")
            lines.append(textwrap.indent(draw(blocks((*counters, counter), tuple(names))), "    "))
    return "\n".join(lines) or "pass"


class Byte(int):
    """Python's integers modulo 256."""

    def __add__(self, other):
        return Byte((int(self) + int(other)) % 256)

    def __sub__(self, other):
        return Byte((int(self) - int(other)) % 256)

    def __mul__(self, other):
        return Byte((int(self) * int(other)) % 256)

    def __xor__(self, other):
        return Byte(int(self) ^ int(other))


@settings(max_examples=60, deadline=None)
@given(
    blocks(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), st.lists(st.integers(0, 255), min_size=7, max_size=7)
)
def test_rewritten_loops_are_pythons_loops(tmp_path_factory, body, results, values):
    path = tmp_path_factory.mktemp("loops") / "made.py"
    text = f"def made(a, b, c, d, x):\n{textwrap.indent(body, '    ')}\n    return {', '.join(results)}, x\n"
    path.write_text(text)
    plain: dict = {"rounds": range}
    exec(compile(text, str(path), "exec"), plain)
    *numbers, x = [*map(Byte, values[:4]), list(map(Byte, values[4:]))]
    wanted = plain["made"](*numbers, x)

    traced: dict = {"rounds": cn.range}
    exec(compile(text, str(path), "exec"), traced)
    helper = cn.inline(traced["made"])

    @cn.program
    def whole(v: cn.Garbler[cn.Array[cn.UInt[8], 4]], x: cn.Evaluator[cn.Array[cn.UInt[8], ROUNDS]]):
        return helper(v[0], v[1], v[2], v[3], x)

    assert three_ways(whole, v=values[:4], x=values[4:])[0] == wanted
    # One loop of the program for each loop of the text, run or not.
    assert whole.compile().show().count(f"for {ROUNDS} ") == text.count("for ")
