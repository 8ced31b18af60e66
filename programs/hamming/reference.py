"""What the program computes, in ordinary Python."""


def hamming(mine, yours):
    return sum(x != y for x, y in zip(mine, yours))


def cases():
    def case(kind, mine, yours):
        return "hamming", kind, {"n": len(mine)}, [mine, yours], hamming(mine, yours)

    yield case("smallest", [1], [0])
    yield case("typical", [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0])
    yield case("boundary", [0] * 64, [1] * 64)
    yield case("boundary", [1] * 63, [1] * 63)
