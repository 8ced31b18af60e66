"""A list of 240 cards with room for 256, and 16 payments, all made up: the numbers are from ranges for tests. `n=10_000` has room for
that many cards. [standing.py](../programs/hot_cards/standing.py) keeps such a list as a memory of two
services, so that each payment is a job of its own, and nobody brings the list in again.
"""

from ..common import Example
from .data import TODAY, stream
from .program import hot_cards
from .reference import asked, filled
from .reference import hot_cards as reference
from .reference import served as after
from .standing import bring_in, pay, take_back

REASONS = ("", "lost", "stolen", "copied", "closed")


def named(card):
    """A card, for people."""
    return f"..{card % 10_000:04}"


def examples():
    entries, payments = stream(240, 16)
    inputs = [filled(entries, 256), TODAY, asked(payments)]

    def report(result):
        good, slots, hot, reasons, taken = result
        found = [f"{named(card)} ({REASONS[why]})" for (card, _), is_hot, why in zip(payments, hot, reasons) if is_hot]
        old = {card for card, _, _ in entries}
        new = sum(there and card not in old for there, card in zip(slots["there"], slots["card"]))
        yield "the list is in order" if good else "the list is out of order"
        yield f"to the second issuer alone: {len(found)} of {len(payments)} payments are with hot cards: {', '.join(found)}"
        yield f"and {sum(taken)} of {sum(why > 0 for _, why in payments)} reports were taken"
        yield f"to the first issuer alone: its list of {len(entries)} cards has {sum(slots['there'])} now, {new} of them new"

    yield Example(hot_cards, inputs, reference(*inputs, 90), report)


def jobs():
    """The same list as a memory, and payments in jobs of their own, each of which finds what those before left."""
    entries, payments = stream(240, 16)
    slots = filled(entries, 256)
    listed, stolen = entries[0][0], payments[-1][0]
    yield Example(bring_in, [slots, 2**127 + 5, 77], True, lambda good: [f"the list is {'in' if good else 'out of'} order"])
    for today, card, why in [(TODAY, stolen, 2), (TODAY + 1, stolen, 0), (TODAY + 90, stolen, 0), (TODAY + 90, listed, 0)]:
        request = asked([(card, why)])
        slots, *answers = after(slots, today, request, 90)

        def report(result, today=today, card=card):
            (hot,), (reason,), (taken,) = result
            found = f"is on the list ({REASONS[reason]})" if hot else "is not on the list"
            yield f"day {today}, to the second issuer alone: {named(card)} {found}{', and is reported' if taken else ''}"

        yield Example(pay, [today, request], answers, report)
    yield Example(take_back, [], slots, lambda left: [f"to the first issuer alone: {sum(left['there'])} cards are on the list now"])
