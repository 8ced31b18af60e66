"""What the programs compute, in ordinary Python with fractions; and how a hospital prepares its input."""

from fractions import Fraction


def counts(patients, days):
    """For each arm and day how many patients had an event and how many left the study (with an event or without)."""
    events, gone = ([[0] * days for _ in range(2)] for _ in range(2))
    for arm, day, event in patients:
        gone[arm][day] += 1
        events[arm][day] += event
    return events, gone


def add(x, y):
    return [[p + q for p, q in zip(*rows)] for rows in zip(x, y)]


def staying(gone):
    """How many patients of each arm are in the study at the beginning of each day."""
    return [[sum(row[day:]) for day in range(len(row))] for row in gone]


def log_rank(events, gone, other_events, other_gone):
    """The square of (events of the first arm - expected ones), divided by its variance; 0 where nothing can be said."""
    events, present = add(events, other_events), staying(add(gone, other_gone))
    excess = variance = Fraction(0)
    for d0, d1, n0, n1 in zip(*events, *present):
        d, n = d0 + d1, n0 + n1
        if d:
            excess += d0 - Fraction(d * n0, n)
        if d and n > 1:
            variance += Fraction(d * n0 * n1 * (n - d), n * n * (n - 1))
    return float(excess**2 / variance) if variance else 0.0


def kaplan_meier(events, gone, other_events, other_gone, every):
    """For each arm the share that is without an event at the end of every ``every``-th day."""
    events, present = add(events, other_events), staying(add(gone, other_gone))
    curves = []
    for arm in range(2):
        share, curve = Fraction(1), []
        for day, (d, n) in enumerate(zip(events[arm], present[arm])):
            if d:
                share *= 1 - Fraction(d, n)
            if day % every == every - 1:
                curve.append(float(share))
        curves.append(curve)
    return curves


def cases():
    def case(kind, patients, others, days, every):
        inputs = [*counts(patients, days), *counts(others, days)]
        yield "log_rank", kind, {"days": days}, inputs, log_rank(*inputs)
        yield "kaplan_meier", kind, {"days": days, "every": every}, inputs, kaplan_meier(*inputs, every)

    yield from case("smallest", [(0, 0, 1)], [(1, 1, 0)], 2, 1)
    here = [(0, 1, 1), (0, 2, 1), (0, 4, 0), (1, 3, 1), (1, 7, 0), (1, 7, 1), (0, 5, 1)]
    there = [(0, 1, 1), (0, 3, 1), (1, 5, 0), (1, 6, 1), (1, 7, 0), (0, 2, 0)]
    yield from case("typical", here, there, 8, 2)
    # Nobody at all, and nobody with an event.
    yield from case("boundary", [], [], 4, 4)
    yield from case("boundary", [(0, 3, 0), (1, 3, 0)], [(0, 2, 0)], 4, 2)
    # All have an event, on one day in one arm and on another in the other.
    yield from case("boundary", [(0, 1, 1)] * 9, [(1, 2, 1)] * 7, 4, 2)
