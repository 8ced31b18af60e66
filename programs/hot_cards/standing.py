"""The list as a memory of the session of two services: brought in once, asked and changed by each request, and given back at the end.

Between requests neither issuer sees it; each request is a job of its own, with its own approval and use. Short lists are slots that each
request looks at. A list of 10,000 cards is kept hashed: a payment takes 336,000 ANDs, where looking at all slots took 2.05 million. It is
put in card by card, which takes 1.72 billion, and taken out bucket by bucket, in 2.41 billion; so that is cheaper after 2,400 payments.

A list of slots refuses a report when all are in use. One that is hashed does not know how many cards have expired: it takes reports beyond
its size, as long as there is room, and who reports that many on purpose may see from a refusal which cards share a bucket. So the first
issuer limits how many jobs there are in ``days``. Each payment takes two of the operations in `LIFE`, and the list has to be taken back
while it has one left for each bucket, 16,384 for 10,000 cards; ``status`` shows how many are left.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

from .program import Card, Day, Payment, Reason, Slot, served, sound

#: Operations on one list, from when it is brought in until it is taken back.
LIFE = 1_000_000


@cn.program
def bring_in(
    slots: Garbler[Array[Slot, "n"]],
    ours: Garbler[UInt[128]],
    yours: Evaluator[UInt[128]],
    deny: cn.NewMemory[cn.Map[Card, Reason, "n", LIFE, Day]],
    *,
    n: int = 256,
) -> Both[Bit]:
    """The first issuer brings its list in; it stays empty if it is out of order. Both give 128 random bits, which hide where cards are."""
    good = sound(slots)
    deny.begin(seeds=(ours, yours))
    deny.value = cn.map_of(slots.card, slots.reason, there=slots.there & good, expires=slots.until)
    return good


@cn.program
def pay(
    today: Garbler[Day],
    payments: Evaluator[Array[Payment, "q"]],
    deny: cn.Memory[cn.Map[Card, Reason, "n", LIFE, Day]],
    *,
    n: int = 256,
    q: int = 1,
    days: int = 90,
) -> tuple[Evaluator[Array[Bit, "q"]], Evaluator[Array[Reason, "q"]], Evaluator[Array[Bit, "q"]]]:
    """For each payment whether its card is on the list, why, and whether its report was taken, for ``days`` and all later requests."""
    return served(deny.value, today, payments, q, days)


@cn.program(to=Garbler)
def take_back(deny: cn.Memory[cn.Map[Card, Reason, "n", LIFE, Day]], *, n: int = 256):
    """The first issuer has its list back, slot by slot, which ends here."""
    deny.end()
    slots = deny.value.entries()
    return {"there": slots.there, "card": slots.keys, "reason": slots.values, "until": slots.until}
