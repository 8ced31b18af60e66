"""A list of 240 cards with room for 256, and 16 payments, all made up: the numbers are from ranges for tests. `n=10_000` has room for
that many cards. [standing.py](../programs/hot_cards/standing.py) keeps such a list as a memory of two
services, so that each payment is a job of its own, and nobody brings the list in again.
"""

from ..common import Example
from .data import TODAY, stream
from .program import hot_cards
from .reference import asked, filled
from .reference import hot_cards as reference

REASONS = ("", "lost", "stolen", "copied", "closed")


def examples():
    entries, payments = stream(240, 16)
    inputs = [filled(entries, 256), TODAY, asked(payments)]

    def report(result):
        good, slots, hot, reasons, taken = result
        found = [f"..{card % 10_000:04} ({REASONS[why]})" for (card, _), is_hot, why in zip(payments, hot, reasons) if is_hot]
        old = {card for card, _, _ in entries}
        new = sum(there and card not in old for there, card in zip(slots["there"], slots["card"]))
        yield "the list is in order" if good else "the list is out of order"
        yield f"to the second issuer alone: {len(found)} of {len(payments)} payments are with hot cards: {', '.join(found)}"
        yield f"and {sum(taken)} of {sum(why > 0 for _, why in payments)} reports were taken"
        yield f"to the first issuer alone: its list of {len(entries)} cards has {sum(slots['there'])} now, {new} of them new"

    yield Example(hot_cards, inputs, reference(*inputs, 90), report)
