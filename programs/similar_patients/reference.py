"""What the program computes, in ordinary Python; and what a genotype is."""


def similar_patients(patients, query, best):
    distances = [sum(x != y for x, y in zip(patient, query)) for patient in patients]
    nearest = sorted(range(len(patients)), key=lambda number: (distances[number], number))[:best]
    return nearest, [distances[number] for number in nearest]


def bits(copies):
    """Two bits for each number of copies: whether there is one, whether there are two."""
    return [bit for number in copies for bit in (int(number >= 1), int(number == 2))]


def cases():
    def case(kind, people, one, best):
        patients, query = [bits(copies) for copies in people], bits(one)
        parameters = {"people": len(people), "places": len(one), "best": best}
        return "similar_patients", kind, parameters, [patients, query], similar_patients(patients, query, best)

    yield case("smallest", [[0], [2]], [1], 1)
    people = [[0, 1, 2, 1, 0], [2, 2, 2, 0, 0], [0, 1, 1, 1, 0], [1, 1, 2, 1, 1], [0, 0, 0, 0, 0], [0, 1, 2, 1, 1]]
    yield case("typical", people, [0, 1, 2, 1, 1], 3)
    # All are equally far.
    yield case("boundary", [[2, 2, 2]] * 5, [0, 0, 0], 5)
