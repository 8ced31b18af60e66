"""The list as a memory of the session of two services: brought in once, asked and changed by each request, and given back at the end.

Between requests neither issuer sees it; each request is a job of its own, with its own approval and use.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler

from .program import Day, Payment, Reason, Slot, served, sound


@cn.program
def bring_in(slots: Garbler[Array[Slot, "n"]], deny: cn.NewMemory[Array[Slot, "n"]], *, n: int = 256) -> Both[Bit]:
    """The first issuer brings its list in; it stays empty if it is out of order."""
    good = sound(slots)
    deny.value = slots
    deny.value.there = slots.there & good
    return good


@cn.program
def pay(
    today: Garbler[Day],
    payments: Evaluator[Array[Payment, "q"]],
    deny: cn.Memory[Array[Slot, "n"]],
    *,
    n: int = 256,
    q: int = 1,
    days: int = 90,
) -> tuple[Evaluator[Array[Bit, "q"]], Evaluator[Array[Reason, "q"]], Evaluator[Array[Bit, "q"]]]:
    """For each payment whether its card is on the list, why, and whether its report was taken, for ``days`` and all later requests."""
    deny.value, *answers = served(deny.value, today, payments, q, days)
    return tuple(answers)


@cn.program
def take_back(deny: cn.Memory[Array[Slot, "n"]], *, n: int = 256) -> Garbler[Array[Slot, "n"]]:
    """The first issuer has its list back, which ends here."""
    deny.end()
    return deny.value
