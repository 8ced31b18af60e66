"""One of 379 people asks for those most like him or her among the others."""

from ..common import Example
from .data import genotypes
from .program import similar_patients
from .reference import bits
from .reference import similar_patients as reference


def examples():
    names, people = genotypes()
    patients, query = [bits(copies) for copies in people[:-1]], bits(people[-1])

    def report(result):
        yield f"most like {names[-1]}, of {len(patients)} people at {len(people[0]):,} places:"
        for number, distance in zip(*result):
            yield f"{names[number]}, who differs in {distance} of {len(query):,} copies"

    yield Example(similar_patients, [patients, query], reference(patients, query, 5), report)
