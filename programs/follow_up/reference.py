"""What the program computes, in ordinary Python."""

ARMS = 4


def follow_up(table, visits):
    rows = dict(enumerate(states(table)))
    found, before = visited(rows, visits["patient"], visits)
    return [*summed(rows), found, before]


def visited(rows, numbers, visits):
    """Whether there is each patient, and the state before; changes the rows, which are states by number."""
    found, before = [], []
    for number, days, event in zip(numbers, visits["days"], visits["event"]):
        found.append(number in rows)
        before.append(rows.get(number, (0, 0, False)))
        arm, known, over = before[-1]
        if found[-1] and not over and days > known:
            rows[number] = arm, days, event
    return found, columns(("arm", "days", "event"), before)


def summed(rows):
    """Patients with an event and days under observation, by arm."""
    events = [sum(event for own, _, event in rows.values() if own == arm) for arm in range(ARMS)]
    return events, [sum(days for own, days, _ in rows.values() if own == arm) for arm in range(ARMS)]


def brought_in(table):
    """States by number; nobody if the numbers do not ascend."""
    numbers = table["number"]
    return dict(zip(numbers, states(table["state"]))) if numbers == sorted(set(numbers)) else {}


def states(table):
    return list(zip(table["arm"], table["days"], table["event"]))


def columns(names, rows):
    """Rows as a table."""
    return dict(zip(names, map(list, zip(*rows))))


def patients(rows):
    """A table of (arm, days, event), as the first hospital brings it in."""
    return columns(("arm", "days", "event"), [(arm, days, bool(event)) for arm, days, event in rows])


def seen(rows):
    """Visits (patient, days, event), as the other hospital brings them in."""
    return columns(("patient", "days", "event"), [(number, days, bool(event)) for number, days, event in rows])


def numbered(numbers, rows):
    """The same with numbers, for a table that stays."""
    return {"number": list(numbers), "state": patients(rows)}


def seen_by_number(rows):
    """Visits (number, day, event) of patients who are known by their numbers."""
    return columns(("number", "days", "event"), [(number, days, bool(event)) for number, days, event in rows])


def jobs():
    """Sequences of jobs of the programs in standing.py, each of which finds what those before it left."""

    def sequence(kind, table, *visits):
        n, rows = len(table["number"]), brought_in(table)
        made = [("enrol", {"n": n}, [table, 2**127 + 5, 77], bool(rows))]
        for some in map(seen_by_number, visits):
            made.append(("visit", {"n": n, "q": len(some["number"])}, [some], list(visited(rows, some["number"], some))))
        return kind, [*made, ("sum_up", {"n": n}, [], list(summed(rows)))]

    last = 2**34 - 1
    yield sequence("smallest", numbered((4_000_000_010, 9_434_765_919), [(3, 5, 0), (0, 9, 1)]), [(4_000_000_010, 6, 1)])
    # Later, later with an event, then behind it; earlier; unknown; and one whom an earlier job has seen, twice in one job.
    table = numbered((7, 4_000_000_010, 9_434_765_919, last), [(0, 100, 0), (1, 200, 1), (2, 300, 0), (3, 400, 0)])
    first, second = [(9_434_765_919, 301, 0), (7, 150, 0)], [(9_434_765_919, 310, 1), (4_000_000_010, 900, 0)]
    third, fourth = [(9_434_765_919, 999, 1), (last, 399, 1)], [(7, 140, 1), (8, 500, 1), (7, 151, 0), (7, 152, 1)]
    yield sequence("typical", table, first, second, third, fourth, [(7, 2047, 0)])
    # The first and the last number and day, and a number that nobody has between them.
    table = numbered((0, last), [(0, 0, 0), (3, 2046, 0)])
    yield sequence("boundary", table, [(last, 2047, 1)], [(0, 1, 0), (1, 2047, 1)], [(0, 2047, 0)], [(0, 2047, 1)], [(last, 2047, 0)])
    # A number twice, and a larger one before a smaller one: nobody is in the table.
    for numbers in ((5, 5, 6), (5, 7, 6)):
        yield sequence("hostile", numbered(numbers, [(1, 10, 0), (1, 20, 1), (2, 30, 0)]), [(5, 40, 1)], [(6, 40, 0), (5, 41, 0)])


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
