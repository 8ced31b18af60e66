"""Stable matching of applicants and lenders (Gale and Shapley 1962), from wishes that stay secret.

One side holds what the applicants want, the other what the lenders want. Nothing but the matching is revealed: not how many
proposals were made, nor who was refused.
"""

import cenote as cn
from cenote import Array, Both, Evaluator, Garbler, UInt


@cn.program
def stable_matching(
    wishes: Garbler[Array[UInt["bits"], "n", "n"]],
    ranks: Evaluator[Array[UInt["bits"], "n", "n"]],
    *,
    n: int = 8,
    bits: int = 4,
) -> Both[Array[UInt["bits"], "n"]]:
    """The applicant of each lender. Of all stable matchings it is the one that is best for the applicants.

    ``wishes[a]`` lists the lenders as applicant a prefers them, ``ranks[l][a]`` is the place of applicant a on lender l's list.
    There is always one applicant who proposes: the one who was refused last or, after an acceptance, the next who has not yet begun.
    """
    nobody, Place = n, UInt[max(1, (n - 1).bit_length())]
    asked = cn.zeros(UInt[bits], n)
    applicant = UInt[bits]([nobody] * n)
    rank = UInt[bits]([n] * n)
    proposer, begun = UInt[bits](0), UInt[bits](1)
    for _ in cn.range(n * n - n + 1):
        active = proposer != nobody
        # Where nobody proposes, what is read does not matter.
        who = Place(cn.where(active, proposer, 0))
        before = cn.where(active, asked[who], 0)
        lender = wishes[who][Place(before)]
        asked = cn.store(asked, who, before + 1, active)
        rival, rival_rank = applicant[lender], rank[lender]
        own_rank = ranks[lender][who]
        accepted = active & (own_rank < rival_rank)
        applicant = cn.store(applicant, lender, proposer, accepted)
        rank = cn.store(rank, lender, own_rank, accepted)
        refused = cn.where(accepted, rival, proposer)
        next_begins = active & (refused == nobody)
        proposer = cn.where(next_begins, begun, refused)
        begun = begun + UInt[bits](next_begins & (begun != nobody))
    return applicant
