"""What the program computes, in ordinary Python."""


def edit_distance(mine, yours):
    above = list(range(len(yours) + 1))
    for i, x in enumerate(mine, 1):
        row = [i]
        for j, y in enumerate(yours, 1):
            row.append(min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


def nucleotides(text):
    return ["ACGT".index(letter) for letter in text]


def cases():
    def case(kind, mine, yours, strip):
        return "edit_distance", kind, {"n": len(mine), "strip": strip}, [mine, yours], edit_distance(mine, yours)

    yield case("smallest", [0, 1], [1, 0], 2)
    yield case("typical", nucleotides("GATTACAGATTACACA"), nucleotides("GCATGCTTTACGACCA"), 8)
    yield case("boundary", nucleotides("ACGT" * 4), nucleotides("CGTA" * 4), 4)
    yield case("boundary", nucleotides("A" * 16), nucleotides("T" * 16), 16)
    yield case("boundary", nucleotides("ACCGTTGA" * 2), nucleotides("ACCGTTGA" * 2), 2)
