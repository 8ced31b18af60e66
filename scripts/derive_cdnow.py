#!/usr/bin/env python3
"""Derives the two card issuers' tables of the demonstration from the CDNOW purchases.

Source: datasets/CDNOW_master.txt of the Python package `lifetimes` 0.11.3 (MIT). Get it with

    pip download lifetimes==0.11.3 --no-deps && unzip Lifetimes-0.11.3-py3-none-any.whl
    python3 scripts/derive_cdnow.py lifetimes/datasets/CDNOW_master.txt data/cdnow

The same input always gives the same two files. What is real and what was made up is in
data/cdnow/README.md.
"""

import csv
import hashlib
import pathlib
import sys
from collections import defaultdict

SOURCE_SHA256 = "eff6889ed364c5199d6eacbbeb7a6d559971df4406ac876f322c373f00a072ef"
ROWS = 4096  # customers of each issuer
SHARED = 500  # customers of both
QUARTERS = ["1997q1", "1997q2", "1997q3", "1997q4", "1998q1", "1998q2"]


def draw(*what):
    """A number that looks random and is always the same."""
    text = "cenote cdnow " + " ".join(map(str, what))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def quarter(date):
    return (int(date[:4]) - 1997) * 4 + (int(date[4:6]) - 1) // 3


def purchases(text):
    """Purchases of each customer in the order of the file, those of value 0 left out."""
    found = defaultdict(list)
    for line in text.splitlines()[1:]:
        customer, date, _discs, dollars = line.split()
        units, cents = dollars.split(".")
        value = int(units) * 100 + int(cents)
        if value > 0:
            found[int(customer)].append((quarter(date), value))
    return found


def cards(customer, bought):
    """A shared customer changes from A's card to B's after one of the purchases."""
    if len(bought) < 2:
        return bought, []
    change = 1 + draw("change", customer) % (len(bought) - 1)
    return bought[:change], bought[change:]


def row(customer, bought):
    spend = [0] * len(QUARTERS)
    for at, cents in bought:
        spend[at] += cents
    return [customer, *spend]


def main(source, target):
    raw = pathlib.Path(source).read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SOURCE_SHA256:
        sys.exit(f"{source}: SHA-256 is {digest}, expected {SOURCE_SHA256}; use the file of lifetimes 0.11.3")
    found = purchases(raw.decode("ascii"))
    order = sorted(found, key=lambda customer: draw("customer", customer))
    tables = {"issuer_a": [], "issuer_b": []}
    shared = [c for c in order if all(cards(c, found[c]))][:SHARED]
    for customer in shared:
        for table, bought in zip(tables.values(), cards(customer, found[customer])):
            table.append(row(customer, bought))
    taken = set(shared)
    single = iter([c for c in order if c not in taken])
    for table in tables.values():
        while len(table) < ROWS:
            customer = next(single)
            table.append(row(customer, found[customer]))
    for name, table in tables.items():
        with open(pathlib.Path(target) / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["customer", *QUARTERS])
            writer.writerows(sorted(table))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
