"""Writes vectors.json and jobs.json of every program from its clear reference: ``python -m programs.vectors``."""

import json

from .shipped import FOLDER, NAMES, STANDING, reference


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


def jobs(name):
    """For each sequence of jobs on a memory that stays the kind of case and the jobs in their order, as vectors are."""
    keys = ("program", "parameters", "inputs", "outputs")
    return [{"case": kind, "jobs": [dict(zip(keys, job)) for job in made]} for kind, made in reference(name).jobs()]


def jobs_text(name):
    """One line for each job."""
    sequences = []
    for sequence in jobs(name):
        lines = ",\n".join(f"    {json.dumps(job)}" for job in sequence["jobs"])
        sequences.append(f'  {{"case": {json.dumps(sequence["case"])}, "jobs": [\n{lines}\n  ]}}')
    return "[\n" + ",\n".join(sequences) + "\n]\n"


if __name__ == "__main__":
    for name in NAMES:
        (FOLDER / name / "vectors.json").write_text(text(name))
    for name in STANDING:
        (FOLDER / name / "jobs.json").write_text(jobs_text(name))
