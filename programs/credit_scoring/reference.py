"""What the programs compute, in ordinary Python with floating point."""

import math


def scorecard(card, applicant):
    score = card["base"]
    for value, cuts, points in zip(applicant["numbers"], card["cuts"], card["number_points"]):
        score += points[sum(value >= cut for cut in cuts)]
    score += sum(points[kind] for points, kind in zip(card["category_points"], applicant["categories"]))
    return score, score >= card["least"]


def tree(model, applicant):
    columns = applicant["numbers"] + applicant["categories"]
    questions, cuts, percent = model["questions"], model["cuts"], model["percent"]
    node = 0
    while node < len(questions):
        node = 2 * node + 1 + (columns[questions[node]] > cuts[node])
    return percent[node - len(questions)]


def logistic(model, applicant):
    z = model["constant"] + sum(weight * value for weight, value in zip(model["numbers"], applicant["numbers"]))
    z += sum(weights[kind] for weights, kind in zip(model["categories"], applicant["categories"]))
    return 1 / (1 + math.exp(-z))


def cases():
    nothing = [[0] * 16 for _ in range(9)]
    card = {"base": 500, "cuts": [[1, 2, 3]] * 4, "number_points": [[0] * 4] * 4, "category_points": nothing, "least": 501}
    questions = {"questions": [0] * 15, "cuts": [0] * 15, "percent": [0] * 16}
    weights = {"constant": 0.0, "numbers": [0.0] * 4, "categories": nothing}
    yield from case("smallest", card, questions, weights, {"numbers": [0] * 4, "categories": [0] * 9})

    points = [[(7 * column + 5 * kind) % 31 - 15 for kind in range(16)] for column in range(9)]
    cuts = [[12, 18, 24], [1382, 2348, 3966], [2, 3, 4], [2, 3, 4]]
    card = {"base": 520, "cuts": cuts, "number_points": [[20, 7, -4, -9]] * 4, "category_points": points, "least": 500}
    questions = {
        "questions": [4, 11, 10, 5, 8, 0, 5, 7, 1, 0, 2, 3, 6, 9, 12],
        "cuts": [0, 0, 2, 3, 2, 18, 2, 0, 3485, 6, 2, 1, 3, 0, 1],
        "percent": list(range(5, 85, 5)),
    }
    small = [[point / 16 for point in own] for own in points]
    weights = {"constant": -0.75, "numbers": [0.028, 0.00007, 0.22, -0.0125], "categories": small}
    yield from case("typical", card, questions, weights, {"numbers": [18, 2500, 3, 1], "categories": [1, 4, 3, 0, 2, 0, 2, 0, 1]})

    # The largest amounts and kinds, right at the cuts, just enough points and one too few; nearly certain, and nearly impossible.
    largest = {"numbers": [65535] * 4, "categories": [15] * 9}
    for least, sign, cut in ((218, 1, 14), (219, -1, 15)):
        last = [[0] * 15 + [2 * sign] for _ in range(9)]
        points = [[0, 0, 0, 59 - 9 * sign]] * 4
        card = {"base": 0, "cuts": [[65535] * 3] * 4, "number_points": points, "category_points": last, "least": least}
        questions = {"questions": [12] * 15, "cuts": [cut] * 15, "percent": list(range(16))}
        yield from case("boundary", card, questions, {"constant": 0.0, "numbers": [0.0] * 4, "categories": last}, largest)
    # Amounts that would be negative in a type with one bit less.
    weights = {"constant": -1.0, "numbers": [2**-16, -(2**-17), 2**-15, 0.0], "categories": nothing}
    yield "logistic", "large amounts", {}, [weights, largest], logistic(weights, largest)


def case(kind, card, questions, weights, applicant):
    yield "scorecard", kind, {}, [card, applicant], scorecard(card, applicant)
    yield "tree", kind, {}, [questions, applicant], tree(questions, applicant)
    yield "logistic", kind, {}, [weights, applicant], logistic(weights, applicant)
