"""What the program computes, in ordinary Python."""


def stable_matching(wishes, ranks):
    n = len(wishes)
    applicant = [None] * n
    asked = [0] * n
    free = list(range(n))
    while free:
        proposer = free.pop()
        lender = wishes[proposer][asked[proposer]]
        asked[proposer] += 1
        rival = applicant[lender]
        if rival is None or ranks[lender][proposer] < ranks[lender][rival]:
            applicant[lender] = proposer
            if rival is not None:
                free.append(rival)
        else:
            free.append(proposer)
    return applicant


def unstable_pairs(wishes, ranks, applicant):
    """Pairs that would both rather have each other: none in a stable matching."""
    lender = {one: other for other, one in enumerate(applicant)}
    return [
        (one, other)
        for one in range(len(wishes))
        for other in range(len(wishes))
        if wishes[one].index(other) < wishes[one].index(lender[one]) and ranks[other][one] < ranks[other][applicant[other]]
    ]


def ranks_of(lists):
    """The place of each applicant on each lender's list."""
    return [[wanted.index(one) for one in range(len(wanted))] for wanted in lists]


def cases():
    def case(kind, wishes, lists):
        ranks = ranks_of(lists)
        parameters = {"n": len(wishes), "bits": len(wishes).bit_length()}
        return "stable_matching", kind, parameters, [wishes, ranks], stable_matching(wishes, ranks)

    yield case("smallest", [[0, 1], [0, 1]], [[1, 0], [0, 1]])
    yield case(
        "typical",
        [[1, 0, 2, 3], [3, 1, 0, 2], [1, 3, 2, 0], [1, 2, 0, 3]],
        [[0, 1, 2, 3], [2, 3, 1, 0], [0, 2, 1, 3], [3, 1, 0, 2]],
    )
    # All applicants want the same lenders, and those want the last applicant most.
    yield case("boundary", [[0, 1, 2, 3]] * 4, [[3, 2, 1, 0]] * 4)
    # As many proposals as there can be.
    yield case(
        "boundary",
        [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3], [0, 1, 2, 3]],
        [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3]],
    )
