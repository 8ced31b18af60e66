"""Genotypes of 379 people at 2,000 places of chromosome 21, from the 1000 Genomes Project."""

from ..shipped import fetched

#: Copies of the rarer letter for each code of a PLINK file; a missing call (1) counts as none.
COPIES = {0: 2, 1: 0, 2: 1, 3: 0}


def genotypes():
    """Names, and for each person the copies at each place."""
    names = [line.split()[1] for line in fetched("genotypes/EUR_test.fam.gz").decode().splitlines()]
    table = fetched("genotypes/EUR_test.bed.gz")
    if table[:3] != b"\x6c\x1b\x01":
        raise ValueError("EUR_test.bed is no PLINK file in SNP-major order")
    step = (len(names) + 3) // 4
    people = [[] for _ in names]
    for at in range(3, len(table), step):
        column = table[at : at + step]
        for number, person in enumerate(people):
            person.append(COPIES[column[number // 4] >> 2 * (number % 4) & 3])
    return names, people
