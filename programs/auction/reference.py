"""What the program computes, in ordinary Python."""


def auction(mine, yours):
    bids = mine + yours
    winner = bids.index(max(bids))
    return winner, max(bids[:winner] + bids[winner + 1 :])


def cases():
    def case(kind, mine, yours):
        return "auction", kind, {"n": len(mine)}, [mine, yours], auction(mine, yours)

    yield case("smallest", [5], [4])
    yield case("typical", [120, 99, 250, 10, 0, 77, 180, 30], [50, 240, 13, 245, 90, 7, 1, 66])
    yield case("boundary", [0, 0], [0, 0])
    yield case("boundary", [2**32 - 1, 3], [2**32 - 1, 2**32 - 1])
