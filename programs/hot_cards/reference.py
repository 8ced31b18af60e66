"""What the program computes, in ordinary Python, slot by slot."""


def hot_cards(slots, today, payments, days):
    good = sound(slots)
    return [good, *served(slots, today, payments, days, good)]


def sound(slots):
    """Whether those in use come first, with ascending numbers."""
    there = slots["there"]
    used = [card for card, is_there in zip(slots["card"], there) if is_there]
    return list(there) == sorted(there, reverse=True) and used == sorted(set(used))


def served(slots, today, payments, days, good=True):
    """The list after these payments, whether each card was on it, why, and whether its report was taken."""
    rows = [list(row) for row in zip(*(slots[name] for name in ("there", "card", "reason", "until")))]
    for row in rows:
        row[0] = bool(row[0] and row[3] > today)
    hot, reasons, taken = [], [], []
    for card, report in zip(payments["card"], payments["report"]):
        found = [row for row in rows if row[0] and row[1] == card] if good else []
        hot.append(bool(found))
        reasons.append(found[0][2] if found else 0)
        room = found or [row for row in rows if not row[0]]
        taken.append(bool(good and report and room))
        if taken[-1]:
            room[0][:] = [True, card, report, today + days]
    there, cards, why, until = map(list, zip(*rows))
    return [{"there": there, "card": cards, "reason": why, "until": until}, hot, reasons, taken]


def filled(entries, n):
    """A list of (card, reason, until), as the issuer brings it in: by card, free slots behind it."""
    rows = [(True, *entry) for entry in sorted(entries)] + [(False, 0, 0, 0)] * (n - len(entries))
    return dict(zip(("there", "card", "reason", "until"), map(list, zip(*rows))))


def asked(payments):
    """Payments (card, report), as the other issuer brings them in."""
    return dict(zip(("card", "report"), map(list, zip(*payments))))


def jobs():
    """Sequences of jobs of the programs in standing.py, each of which finds what those before it left."""

    def sequence(kind, slots, *requests, days=90):
        n, good = len(slots["card"]), sound(slots)
        made = [("bring_in", {"n": n}, [slots, 2**127 + 5, 77], good)]
        slots = {**slots, "there": [good and there for there in slots["there"]]}
        for today, request in ((today, asked(payments)) for today, payments in requests):
            slots, *answers = served(slots, today, request, days)
            made.append(("pay", {"n": n, "q": len(request["card"]), "days": days}, [today, request], answers))
        return kind, [*made, ("take_back", {"n": n}, [], slots)]

    visa, other, last = 4111111111111111, 5555555555554444, 2**54 - 1
    yield sequence("smallest", filled([(visa, 1, 9)], 2), (8, [(visa, 0)]))
    # Found, and gone the day after; reported, found by the next request for this reason and later for another; and gone in turn.
    requests = [(20_000, [(visa, 0)]), (20_001, [(visa, 0), (7, 3)]), (20_002, [(7, 0), (7, 5)]), (20_050, [(7, 0)]), (20_092, [(7, 0)])]
    yield sequence("typical", filled([(visa, 1, 20_001), (other, 2, 20_400)], 4), *requests)
    # No room for a report, until a card expires and the same report is taken.
    yield sequence(
        "boundary", filled([(0, 15, 2), (last, 1, 65535)], 2), (1, [(5, 1)]), (1, [(0, 0)]), (2, [(5, 1)]), (2, [(5, 0), (0, 0)])
    )
    # A card twice: the list stays empty, and takes reports.
    slots = {"there": [True, True, False], "card": [3, 3, 4], "reason": [1, 2, 3], "until": [99, 99, 9]}
    yield sequence("hostile", slots, (10, [(3, 0)]), (10, [(3, 7), (6, 2)]), (11, [(3, 0), (6, 0)]))


def cases():
    def case(kind, slots, today, payments, days=90):
        inputs = [slots, today, asked(payments)]
        parameters = {"n": len(slots["card"]), "q": len(payments), "days": days}
        return "hot_cards", kind, parameters, inputs, hot_cards(*inputs, days)

    visa, other, last = 4111111111111111, 5555555555554444, 2**54 - 1
    yield case("smallest", filled([(visa, 1, 9)], 2), 8, [(visa, 0)])
    # Found, expired today, unknown; reported, found, reported again for another reason, found.
    payments = [(visa, 0), (other, 0), (7, 0), (7, 3), (7, 0), (7, 5), (7, 0), (8, 2)]
    yield case("typical", filled([(visa, 1, 20_001), (other, 2, 20_000), (9, 4, 20_400)], 4), 20_000, payments)
    # No room at first: reports are lost, but for cards that are there. Then it is full of cards that expired.
    yield case("boundary", filled([(0, 15, 2), (last, 1, 65535)], 2), 1, [(5, 1), (0, 2), (last, 0), (0, 0), (5, 0)])
    yield case("boundary", filled([(1, 1, 65535), (2, 1, 5)], 2), 65535, [(1, 0), (1, 1), (2, 2), (3, 3), (1, 0)], 0)
    # Nothing on the list, and nothing reported.
    yield case("boundary", filled([], 3), 0, [(0, 0), (last, 0)])
    # A card twice, one before a smaller one, a free slot before one in use: nothing is found or taken.
    for cards, there in (([3, 3, 4], [1, 1, 1]), ([3, 2, 4], [1, 1, 0]), ([1, 2, 3], [1, 0, 1])):
        slots = {"there": list(map(bool, there)), "card": cards, "reason": [1, 2, 3], "until": [99, 99, 9]}
        yield case("hostile", slots, 10, [(3, 0), (3, 7), (6, 7), (6, 0)])
