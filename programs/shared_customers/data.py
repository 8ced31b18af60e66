"""Two card issuers: see data/cdnow."""

import csv
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "data/cdnow"

QUARTERS = ["1997q1", "1997q2", "1997q3", "1997q4", "1998q1", "1998q2"]


def issuer(name):
    """(customer, spend in each quarter in cents), by customer."""
    with open(FOLDER / f"issuer_{name}.csv", newline="") as file:
        return [(int(row["customer"]), [int(row[quarter]) for quarter in QUARTERS]) for row in csv.DictReader(file)]
