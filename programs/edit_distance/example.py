"""The first 1,024 nucleotides of a gene of two rabies viruses, as in table 5 of the paper on pools."""

from ..common import Example
from ..shipped import fetched
from .program import edit_distance
from .reference import edit_distance as reference
from .reference import nucleotides

#: Bats in Arizona and in Texas.
MINE, YOURS = "AZ4030_2005.5", "TX5976_2004.5"


def genes():
    """Nucleoprotein genes by the name of the sample."""
    found = {}
    for part in fetched("rabies/batRABV.fas.gz").decode().split(">")[1:]:
        name, *lines = part.split()
        found[name] = "".join(lines)
    return found


def examples():
    found = genes()
    # One of them begins seven letters later: not only substitutions count.
    mine, yours = nucleotides(found[MINE][:1024]), nucleotides(found[YOURS][7 : 7 + 1024])
    yield Example(edit_distance, [mine, yours], reference(mine, yours), report)


def report(result):
    yield f"{result} insertions, deletions and substitutions make the gene of {MINE} that of {YOURS}"
