"""Do patients with one treatment fare better than those with another, when two hospitals may not show each other theirs?

Each hospital counts its own patients by day: how many had an event, how many left the study. The programs add the counts up and
see from them how many patients there still were each day. Nothing is revealed but the test statistic, or the curves.
"""

import cenote as cn
from cenote import Array, Both, Evaluator, Fixed, Garbler, UInt

#: Patients leaving on one day, in one arm and one hospital.
Count = UInt[8]
#: Patients in all.
Total = UInt[12]
#: Shares of them, numbers of them that need not be whole, squares of such numbers: all with eight digits behind the point.
Share, Number, Square = Fixed[2, 28], Fixed[12, 28], Fixed[24, 28]


def ratio(x, y):
    """x / y for whole numbers, where x <= y; 0 where both are 0."""
    wide = UInt[Total.width + Share.frac]
    quotient = (wide(x) << Share.frac) // wide(cn.max(y, 1))
    return cn.from_bits(UInt[Share.width](quotient).bits(), Share)


@cn.inline
def staying(gone):
    """How many patients of each arm are in the study at the beginning of each day."""
    left = cn.sum(Total(gone), axis=1)
    present = cn.zeros(Total, gone.shape)
    for day in cn.range(gone.shape[1]):
        present[:, day] = left
        left = left - Total(gone[:, day])
    return present


@cn.program
def log_rank(
    events: Garbler[Array[Count, 2, "days"]],
    gone: Garbler[Array[Count, 2, "days"]],
    other_events: Evaluator[Array[Count, 2, "days"]],
    other_gone: Evaluator[Array[Count, 2, "days"]],
    *,
    days: int = 1232,
) -> Both[Square]:
    """The statistic of the log-rank test (Mantel 1966): chi-squared with one degree of freedom if the treatments are equal."""
    died = Total(events) + Total(other_events)
    present = staying(Total(gone) + Total(other_gone))
    all_died, all_present = cn.sum(died, axis=0), cn.sum(present, axis=0)
    share = ratio(present[0], all_present)
    expected = Number(all_died) * Number(share)
    # The variance of a hypergeometric distribution.
    others = ratio(all_present - all_died, cn.max(all_present, 2) - 1)
    variance = Number(all_died) * Number(share * (1 - share) * others)
    excess, spread = Square(cn.sum(Number(died[0]) - expected)), Square(cn.sum(variance))
    nothing = spread == 0
    return cn.where(nothing, 0, excess * excess / cn.where(nothing, 1, spread))


@cn.program
def kaplan_meier(
    events: Garbler[Array[Count, 2, "days"]],
    gone: Garbler[Array[Count, 2, "days"]],
    other_events: Evaluator[Array[Count, 2, "days"]],
    other_gone: Evaluator[Array[Count, 2, "days"]],
    *,
    days: int = 1232,
    every: int = 28,
) -> Both[Array[Share, 2, "days // every"]]:
    """The share of each arm that is without an event, every ``every`` days (Kaplan and Meier 1958)."""
    died = Total(events) + Total(other_events)
    present = staying(Total(gone) + Total(other_gone))
    survive = 1 - ratio(died, present)
    share = Share([1, 1])
    curves = cn.zeros(Share, (2, days // every))
    for period in cn.range(days // every):
        for day in cn.range(every):
            share = share * survive[:, period * every + day]
        curves[:, period] = share
    return curves
