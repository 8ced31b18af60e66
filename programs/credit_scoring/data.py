"""Loans of a German bank: see data/german-credit."""

import csv
import pathlib

FILE = pathlib.Path(__file__).parents[2] / "data/german-credit/loans.csv"

NUMBERS = ["months", "amount", "rate", "residence"]
CATEGORIES = ["checking", "history", "purpose", "savings", "employment", "guarantor", "property", "plans", "housing"]


def loans():
    """For each loan its numbers, its categories, and whether it went bad."""
    with open(FILE, newline="") as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [([row[name] for name in NUMBERS], [row[name] for name in CATEGORIES], row["bad"]) for row in rows]


def split():
    """The loans that the lender learns from, and every fifth, which it has not seen."""
    every = loans()
    return [loan for number, loan in enumerate(every) if number % 5], every[::5]


def applicant(loan):
    """What the form said when the loan was asked for."""
    numbers, categories, _ = loan
    return {"numbers": numbers, "categories": categories}
