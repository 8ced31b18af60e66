"""What the program computes, in ordinary Python."""


def sort(mine, yours):
    return sorted(mine + yours)


def cases():
    def case(kind, mine, yours):
        return "sort", kind, {"n": len(mine)}, [mine, yours], sort(mine, yours)

    yield case("smallest", [7], [7])
    yield case("typical", [3, 1_000_000, 42, 7, 7], [8, 0, 42, 123_456_789, 5])
    yield case("boundary", [2**32 - 1, 0, 2**31, 1], [0, 2**32 - 1, 2**31 - 1, 2**31])
