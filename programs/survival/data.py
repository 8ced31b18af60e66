"""Patients of ACTG 175, split between two hospitals: see data/actg175."""

import csv
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "data/actg175"

#: Zidovudine alone, and zidovudine with didanosine.
ARMS = (0, 1)


def everybody(hospital):
    """(arm, day, event) of each patient."""
    with open(FOLDER / f"hospital_{hospital}.csv", newline="") as file:
        return [tuple(map(int, row.values())) for row in csv.DictReader(file)]


def patients(hospital):
    """The same of those in one of the two arms that are compared."""
    return [(ARMS.index(arm), day, event) for arm, day, event in everybody(hospital) if arm in ARMS]
