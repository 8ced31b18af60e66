"""Random functions with loops, branches, aliases and helpers: compiled they give what Python and NumPy give, or are refused."""

import re
import textwrap

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn

np = pytest.importorskip("numpy")

SIZE = 3
U8 = cn.UInt[8]


class Pair(cn.Record):
    """A word and an array."""

    w: U8
    t: cn.Array[U8, SIZE]


class PlainPair:
    """The same on NumPy: what is assigned to a field is copied into it."""

    def __init__(self, w, t):
        self.__dict__.update(words=np.array([w]), items=t.copy())

    def __getattr__(self, name):
        return self.words[0] if name == "w" else self.items

    def __setattr__(self, name, value):
        (self.words if name == "w" else self.items)[:] = value


# ---- programs -----------------------------------------------------------------------------------------------------------------------

HELPERS = """
def bump(v, w):
    v[0] = v[0] + w[1]
    v[2] = w[0]

def either(v, w):
    w += 1
    return v

def total(v):
    s = v[0]
    for k in rounds(1, 3):
        s += v[k]
        v[k] = s
    return s
"""


@st.composite
def words(draw, scope):
    """A word from others."""
    atoms = [*scope.words, "1", "p.w", "l[1][2]", "q[0]", *(f"{array}[{place}]" for array in "xyz" for place in ("0", *scope.counters))]
    atoms += [f"x[{SIZE - 1} - {counter}]" for counter in scope.counters]
    narrow, spot = draw(st.sampled_from(["narrow", "signs"])), f"{draw(st.sampled_from(scope.words))} % 4"
    atoms += [f"{narrow}({scope.words[0]})", f"pick(x, {spot})", f"pick(m, {spot})[1]"]
    return f"{draw(st.sampled_from(scope.words))} {draw(st.sampled_from('+-*^'))} {draw(st.sampled_from(atoms))}"


@st.composite
def arrays(draw, scope):
    """An array, which is another one's or new."""
    one, two = draw(st.sampled_from("xyz")), draw(st.sampled_from(["x", "y", "z", "l[0]", "p.t"]))
    place = draw(st.sampled_from(["1", *(counter for counter in scope.counters if counter != "k")]))
    made = [two, two, "q[1]", f"{one}[::-1]", f"m[:, {place}]", f"m.T[{place}]", "p.t", "l[1]", f"either_function({one}, {two})"]
    made += [f"{one}[[2, 0, 0]]", "m[[2, 0, 1], [0, 1, 1]]", f"m[{MASK}, {place}][[0, 1, 0]]", f"m[{MASKS}]", f"narrow({two})"]
    made += [f"{two}.copy()", f"{one} + {two}", f"where({one} > 3, {one}, {two})", f"each(lambda v: v * {scope.words[0]}, {one})"]
    return draw(st.sampled_from(made))


def place(draw, scope):
    return draw(st.sampled_from(["2", *scope.counters]))


#: Public truth values for the items of an array, and three of a matrix.
MASK = [True, False, True]
MASKS = [[False, True, False], MASK, [False] * 3]

