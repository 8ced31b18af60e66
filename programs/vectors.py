"""Writes the vectors.json of every program from its clear reference: ``python -m programs.vectors``."""

import json

from .shipped import FOLDER, NAMES, reference


def vectors(name):
    """For each program of a folder its vectors: the kind of case, parameters, inputs in order, what comes out."""
    result = {}
    for program, kind, parameters, inputs, outputs in reference(name).cases():
        result.setdefault(program, []).append({"case": kind, "parameters": parameters, "inputs": inputs, "outputs": outputs})
    return result


def text(name):
    """One line for each vector."""
    programs = []
    for program, cases in vectors(name).items():
        lines = ",\n".join(f"    {json.dumps(case)}" for case in cases)
        programs.append(f'  "{program}": [\n{lines}\n  ]')
    return "{\n" + ",\n".join(programs) + "\n}\n"


if __name__ == "__main__":
    for name in NAMES:
        (FOLDER / name / "vectors.json").write_text(text(name))
