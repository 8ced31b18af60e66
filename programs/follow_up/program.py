"""A hospital looks patients up in another one's table and brings later visits into it, without showing whose they are.

The table of a trial has a row for each patient: treatment, days in the study, and whether there was an event until then. The other
hospital sees some of these patients later and knows their numbers in the study, which are secret places in the table. It learns the
treatment and last known state of each, as it needs them. Both learn events and days under observation in each arm, all visits included.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

#: Arms of the trial, days since a patient entered it, and days of all patients of an arm.
Arm, Days, AllDays = UInt[2], UInt[11], UInt[24]
ARMS = 4


class Patient(cn.Record):
    """The last known state of a patient."""

    arm: Arm
    days: Days
    event: Bit


class Visit(cn.Record):
    """The number of a patient, and his or her state at a visit."""

    patient: UInt[16]
    days: Days
    event: Bit


@cn.inline
def sums(arm, days, event):
    """Patients with an event and days under observation, by arm."""
    in_arm = arm == Arm(range(ARMS)).reshape(ARMS, 1)
    events = cn.sum(event & in_arm, axis=1, width=16)
    return events, cn.sum(cn.where(in_arm, days, 0), axis=1, width=AllDays.width)


@cn.inline
def is_new(there, known, visit):
    """Whether a visit says more than is known of a patient who is there: it is later, and nothing counts behind an event."""
    return there & ~known.event & (visit.days > known.days)


@cn.program
def follow_up(
    table: Garbler[Array[Patient, "n"]],
    visits: Evaluator[Array[Visit, "q"]],
    *,
    n: int = 1067,
    q: int = 8,
) -> tuple[
    Both[Array[UInt[16], ARMS]],
    Both[Array[AllDays, ARMS]],
    Evaluator[Array[Bit, "q"]],
    Evaluator[Array[Patient, "q"]],
]:
    """Patients with an event and days under observation, by arm; for each visit whether there is such a patient, and the state before."""
    arms = Arm(range(ARMS))
    events, days = sums(table.arm, table.days, table.event)
    rows = cn.ram(table)
    found, before = cn.zeros(Bit, q), cn.zeros(Patient, q)
    for k in cn.range(q):
        visit = visits[k]
        there = visit.patient < n
        # The first row stands in for one that is not there, and stays as it is.
        place = cn.where(there, visit.patient, 0)
        known = rows[place]
        new = is_new(there, known, visit)
        rows[place] = cn.where(new, known.replace(days=visit.days, event=visit.event), known)
        here = new & (arms == known.arm)
        events = events + UInt[16](here & visit.event)
        days = days + cn.where(here, AllDays(cn.max(visit.days, known.days) - known.days), 0)
        found[k] = there
        before[k] = cn.where(there, known, cn.zeros(Patient))
    return events, days, found, before
