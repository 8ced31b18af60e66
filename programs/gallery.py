"""Writes docs/gallery.md: ``python -m programs.gallery``. Compiles every program."""

import ast
import functools
import inspect

import tomllib

from .shipped import FOLDER, NAMES, STANDING, module

PAGE = FOLDER.parent / "docs/gallery.md"

#: ANDs in millions that the paper on pools gives in table 5.
PAPER = {"sort": 10.2, "hamming": 2.1, "edit_distance": 73.3}

#: The backends whose prices are shown. Bytes alone: seconds are those of a machine, and the page is the same on all.
BACKENDS = ("yao", "wrk")

HEAD = """\
# Gallery

What Cenote programs look like, what they cost and what they give on real data. This page is made by `make gallery` from the programs and
their examples, and tests keep both it and the results true. Each program is a folder under [programs](../programs):

| file | |
|---|---|
| `program.py` | the program |
| `program.toml` | its manifest: who brings what, who receives what, what repeated runs give away |
| `reference.py` | the same in ordinary Python |
| `example.py`, `data.py` | inputs of full size; where the real ones come from says [data](../data) |
| `NAME.ipynb` | program and example as a notebook |
| `vectors.json` | smallest, typical and boundary values with their results |
| `standing.py`, `jobs.json` | the same on a [memory](python.md#memories-that-outlive-a-run) that stays between jobs; sequences of jobs |

With the package installed ([python.md](python.md)), `python -m programs.NAME` in the root of the repository runs the example between two
parties on this machine and compares the result with the reference: on the backend `plain`, which is fast and not secure, or on another with
`--backend wrk`.

Programs cost ANDs; XORs are free. Bytes, of both directions, are what `price` predicts ([cost.md](cost.md)) for one run over a
new session: with `yao`, which is semi-honest, and with `wrk`, which is malicious and here makes all its material on the way. For seconds on
your machine and line ask `cenote program cost`.

"""


def manifest(name):
    """What program.toml says."""
    return tomllib.loads((FOLDER / name / "program.toml").read_text())


@functools.cache
def examples(name):
    """The examples of a folder."""
    return list(module(name, "example").examples())


@functools.cache
def jobs(name):
    """The example of a folder as jobs on a memory that stays."""
    return list(module(name, "example").jobs())


def example(program):
    """The example of a program."""
    return next(one for name in NAMES for one in examples(name) if one.name == program)


def after_description(path):
    """The source in a file without the description at its head, which pages have above it."""
    text = path.read_text()
    return "\n".join(text.splitlines()[ast.parse(text).body[0].end_lineno :]).strip("\n")


def sources(name):
    """The program's files."""
    for path in [FOLDER / name / "program.py", *sorted(FOLDER.glob(f"{name}/sbox.py"))]:
        yield path.name, after_description(path)


def size(number):
    """Bytes with three digits that count."""
    power = 0
    while number >= 999.5:
        number, power = number / 1000, power + 1
    digits = 0 if number >= 99.95 or power == 0 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f} {['B', 'kB', 'MB', 'GB', 'TB'][power]}"


def price(example, backend):
    """Bytes on a backend."""
    predicted = example.compiled().price(backend)
    return size(predicted["garbler_bytes_sent"] + predicted["evaluator_bytes_sent"])


def section(name):
    """The part of the page on one folder."""
    about = manifest(name)
    programs = [key for key in about if key not in ("about", "standing")]
    yield f"## {about['about'].rstrip('.')}\n"
    _, _, text = inspect.getdoc(module(name, "program")).partition("\n\n")
    if text:
        yield f"{text}\n"
    yield f"[programs/{name}](../programs/{name}): {inspect.getdoc(module(name, 'example'))}\n"
    for file, text in sources(name):
        yield f"<details><summary>{file}</summary>\n\n```python\n{text}\n```\n\n</details>\n"
    yield from prices("program", examples(name))
    if (FOLDER.parent / f"docs/gallery/{name}.svg").exists():
        yield f"\n![{name.replace('_', ' ')}](gallery/{name}.svg)"
    yield "\nWhat repeated runs give away:\n"
    for program in programs:
        prefix = f"`{program}`: " if len(programs) > 1 else ""
        yield f"- {prefix}{about[program]['repeats']}"
    yield ""
    if name in STANDING:
        yield from standing(name, about["standing"])


def standing(name, about):
    """What follows on its jobs on a memory that stays."""
    title, _, more = inspect.getdoc(module(name, "standing")).partition("\n\n")
    yield f"### {title.rstrip('.')}\n\n{more}\n"
    text = after_description(FOLDER / name / "standing.py")
    yield f"<details><summary>standing.py</summary>\n\n```python\n{text}\n```\n\n</details>\n"
    yield from prices("job", jobs(name))
    yield "\nWhat repeated jobs give away:\n"
    for program, said in about.items():
        yield f"- `{program}`: {said['repeats']}"
    yield ""


def prices(what, made):
    """What examples cost and give."""
    backends = " | ".join(f"`{backend}`" for backend in BACKENDS)
    yield f"| {what} | ANDs | {backends} | result on the example |\n|---|---|{'---|' * len(BACKENDS)}---|"
    for one in made:
        paper = f" (paper: {PAPER[one.name]:.1f} million)" if one.name in PAPER else ""
        moved = " | ".join(price(one, backend) for backend in BACKENDS)
        yield f"| `{one.name}` | {one.ands:,}{paper} | {moved} | {'<br>'.join(one.report(one.expected))} |"
    kept = [f"`{one.name}`: {'; '.join(tables(one))}." for one in made if any(tables(one))]
    if kept:
        yield "\nHow rows at secret places are kept, as is cheapest ([ram.md](protocols/ram.md)): " + " ".join(kept)


def tables(one):
    """How many rows the tables of a program have, by how they are kept."""
    ways = {}
    for memory in one.compiled().cost()["memories"]:
        trees = memory["trees"]
        in_trees = f"in {trees} trees" if trees > 1 else "in a tree"
        how = in_trees if trees else "as square-root ORAM" if memory["levels"] else "scanned"
        ways.setdefault(how, []).append(memory["rows"])
    for how, rows in ways.items():
        count = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
        yield f"{count} rows, {how}"


def page():
    """The whole page."""
    return HEAD + "\n".join(line for name in NAMES for line in section(name))


if __name__ == "__main__":
    PAGE.write_text(page())
