"""What the program computes, in ordinary Python."""

ARMS = 4


def follow_up(table, visits):
    rows = [list(row) for row in zip(table["arm"], table["days"], table["event"])]
    found, before = [], []
    for number, days, event in zip(visits["patient"], visits["days"], visits["event"]):
        found.append(number < len(rows))
        before.append(tuple(rows[number]) if found[-1] else (0, 0, False))
        if found[-1] and not rows[number][2] and days > rows[number][1]:
            rows[number][1:] = days, event
    events = [sum(event for own, _, event in rows if own == arm) for arm in range(ARMS)]
    all_days = [sum(days for own, days, _ in rows if own == arm) for arm in range(ARMS)]
    return [events, all_days, found, columns(("arm", "days", "event"), before)]


def columns(names, rows):
    """Rows as a table."""
    return dict(zip(names, map(list, zip(*rows))))


def patients(rows):
    """A table of (arm, days, event), as the first hospital brings it in."""
    return columns(("arm", "days", "event"), [(arm, days, bool(event)) for arm, days, event in rows])


def seen(rows):
    """Visits (patient, days, event), as the other hospital brings them in."""
    return columns(("patient", "days", "event"), [(number, days, bool(event)) for number, days, event in rows])


def cases():
    def case(kind, rows, visits):
        inputs = [patients(rows), seen(visits)]
        return "follow_up", kind, {"n": len(rows), "q": len(visits)}, inputs, follow_up(*inputs)

    yield case("smallest", [(3, 5, 0)], [(0, 6, 1)])
    rows = [(0, 100, 0), (1, 200, 1), (2, 300, 0), (3, 400, 0), (0, 500, 0)]
    # Later, later with an event, behind an event, earlier, as late; one patient twice.
    yield case("typical", rows, [(0, 150, 0), (2, 301, 1), (1, 900, 1), (3, 399, 1), (4, 500, 1), (0, 160, 1), (0, 170, 1)])
    # Numbers that nobody has, among them the first behind the table and the largest; the first patient stays as he is.
    yield case("boundary", [(0, 0, 0), (3, 2047, 0)], [(2, 9, 1), (65535, 2047, 1), (0, 2047, 1), (1, 2047, 1)])
    # All patients with an event on the last day there can be.
    yield case("boundary", [(1, 2047, 1)] * 9, [(8, 2047, 0)])
