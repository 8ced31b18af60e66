"""Writes NAME/NAME.ipynb of every program from program.py and example.py: ``python -m programs.notebooks``."""

import ast
import inspect
import json
import re

from .gallery import after_description, manifest
from .shipped import FOLDER, NAMES, STANDING, module

PATHS = """\
import sys

# The root of the repository, seen from the folder of this notebook.
sys.path.append("../..")"""

PRICE = """\
real = list(examples())
for example in real:
    compiled = example.compiled()
    price = compiled.price("wrk")
    sent = price["garbler_bytes_sent"] + price["evaluator_bytes_sent"]
    print(f"{example.name}: {compiled.cost()['ands']:,} ANDs, {sent:,} bytes with wrk, digest {compiled.digest[:16]}..")"""

CLEAR = """\
for example in real:
    result = example.simulate()
    example.check(result)
    print(f"{example.name}: {', '.join(example.report(result))}")"""

JOBS = """\
held = {}
for job in jobs():
    result = job.simulate(held)
    job.check(result)
    print(f"{job.name} ({job.ands:,} ANDs): {', '.join(job.report(result))}")
assert not held"""

SECURE = """\
import json
from pathlib import Path

from programs.common import close

for program, vectors in json.loads(Path("vectors.json").read_text()).items():
    vector = next(vector for vector in vectors if vector["case"] == "typical")
    compiled = globals()[program].compile(**vector["parameters"])
    run = compiled.run_local(dict(zip(compiled.inputs, vector["inputs"])), backend="wrk")
    print(f"{program}: {run.value}, by the reference {vector['outputs']}")
    assert close(run.value, vector["outputs"], 0.001)"""


def standing_alone(name, text):
    """Source whose imports do not depend on the folder that it is in; the programs themselves are in cells before."""
    text = re.sub(r"^from \.(program|standing) import .*\n", "", text, flags=re.M)
    text = re.sub(r"^from \. import", f"from programs.{name} import", text, flags=re.M)
    text = re.sub(r"^from \.\.(\w)", r"from programs.\1", text, flags=re.M)
    return re.sub(r"^from \.(\w)", rf"from programs.{name}.\1", text, flags=re.M)


def pieces(text):
    """Source cut behind each program."""
    lines = text.splitlines()
    ends = [node.end_lineno for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    ends = [end for end in ends if any(line == "@cn.program" for line in lines[:end])]
    for start, end in zip([0, *ends[:-1]], [*ends[:-1], len(lines)]):
        yield "\n".join(lines[start:end]).strip("\n")


def cells(name):
    """Kind and text of each cell."""
    about, folder = manifest(name), FOLDER / name
    _, _, text = inspect.getdoc(module(name, "program")).partition("\n\n")
    title = f"# {about['about'].rstrip('.')}"
    yield "markdown", "\n\n".join([title, *filter(None, [text]), "Made by `make gallery` from program.py and example.py."])
    yield "code", PATHS
    yield "markdown", "The program. Annotations say who brings what and who receives what; nothing else leaves."
    for piece in pieces(after_description(folder / "program.py")):
        yield "code", standing_alone(name, piece)
    if name in STANDING:
        yield "markdown", inspect.getdoc(module(name, "standing"))
        for piece in pieces(after_description(folder / "standing.py")):
            yield "code", standing_alone(name, piece)
    yield "markdown", f"Inputs of full size. {inspect.getdoc(module(name, 'example'))}"
    yield "code", standing_alone(name, after_description(folder / "example.py"))
    yield (
        "markdown",
        "Compiled, it is what both sides read, hash and approve. Its price is known before anything runs and is the same for all inputs.",
    )
    yield "code", PRICE
    yield "markdown", "What it gives on the real inputs: the compiled program, run in the clear and compared with the reference."
    yield "code", CLEAR
    if name in STANDING:
        yield (
            "markdown",
            "The jobs on the memory, one after the other, in the clear as well. Between two services they run by `cenote.Client`.",
        )
        yield "code", JOBS
    yield (
        "markdown",
        "And between two processes, with security against a side that cheats, on the small inputs of vectors.json. "
        '`real[0].run_local("wrk")` takes the real ones.',
    )
    yield "code", SECURE


def notebook(name):
    """The text of the file."""
    made = []
    for number, (kind, text) in enumerate(cells(name)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        made.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    for name in NAMES:
        (FOLDER / name / f"{name}.ipynb").write_text(notebook(name))
