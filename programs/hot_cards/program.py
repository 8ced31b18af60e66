"""Which cards of a stream of payments are on another issuer's secret list of lost and stolen ones.

The first issuer brings its list in, one slot for each card and some that are free, and does not learn which cards are looked up. The
second sends payments in the order in which they came, and may report a card itself: from then on the card is on the list, for later
payments of the same run, and in the list that the first issuer takes back and brings in next time.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

#: Numbers of 16 digits, days since the beginning of 1970, and why a card is on the list.
Card, Day, Reason = UInt[54], UInt[16], UInt[4]


class Slot(cn.Record):
    """A card on the list until a day, if the slot is in use."""

    there: Bit
    card: Card
    reason: Reason
    until: Day


class Payment(cn.Record):
    """A card, and why it is reported; 0 if it is not."""

    card: Card
    report: Reason


def sound(slots):
    """Whether those in use come first, with ascending numbers: an owner may bring in what it likes, and the map needs each card once."""
    ascend = slots.there[:-1] & (slots.card[:-1] < slots.card[1:])
    return cn.all(~slots.there[1:] | ascend)


@cn.inline
def served(cards, today, payments, q, days, good=True):
    """For each of these payments whether its card was on the list, why, and whether its report was taken."""
    cards.expire(today)
    until = today + days
    hot, reasons, taken = cn.zeros(Bit, q), cn.zeros(Reason, q), cn.zeros(Bit, q)
    for k in cn.range(q):
        payment = payments[k]
        hot[k], reasons[k] = cards.get(payment.card)
        taken[k] = cards.insert(payment.card, payment.report, expires=until, enable=good & (payment.report != 0))
    return hot, reasons, taken


@cn.program
def hot_cards(
    slots: Garbler[Array[Slot, "n"]],
    today: Garbler[Day],
    payments: Evaluator[Array[Payment, "q"]],
    *,
    n: int = 256,
    q: int = 16,
    days: int = 90,
) -> tuple[
    Both[Bit],
    Garbler[Array[Slot, "n"]],
    Evaluator[Array[Bit, "q"]],
    Evaluator[Array[Reason, "q"]],
    Evaluator[Array[Bit, "q"]],
]:
    """For each payment whether its card is on the list, why, and whether its report was taken; reports stay for ``days``.

    Nothing is found or taken if the list is out of order.
    """
    good = sound(slots)
    cards = cn.map_of(slots.card, slots.reason, there=slots.there, expires=slots.until)
    hot, reasons, taken = served(cards, today, payments, q, days, good)
    slots.there, slots.card, slots.reason, slots.until = cards.there, cards.keys, cards.values, cards.until
    return good, slots, hot & good, cn.where(good, reasons, 0), taken