#: What a statement may be, and how it is written. A block of lines follows where one ends in a colon.
STATEMENTS = {
    "word": lambda draw, scope: f"{draw(st.sampled_from('abc'))} = {draw(words(scope))}",
    "same word": lambda draw, scope: f"{draw(st.sampled_from('abcd'))} = {draw(st.sampled_from(['a', 'b', 'c', 'd', 'q[0]']))}",
    "tuple": lambda draw, scope: f"q = ({draw(words(scope))}, {draw(arrays(scope))})",
    "change": lambda draw, scope: f"{draw(st.sampled_from('abc'))} += {draw(words(scope))}",
    "fresh": lambda draw, scope: f"{scope.fresh()} = {draw(words(scope))}",
    "item": lambda draw, scope: f"{draw(st.sampled_from(['x', 'y', 'z', 'l[0]', 'p.t']))}[{place(draw, scope)}] = {draw(words(scope))}",
    "matrix": lambda draw, scope: f"m[{place(draw, scope)}, {place(draw, scope)}] = {draw(words(scope))}",
    "row": lambda draw, scope: f"m[{place(draw, scope)}] {draw(st.sampled_from(['=', '+=']))} {draw(st.sampled_from('xyz'))}",
    "mask": lambda draw, scope: f"{draw(st.sampled_from('xyz'))}[{MASK}] {draw(st.sampled_from(['=', '+=']))} {draw(words(scope))}",
    "masks": lambda draw, scope: f"m[{MASKS}] {draw(st.sampled_from(['=', '^=']))} {draw(st.sampled_from('xyz'))}",
    "pairs": lambda draw, scope: f"m[[0, 2, 1], {draw(st.sampled_from(['[1, 2, 0]', '[0]', place(draw, scope)]))}] += {draw(words(scope))}",
    "secret place": lambda draw, scope: (
        f"put({draw(st.sampled_from(['x', 'y', 'l[0]', 'p.t', 'm[1]']))}, {draw(st.sampled_from(scope.words))} % 4, {draw(words(scope))})"
    ),
    "array": lambda draw, scope: f"{draw(st.sampled_from('xyz'))} = {draw(arrays(scope))}",
    "array again": lambda draw, scope: f"{draw(st.sampled_from('xyz'))} = {draw(arrays(scope))}",
    "in place": lambda draw, scope: (
        f"{draw(st.sampled_from(['x', 'y', 'z', 'x[:]', 'y[1:]', 'l[0]']))} {draw(st.sampled_from(['+=', '^=']))} {draw(words(scope))}"
    ),
    "swap": lambda draw, scope: draw(st.sampled_from(["a, b = b, a", "x, y = y, x", "y, z, x = x, y, z", "l[0], l[1] = l[1], l[0]"])),
    "list": lambda draw, scope: f"l[{draw(st.sampled_from('01'))}] = {draw(st.sampled_from('xyz'))}",
    "new list": lambda draw, scope: f"l = [{draw(st.sampled_from('xyz'))}, {draw(st.sampled_from('xyz'))}]",
    "field": lambda draw, scope: draw(st.sampled_from([f"p.w = {draw(words(scope))}", f"p.t = {draw(st.sampled_from('xyz'))}"])),
    "helper": lambda draw, scope: (
        f"bump{draw(st.sampled_from(['', '_inline', '_function']))}"
        f"({draw(st.sampled_from(['x', 'y', 'p.t']))}, {draw(st.sampled_from('xyz'))})"
    ),
    "total": lambda draw, scope: f"{draw(st.sampled_from('abc'))} = total{draw(st.sampled_from(['_inline', '_function']))}(z)",
    "nested": lambda draw, scope: f"outer({draw(words(scope))})",
    "loop": lambda draw, scope: scope.loop(),
    "branch": lambda draw, scope: f"if reveal({draw(words(scope))} > {draw(st.sampled_from('abc'))}):",
}


class Scope:
    """What may be used in a block."""

    def __init__(self, words=("a", "b", "c"), counters=(), depth=0):
        self.words, self.counters, self.depth = list(words), counters, depth

    def fresh(self):
        name = f"t{self.depth}{len(self.words)}"
        self.words.append(name)
        return name

    def loop(self):
        return f"for {'ij'[len(self.counters)]} in rounds({SIZE}):" if len(self.counters) < 2 else "pass"

    def inside(self, line):
        counters = (*self.counters, line[4]) if line.startswith("for") else self.counters
        return Scope(self.words, counters, self.depth + 1)


@st.composite
def blocks(draw, scope=None, kinds=tuple(STATEMENTS)):
    """Statements; some names come to be inside of a block and are used there alone."""
    scope = scope or Scope()
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        line = STATEMENTS[draw(st.sampled_from(kinds))](draw, scope)
        if line.endswith(":") and scope.depth > 2:
            continue
        before = list(scope.words)
        lines.append(line)
        if line.endswith(":"):
            lines.append(textwrap.indent(draw(blocks(scope.inside(line), kinds)), "    "))
        if line.startswith("if") and draw(st.booleans()):
            lines += ["else:", textwrap.indent(draw(blocks(scope.inside(line), kinds)), "    ")]
        assert scope.words[: len(before)] == before
    return "\n".join(lines) or "pass"


def source(body, results):
    lines = [
        "l, q, d = [x, y], (b, z), a",
        "def outer(v):",
        "    nonlocal c",
        "    c = c + v",
        "    z[0] = v",
        body,
        f"return {', '.join(results)}, x, y, z, m, p.w, p.t, l, q, d",
    ]
    return HELPERS + "def made(a, b, c, x, y, z, m, p):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


# ---- what they give -----------------------------------------------------------------------------------------------------------------

