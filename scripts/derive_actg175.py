#!/usr/bin/env python3
"""Derives the two hospitals' patients of the survival study from the trial ACTG 175.

Source: datasets/ACTG175.csv of the Python package `lifelines` 0.30.3 (MIT). Get it with

    pip download lifelines==0.30.3 --no-deps && unzip lifelines-0.30.3-py3-none-any.whl
    python3 scripts/derive_actg175.py lifelines/datasets/ACTG175.csv data/actg175

The same input always gives the same two files. What is real and what was made up is in data/actg175/README.md.
"""

import csv
import hashlib
import io
import pathlib
import sys

SOURCE_SHA256 = "56fba31fa0d7bfbff9667b7149fd96a97c352e72aa582871a62a935e812f0e07"


def hospital(patient):
    """A coin that always falls on the same side."""
    digest = hashlib.sha256(f"cenote actg175 {patient}".encode()).digest()
    return "hospital_a" if digest[0] % 2 == 0 else "hospital_b"


def main(source, target):
    raw = pathlib.Path(source).read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SOURCE_SHA256:
        sys.exit(f"{source}: SHA-256 is {digest}, expected {SOURCE_SHA256}; use the file of lifelines 0.30.3")
    patients = {"hospital_a": [], "hospital_b": []}
    for row in csv.DictReader(io.StringIO(raw.decode("ascii"))):
        patients[hospital(row["pidnum"])].append((int(row["arms"]), int(row["days"]), int(row["cens"])))
    for name, rows in patients.items():
        with open(pathlib.Path(target) / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["arm", "days", "event"])
            writer.writerows(sorted(rows))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
