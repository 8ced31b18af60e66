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
    def case(kind, wishes, lists, block=None):
        ranks = ranks_of(lists)
        parameters = {"n": len(wishes), "bits": len(wishes).bit_length()} | ({} if block is None else {"block": block})
        program = "stable_matching" if block is None else "stable_matching_ram"
        return program, kind, parameters, [wishes, ranks], stable_matching(wishes, ranks)

    smallest = [[0, 1], [0, 1]], [[1, 0], [0, 1]]
    typical = [[1, 0, 2, 3], [3, 1, 0, 2], [1, 3, 2, 0], [1, 2, 0, 3]], [[0, 1, 2, 3], [2, 3, 1, 0], [0, 2, 1, 3], [3, 1, 0, 2]]
    # All applicants want the same lenders, and those want the last applicant most.
    alike = [[0, 1, 2, 3]] * 4, [[3, 2, 1, 0]] * 4
    # As many proposals as there can be.
    most = [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3], [0, 1, 2, 3]], [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3]]
    yield case("smallest", *smallest)
    yield case("typical", *typical)
    yield case("boundary", *alike)
    yield case("boundary", *most)
    yield case("smallest", *smallest, block=2)
    yield case("typical", *typical, block=2)
    yield case("boundary", *alike, block=4)
    yield case("boundary", *most, block=1)
    # Blocks that are no power of two, and the same wishes turned from one to the next.
    turned = [[(one + k) % 6 for k in range(6)] for one in range(6)]
    yield case("boundary", turned, turned[::-1], block=3)
