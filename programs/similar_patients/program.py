"""Which patients of a hospital have the genotype most like that of a patient elsewhere.

At each place of the genome a person has 0, 1 or 2 copies of the rarer letter. Two bits say it: whether there is one, and whether
there are two. The number of copies in which two people differ (their distance by identity of state) is then the number of bits in
which they differ.
"""

import cenote as cn
from cenote import Array, Bit, Evaluator, Garbler, UInt


@cn.program
def similar_patients(
    patients: Garbler[Array[Bit, "people", "2 * places"]],
    query: Evaluator[Array[Bit, "2 * places"]],
    *,
    people: int = 378,
    places: int = 2000,
    best: int = 5,
) -> tuple[
    Evaluator[Array[UInt["(people - 1).bit_length()"], "best"]],
    Evaluator[Array[UInt["(2 * places).bit_length()"], "best"]],
]:
    """The numbers of the ``best`` nearest patients, nearest first, and their distances; of equal distances the lower number first."""
    distances = cn.sum(patients ^ query, axis=1)
    number_bits, distance_bits = (people - 1).bit_length(), (2 * places).bit_length()
    numbers = UInt[number_bits](range(people))
    # The number is the lower part of the key, so that no two keys are equal.
    nearest = cn.top(best, cn.join_words(numbers, distances), smallest=True)
    return UInt[number_bits](nearest % 2**number_bits), UInt[distance_bits](nearest >> number_bits)
