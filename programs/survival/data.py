"""Patients of ACTG 175, split between two hospitals: see data/actg175."""

import csv
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "data/actg175"

#: Zidovudine alone, and zidovudine with didanosine.
ARMS = (0, 1)


def patients(hospital):
    """(arm, day, event) of each patient in one of the two arms that are compared."""
    with open(FOLDER / f"hospital_{hospital}.csv", newline="") as file:
        rows = [tuple(map(int, row.values())) for row in csv.DictReader(file)]
    return [(ARMS.index(arm), day, event) for arm, day, event in rows if arm in ARMS]
