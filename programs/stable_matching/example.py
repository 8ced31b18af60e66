"""Eight people who asked a German bank for a loan, and eight lenders; and 64 of them, where each lender has eight loans to give. The
loans are real; that there are eight lenders is made up.
"""

from ..common import Example
from ..credit_scoring import reference as scoring
from ..credit_scoring import train
from ..credit_scoring.data import CATEGORIES, NUMBERS, applicant, split
from .program import stable_matching, stable_matching_ram
from .reference import ranks_of, unstable_pairs
from .reference import stable_matching as reference

AMOUNT, PURPOSE = NUMBERS.index("amount"), CATEGORIES.index("purpose")


def average(loans):
    return sum(loan[0][AMOUNT] for loan in loans) / max(len(loans), 1)


def wishes_and_lists(loans, applicants, n=8, each=1):
    """The lenders in the order of each applicant, the applicants in the order of each lender.

    Each lender has an n-th of the loans. Applicants want one that lends, for the same purpose, on average about what they ask for;
    lenders want applicants with many points on the scorecard that they learned from their own loans. A lender with more loans to give
    stands for so many, one after the other.
    """
    lenders = [loans[number::n] for number in range(n)]

    def distance(loan, lender):
        numbers, categories, _ = loan
        alike = [other for other in lenders[lender] if other[1][PURPOSE] == categories[PURPOSE]]
        return abs(average(alike) - numbers[AMOUNT])

    wishes = [sorted(range(n), key=lambda lender: distance(loan, lender)) for loan in applicants]
    cards = [train.scorecard(own, 0) for own in lenders]
    points = [[scoring.scorecard(card, applicant(loan))[0] for loan in applicants] for card in cards]
    lists = [sorted(range(len(applicants)), key=lambda one: -scores[one]) for scores in points]
    places = [[each * lender + place for lender in wanted for place in range(each)] for wanted in wishes]
    return places, [wanted for wanted in lists for _ in range(each)]


def examples():
    loans, unseen = split()
    for program, n, report in ((stable_matching, 8, report_all), (stable_matching_ram, 64, report_lenders)):
        wishes, lists = wishes_and_lists(loans, unseen[:n], each=n // 8)
        ranks = ranks_of(lists)
        expected = reference(wishes, ranks)
        if unstable_pairs(wishes, ranks, expected):
            raise AssertionError("the reference's matching is not stable")
        yield Example(program, [wishes, ranks], expected, report)


def report_all(result):
    yield ", ".join(f"lender {lender} takes applicant {applicant}" for lender, applicant in enumerate(result))


def report_lenders(result):
    for lender in range(8):
        yield f"lender {lender} takes applicants {', '.join(map(str, sorted(result[8 * lender : 8 * lender + 8])))}"