#: Why a program may be refused: Python does something that depends on what runs, and a program cannot follow it.
REFUSALS = re.compile(r"it may be the same array as one|has no value here|which a program cannot follow: make a list of its own")


def by_numpy(text, values):
    """What Python and NumPy make of a program; nothing if it reads a variable without a value."""
    names = {"rounds": range, "reveal": bool, "where": np.where, "each": lambda f, v: np.array([f(w) for w in v], dtype=np.uint8)}
    names |= {"narrow": lambda v: v & np.uint8(15), "signs": lambda v: v & np.uint8(127), "put": put_by_numpy}
    names["pick"] = lambda v, at: v[at] if at < len(v) else v[0] * np.uint8(0)
    exec(text, names)
    for helper in ("bump", "either", "total"):
        names.update(dict.fromkeys((f"{helper}_inline", f"{helper}_function"), names[helper]))
    pair = PlainPair(np.uint8(values["p"]["w"]), np.array(values["p"]["t"], dtype=np.uint8))
    made = [np.array(values[name], dtype=np.uint8) for name in "xyzm"]
    try:
        with np.errstate(all="ignore"):
            result = names["made"](*map(np.uint8, values["v"]), *made, pair)
    except NameError:
        return None
    return tuple(type(value)(part.tolist() for part in value) if isinstance(value, (list, tuple)) else value.tolist() for value in result)


def put_by_numpy(v, at, new):
    """Beyond the end nothing changes."""
    if at < len(v):
        v[at] = new


def put(v, at, new):
    """At a secret place."""
    v[at] = new


def by_program(text, path, checked=False):
    """The same as a program."""
    path.write_text(text)
    names = {"rounds": cn.range, "reveal": cn.reveal, "where": cn.where, "each": cn.map, "put": put, "pick": lambda v, at: v[at]}
    names |= {"narrow": lambda v: U8(cn.UInt[4](v)), "signs": lambda v: U8(cn.UInt[7](cn.Int[8](v)))}
    exec(compile(text, str(path), "exec"), names)
    for helper in ("bump", "either", "total"):
        names |= {f"{helper}_inline": cn.inline(names[helper]), f"{helper}_function": cn.function(names[helper])}
    made = cn.inline(names["made"])

    @cn.program(checked=checked)
    def whole(
        v: cn.Garbler[cn.Array[U8, 3]],
        x: cn.Evaluator[cn.Array[U8, SIZE]],
        y: cn.Evaluator[cn.Array[U8, SIZE]],
        z: cn.Evaluator[cn.Array[U8, SIZE]],
        m: cn.Garbler[cn.Array[U8, SIZE, SIZE]],
        p: cn.Garbler[Pair],
    ):
        return made(v[0], v[1], v[2], x, y, z, m, p)

    return whole


def refusal(run):
    """Why something is refused."""
    with pytest.raises(cn.CompileError) as caught:
        run()
    assert REFUSALS.search(str(caught.value)), caught.value
    return str(caught.value)


def check(text, path, values, checked=False):
    """Whether a program is accepted; then it gives what NumPy gives, in three ways, and otherwise none of them runs."""
    wanted = by_numpy(text, values)
    whole = by_program(text, path, checked)
    try:
        whole.compile()
    except cn.CompileError:
        assert refusal(whole.compile) == refusal(lambda: whole(**values))
        return False
    found, run = three_ways(whole, **values)
    assert found == wanted
    # The bit of the program, if it is checked, says what the clear run saw.
    assert run.overflowed is bool(run.overflow)
    # One loop of the program for each loop of the text, run or not.
    assert whole.compile().show().count(f"for {SIZE} ") == text.count(f"in rounds({SIZE}):")
    return True


BYTES = st.integers(0, 255)
ARRAYS = st.lists(BYTES, min_size=SIZE, max_size=SIZE)
VALUES = st.fixed_dictionaries(
    {"v": ARRAYS, "x": ARRAYS, "y": ARRAYS, "z": ARRAYS, "m": st.lists(ARRAYS, min_size=SIZE, max_size=SIZE)}
    | {"p": st.fixed_dictionaries({"w": BYTES, "t": ARRAYS})}
)


@settings(max_examples=60, deadline=None)
@given(blocks(), st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True), VALUES, st.booleans())
def test_programs_are_what_numpy_makes_of_them(tmp_path_factory, body, results, values, checked):
    accepted = check(source(body, results), tmp_path_factory.mktemp("random") / "made.py", values, checked)
    event("accepted" if accepted else "refused")
