"""What the program computes, in ordinary Python."""


def stable_matching(wishes, ranks):
    n = len(wishes)
    student = [None] * n
    asked = [0] * n
    free = list(range(n))
    while free:
        proposer = free.pop()
        hospital = wishes[proposer][asked[proposer]]
        asked[proposer] += 1
        rival = student[hospital]
        if rival is None or ranks[hospital][proposer] < ranks[hospital][rival]:
            student[hospital] = proposer
            if rival is not None:
                free.append(rival)
        else:
            free.append(proposer)
    return student


def unstable_pairs(wishes, ranks, student):
    """Pairs that would both rather have each other: none in a stable matching."""
    hospital = {s: h for h, s in enumerate(student)}
    return [
        (s, h)
        for s in range(len(wishes))
        for h in range(len(wishes))
        if wishes[s].index(h) < wishes[s].index(hospital[s]) and ranks[h][s] < ranks[h][student[h]]
    ]


def ranks_of(lists):
    """The place of each student on each hospital's list."""
    return [[wanted.index(s) for s in range(len(wanted))] for wanted in lists]


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
    # All students want the same hospitals, and those want the last student most.
    yield case("boundary", [[0, 1, 2, 3]] * 4, [[3, 2, 1, 0]] * 4)
    # As many proposals as there can be.
    yield case(
        "boundary",
        [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3], [0, 1, 2, 3]],
        [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3]],
    )
