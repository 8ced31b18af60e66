"""How the lender makes its three models from its own loans. Nothing here is secure or secret: it is ordinary Python on own data."""

import math

from .data import NUMBERS

#: Room for categories of one column.
KINDS = 16
#: Three cuts make four bins of a number.
CUTS = 3
#: The tree asks this many questions.
DEPTH = 4
#: A scorecard whose odds double every so many points.
DOUBLE = 20


def quartiles(values):
    values = sorted(values)
    return [values[len(values) * k // 4] for k in (1, 2, 3)]


def bins(loan, cuts):
    """The bin of each number, then the categories."""
    numbers, categories, _ = loan
    return [sum(value >= cut for cut in own) for value, own in zip(numbers, cuts)] + categories


def evidence(rows, bad, column):
    """Weight of evidence: the logarithm of the odds of bad loans in each bin of a column, against those of all.

    Half a loan is added to each count.
    """
    counts = [[0.5, 0.5] for _ in range(KINDS)]
    for row, is_bad in zip(rows, bad):
        counts[row[column]][is_bad] += 1
    base = math.log(sum(bad) / (len(bad) - sum(bad)))
    return [math.log(b / g) - base if b + g > 1 else 0.0 for g, b in counts]


def solve(matrix, vector):
    """Gaussian elimination with pivots."""
    n = len(vector)
    rows = [[*row, value] for row, value in zip(matrix, vector)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(n):
            if r != k:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k])]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def fit(features, bad, penalty=1.0, steps=8):
    """Weights of a logistic regression, the last one for the constant, by Newton's method."""
    rows = [[*row, 1.0] for row in features]
    n = len(rows[0])
    weights = [0.0] * n
    for _ in range(steps):
        gradient = [-penalty * w for w in weights]
        curvature = [[penalty if r == c else 0.0 for c in range(n)] for r in range(n)]
        for row, target in zip(rows, bad):
            p = 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, row))))
            for r, x in enumerate(row):
                gradient[r] += (target - p) * x
                for c, y in enumerate(row):
                    curvature[r][c] += p * (1 - p) * x * y
        weights = [w + d for w, d in zip(weights, solve(curvature, gradient))]
    return weights


def scorecard(loans, least):
    """Whole points; more are better, and an applicant needs ``least`` of them."""
    bad = [loan[2] for loan in loans]
    cuts = [quartiles(column) for column in zip(*(loan[0] for loan in loans))]
    rows = [bins(loan, cuts) for loan in loans]
    woe = [evidence(rows, bad, column) for column in range(len(rows[0]))]
    *weights, constant = fit([[woe[c][row[c]] for c in range(len(row))] for row in rows], bad)
    unit = DOUBLE / math.log(2)
    points = [[round(-weight * w * unit) for w in own] for weight, own in zip(weights, woe)]
    base = round(500 - constant * unit)
    number_points = [own[: CUTS + 1] for own in points[: len(NUMBERS)]]
    return {"base": base, "cuts": cuts, "number_points": number_points, "category_points": points[len(NUMBERS) :], "least": least}


def tree(loans):
    """Questions that part good loans from bad ones, and the percentage of bad loans in each leaf."""
    rows = [numbers + categories for numbers, categories, _ in loans]
    bad = [loan[2] for loan in loans]
    questions, cuts = [], []
    level = [range(len(rows))]
    for _ in range(DEPTH):
        below = []
        for members in level:
            column, cut = best_question(rows, bad, members)
            questions.append(column)
            cuts.append(cut)
            below.append([m for m in members if rows[m][column] <= cut])
            below.append([m for m in members if rows[m][column] > cut])
        level = below
    # A leaf counts as if it had four loans more, with the share of bad ones of all.
    share = sum(bad) / len(bad)
    percent = [round(100 * (sum(bad[m] for m in own) + 4 * share) / (len(own) + 4)) for own in level]
    return {"questions": questions, "cuts": cuts, "percent": percent}


def best_question(rows, bad, members):
    """The column and the cut that leave the least Gini impurity, with 20 loans or more on each side."""

    def impurity(group):
        k = sum(bad[m] for m in group)
        return k * (len(group) - k) / len(group)

    best = (math.inf, 0, 0)
    for column in range(len(rows[0])):
        values = sorted({rows[m][column] for m in members})
        for cut in values[:-1] if len(values) < 20 else quartiles([rows[m][column] for m in members]):
            yes = [m for m in members if rows[m][column] > cut]
            no = [m for m in members if rows[m][column] <= cut]
            if min(len(yes), len(no)) >= 20:
                best = min(best, (impurity(yes) + impurity(no), column, cut))
    return best[1:]


def logistic(loans):
    """The weight of each number as it is, and one for each category."""
    bad = [loan[2] for loan in loans]
    tops = [max(column) for column in zip(*(loan[0] for loan in loans))]
    kinds = [max(column) + 1 for column in zip(*(loan[1] for loan in loans))]

    def features(loan):
        numbers, categories, _ = loan
        row = [value / top for value, top in zip(numbers, tops)]
        for kind, count in zip(categories, kinds):
            row += [float(k == kind) for k in range(count)]
        return row

    *weights, constant = fit([features(loan) for loan in loans], bad, steps=5)
    number_weights = [weight / top for weight, top in zip(weights, tops)]
    rest = iter(weights[len(tops) :])
    category_weights = [[next(rest) for _ in range(count)] + [0.0] * (KINDS - count) for count in kinds]
    return {"constant": constant, "numbers": number_weights, "categories": category_weights}
