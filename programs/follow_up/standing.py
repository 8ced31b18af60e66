"""The table as a memory of the session of two services: brought in once, looked up and changed by each visit, and summed up at the end.

Patients are known by a number of ten digits, as those of health services are, and not by their row. Each visit is a job of its own,
with its own approval and use, and finds what all visits before have left; neither hospital sees the table in between, and the first one
does not learn who was seen. A visit takes 141,000 ANDs, since every number of the table is compared with that of the patient. Where both
hospitals number the rows alike, `cn.Ram[Patient, n, accesses]` in place of the map takes 31,000.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

from .program import ARMS, AllDays, Days, Patient, is_new, sums

#: Numbers of ten digits.
Number = UInt[34]
#: Operations on one table, from when it is brought in until it ends; slots do not count them.
LIFE = 1_000_000


class Row(cn.Record):
    """A patient of the trial."""

    number: Number
    state: Patient


class Seen(cn.Record):
    """The number of a patient, and his or her state at a visit."""

    number: Number
    days: Days
    event: Bit


@cn.program
def enrol(
    table: Garbler[Array[Row, "n"]],
    ours: Garbler[UInt[128]],
    yours: Evaluator[UInt[128]],
    trial: cn.NewMemory[cn.Map[Number, Patient, "n", LIFE]],
    *,
    n: int = 1067,
) -> Both[Bit]:
    """The first hospital brings its table in, by ascending number; nobody is in it if it is out of order.

    Both give 128 random bits, which a table that is much larger needs.
    """
    good = cn.all(table.number[:-1] < table.number[1:])
    trial.begin(seeds=(ours, yours))
    trial.value = cn.map_of(table.number, table.state, there=cn.broadcast_to(good, n))
    return good


@cn.program
def visit(
    visits: Evaluator[Array[Seen, "q"]],
    trial: cn.Memory[cn.Map[Number, Patient, "n", LIFE]],
    *,
    n: int = 1067,
    q: int = 1,
) -> tuple[Evaluator[Array[Bit, "q"]], Evaluator[Array[Patient, "q"]]]:
    """For each visit whether there is such a patient, and the state before; what it says stays for all later requests."""
    found, before = cn.zeros(Bit, q), cn.zeros(Patient, q)
    for k in cn.range(q):
        seen = visits[k]
        found[k], known = trial.value.get(seen.number)
        before[k] = known
        trial.value.insert(seen.number, known.replace(days=seen.days, event=seen.event), enable=is_new(found[k], known, seen))
    return found, before


@cn.program
def sum_up(
    trial: cn.Memory[cn.Map[Number, Patient, "n", LIFE]], *, n: int = 1067
) -> tuple[Both[Array[UInt[16], ARMS]], Both[Array[AllDays, ARMS]]]:
    """Patients with an event and days under observation, by arm, all visits included; the table ends here."""
    trial.end()
    rows = trial.value.entries()
    states = cn.where(rows.there, rows.values, cn.zeros(Patient, len(rows)))
    return sums(states.arm, states.days, states.event)
