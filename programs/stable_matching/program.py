"""Stable matching of applicants and lenders (Gale and Shapley 1962), from wishes that stay secret.

One side holds what the applicants want, the other what the lenders want. Nothing but the matching is revealed: not how many
proposals were made, nor who was refused. Two programs give it: `stable_matching` looks at all wishes and ranks in each round, and
`stable_matching_ram`, for dozens of applicants, has them in a memory that it reads at secret places.
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


@cn.program
def stable_matching_ram(
    wishes: Garbler[Array[UInt["bits"], "n", "n"]],
    ranks: Evaluator[Array[UInt["bits"], "n", "n"]],
    *,
    n: int = 64,
    bits: int = 7,
    block: int = 8,
) -> Both[Array[UInt["bits"], "n"]]:
    """The same for more of them.

    Wish and rank that a proposal meets are brought together first, so that one look is enough, and lie in a memory of n * n / ``block``
    rows of ``block`` wishes; ``block`` divides n. What changes are n rows of a few bits, which are looked at as they are.
    """
    nobody, Place, rows_each = n, UInt[max(1, (n - 1).bit_length())], n // block
    if n % block:
        raise ValueError(f"blocks of {block} wishes do not make {n}")
    Row = UInt[max(1, (n * rows_each - 1).bit_length())]
    # The rank that applicant a has with the lender of each wish.
    met = cn.map(lambda wished, own: own[wished], wishes, ranks.T)
    proposals = cn.ram(cn.stack([wishes, met], axis=2).reshape(n * rows_each, block, 2))
    asked = cn.zeros(UInt[bits], n)
    applicant = UInt[bits]([nobody] * n)
    rank = UInt[bits]([n] * n)
    proposer, begun = UInt[bits](0), UInt[bits](1)
    for _ in cn.range(n * n - n + 1):
        active = proposer != nobody
        # Where nobody proposes, what is read does not matter.
        who = Place(cn.where(active, proposer, 0))
        before = cn.where(active, asked[who], 0)
        asked = cn.store(asked, who, before + 1, active)
        row = proposals[Row(who) * rows_each + Row(before // block)]
        lender, own_rank = row[before % block]
        rival, rival_rank = applicant[lender], rank[lender]
        accepted = active & (own_rank < rival_rank)
        applicant = cn.store(applicant, lender, proposer, accepted)
        rank = cn.store(rank, lender, own_rank, accepted)
        refused = cn.where(accepted, rival, proposer)
        next_begins = active & (refused == nobody)
        proposer = cn.where(next_begins, begun, refused)
        begun = begun + UInt[bits](next_begins & (begun != nobody))
    return applicant
