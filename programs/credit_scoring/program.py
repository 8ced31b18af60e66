"""Three ways to judge an applicant by a model that stays with the lender.

The lender is the garbler and brings the model; the evaluator, say a comparison site, brings the applicant. The lender learns nothing
of the applicant but the result, the other side nothing of the model but the result.
"""

import math

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Fixed, Garbler, Int, UInt

#: Columns with numbers (duration, amount, ..) and with categories (purpose, housing, ..), and room for categories of one column.
NUMBERS, CATEGORIES, KINDS = 4, 9, 16
#: Questions on the way to a leaf of the tree.
DEPTH = 4
NODES, LEAVES = 2**DEPTH - 1, 2**DEPTH

Amount = UInt[16]
Kind = UInt[4]
Points = Int[12]


class Applicant(cn.Record):
    """What the form says."""

    numbers: Array[Amount, NUMBERS]
    categories: Array[Kind, CATEGORIES]


class Scorecard(cn.Record):
    """Points for each bin of a number, for each category, and for everybody; and how many an applicant needs."""

    base: Points
    cuts: Array[Amount, NUMBERS, 3]
    number_points: Array[Points, NUMBERS, 4]
    category_points: Array[Points, CATEGORIES, KINDS]
    least: Points


@cn.program
def scorecard(card: Garbler[Scorecard], applicant: Evaluator[Applicant]) -> tuple[Both[Points], Both[Bit]]:
    """The points of the bins that the applicant falls into, and whether they are enough."""
    score = card.base
    for column in range(NUMBERS):
        place = cn.sum(applicant.numbers[column] >= card.cuts[column])
        score = score + card.number_points[column][place]
    for column in range(CATEGORIES):
        score = score + card.category_points[column][applicant.categories[column]]
    return score, score >= card.least


class Tree(cn.Record):
    """Node k asks whether column questions[k] exceeds cuts[k], and goes on to node 2k + 1 or, if so, 2k + 2."""

    questions: Array[Kind, NODES]
    cuts: Array[Amount, NODES]
    percent: Array[UInt[7], LEAVES]


@cn.program
def tree(model: Garbler[Tree], applicant: Evaluator[Applicant]) -> Both[UInt[7]]:
    """The percentage in the leaf that the applicant falls into. Which column a node asks for is secret, too."""
    columns = cn.concatenate([applicant.numbers, Amount(applicant.categories)])
    # The answers so far, the last one in the lowest bit, are the place among the nodes of the same depth.
    place = UInt[1](0)
    for depth in range(DEPTH):
        row = slice(2**depth - 1, 2 ** (depth + 1) - 1)
        yes = columns[model.questions[row][place]] > model.cuts[row][place]
        place = cn.join_words(yes, place)
    return model.percent[place]


#: Weights and sums of the logistic model, and amounts.
Weight = Fixed[17, 24]
#: A probability.
Share = Fixed[2, 16]


def sigmoid(z):
    """1 / (1 + exp(-z)) from a table with straight lines between its places, which are 1/8 apart; the error is below 0.0004."""
    places = [k / 8 for k in range(-64, 66)]
    table = Share([1 / (1 + math.exp(-place)) for place in places])
    inside = cn.max(cn.min(z, 7.999), -8.0)
    scaled = (inside + 8) * 8
    at = UInt[8](Int[17](scaled))
    rest = Share(scaled - Weight(Int[17](scaled)))
    low, high = table[at], table[at + 1]
    return low + (high - low) * rest


class Weights(cn.Record):
    """A constant, and a weight for each number and for each category."""

    constant: Weight
    numbers: Array[Weight, NUMBERS]
    categories: Array[Weight, CATEGORIES, KINDS]


@cn.program
def logistic(model: Garbler[Weights], applicant: Evaluator[Applicant]) -> Garbler[Share]:
    """The probability that the loan goes bad, for the lender."""
    z = model.constant + cn.sum(model.numbers * Weight(applicant.numbers))
    for column in range(CATEGORIES):
        z = z + model.categories[column][applicant.categories[column]]
    return sigmoid(z)
