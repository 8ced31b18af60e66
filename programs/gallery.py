"""Writes docs/gallery.md: ``python -m programs.gallery``. Compiles every program."""

import ast
import functools
import inspect

import tomllib

from .shipped import FOLDER, NAMES, module

PAGE = FOLDER.parent / "docs/gallery.md"

#: ANDs in millions that the paper on pools gives in table 5.
PAPER = {"sort": 10.2, "hamming": 2.1, "edit_distance": 73.3}

#: Programs whose text is shown, where that is not the first of the folder.
SHOWN = {"shared_customers": ["shared_total", "median_spend"], "credit_scoring": ["scorecard", "tree"]}

HEAD = """\
# Gallery

What Cenote programs look like, what they cost and what they give on real data. This page is made by `make gallery` from the programs and
their examples, and tests keep both it and the results true. Each program is a folder under [programs](../programs):

| file | |
|---|---|
| `program.py` | the program |
| `program.toml` | its manifest: who brings what, who receives what, what repeated runs give away |
| `reference.py` | the same in ordinary Python |
| `example.py`, `data.py` | real inputs; where the data come from says [data](../data) |
| `vectors.json` | smallest, typical and boundary values with their results |

With the package installed ([python.md](python.md)), `python -m programs.NAME` in the root of the repository runs the example between two
parties on this machine and compares the result with the reference: on the backend `plain`, which is fast and not secure, or on another with
`--backend wrk`. Programs cost ANDs; exclusive ors are free, and bytes and time follow from the ANDs.

"""


def manifest(name):
    """What program.toml says."""
    return tomllib.loads((FOLDER / name / "program.toml").read_text())


@functools.cache
def examples(name):
    """The examples of a folder."""
    return list(module(name, "example").examples())


def example(program):
    """The example of a program."""
    return next(one for name in NAMES for one in examples(name) if one.name == program)


def names_of(node):
    """What a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def source(name, programs):
    """Some programs of a folder with the types and helpers that they use, as they stand in the file."""
    lines = (FOLDER / name / "program.py").read_text().splitlines()
    definitions = [(node, names_of(node)) for node in ast.parse("\n".join(lines)).body]
    wanted, queue = set(), list(programs)
    while queue:
        current = queue.pop()
        if current not in wanted:
            wanted.add(current)
            used = [part for node, names in definitions if current in names for part in ast.walk(node)]
            queue += [part.id for part in used if isinstance(part, ast.Name)]
    text = ""
    for node, names in definitions:
        if wanted & set(names):
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            while lines[first - 2].startswith("#"):
                first -= 1
            gap = 3 if not isinstance(node, ast.Assign) else 1 if lines[first - 2] else 2
            text += "\n" * gap + "\n".join(lines[first - 1 : node.end_lineno])
    return text.strip("\n")


def section(name):
    """The part of the page on one folder."""
    about = manifest(name)
    programs = [key for key in about if key != "about"]
    yield f"## {about['about'].rstrip('.')}\n"
    _, _, story = inspect.getdoc(module(name, "program")).partition("\n\n")
    if story:
        yield f"{story}\n"
    yield f"[programs/{name}](../programs/{name}): {inspect.getdoc(module(name, 'example'))}\n"
    yield f"```python\n{source(name, SHOWN.get(name, programs[:1]))}\n```\n"
    yield "| program | ANDs | result on the example |\n|---|---|---|"
    for one in examples(name):
        paper = f" (paper: {PAPER[one.name]:.1f} million)" if one.name in PAPER else ""
        yield f"| `{one.name}` | {one.ands:,}{paper} | {'<br>'.join(one.tell(one.expected))} |"
    if (FOLDER.parent / f"docs/gallery/{name}.svg").exists():
        yield f"\n![{name.replace('_', ' ')}](gallery/{name}.svg)"
    yield "\nWhat repeated runs give away:\n"
    for program in programs:
        prefix = f"`{program}`: " if len(programs) > 1 else ""
        yield f"- {prefix}{about[program]['repeats']}"
    yield ""


def page():
    """The whole page."""
    return HEAD + "\n".join(line for name in NAMES for line in section(name))


if __name__ == "__main__":
    PAGE.write_text(page())
