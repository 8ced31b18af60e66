"""What the programs compute, in ordinary Python. A table is a list of (customer, spend in each quarter)."""


def shared(table, other):
    """What each customer of both spent, by quarter, here and there."""
    theirs = dict(other)
    return [(customer, spend, theirs[customer]) for customer, spend in table if customer in theirs]


def shared_total(table, other):
    both = shared(table, other)
    return len(both), sum(sum(here) + sum(there) for _, here, there in both)


def shared_by_quarter(table, other, smallest=10):
    """Customers who bought on both sides in the quarter, and what they spent in it; zeros for less than ``smallest`` of them."""
    result = []
    for quarter in range(len(table[0][1])):
        spends = [here[quarter] + there[quarter] for _, here, there in shared(table, other) if here[quarter] and there[quarter]]
        result.append((len(spends), sum(spends)) if len(spends) >= smallest else (0, 0))
    return result


def shared_groups(table, other, least, your_least):
    """The same for the larger of both numbers."""
    return shared_by_quarter(table, other, max(least, your_least))


def top_shared(table, other, best=10):
    """Of equal spends the larger number first; 0 where fewer are shared."""
    spends = sorted(((sum(here) + sum(there), customer) for customer, here, there in shared(table, other)), reverse=True)
    return ([customer for _, customer in spends] + [0] * best)[:best]


def median_spend(table, other):
    spends = sorted(sum(spend) for _, spend in table + other)
    return spends[(len(spends) - 1) // 2]


def filled(table, rows, side):
    """The table with fillers up to ``rows`` rows, for ``side`` 0 or 1: numbers from 2^16 on, of which each side has its own."""
    fillers = [(2**16 + 2 * k + side, [0] * 6) for k in range(rows - len(table))]
    return table + fillers


def accounts(table):
    """What an issuer brings in: columns of customers and of what they spent in all."""
    return {"customer": [customer for customer, _ in table], "spend": [sum(spend) for _, spend in table]}


def quarters(table):
    """The same with what they spent in each quarter."""
    return {"customer": [customer for customer, _ in table], "spend": [spend for _, spend in table]}


def cases():
    def case(kind, table, other, smallest, best):
        n = len(table)
        inputs = [accounts(table), accounts(other)]
        yield "shared_total", kind, {"n": n}, inputs, [True, *shared_total(table, other)]
        by_quarter = [True, *map(list, zip(*shared_by_quarter(table, other, smallest)))]
        yield "shared_by_quarter", kind, {"n": n, "smallest": smallest}, [quarters(table), quarters(other)], by_quarter
        for least in ((smallest, 0), (1, smallest)):
            groups = [True, *map(list, zip(*shared_groups(table, other, *least)))]
            yield "shared_groups", kind, {"n": n}, [quarters(table), least[0], quarters(other), least[1]], groups
        yield "top_shared", kind, {"n": n, "best": best}, inputs, [True, top_shared(table, other, best)]
        yield "median_spend", kind, {"n": n}, [columns["spend"] for columns in inputs], median_spend(table, other)

    def row(customer, factor):
        return customer, [(customer * factor * quarter) % 7 // 3 * 1000 for quarter in range(1, 7)]

    yield from case("smallest", [row(1, 1), row(2, 1)], [row(2, 3), row(5, 1)], 1, 1)
    here = [row(customer, 3) for customer in (2, 5, 9, 70, 71, 80, 81, 90)]
    there = [row(customer, 5) for customer in (1, 5, 6, 70, 71, 80, 90, 200)]
    yield from case("typical", here, there, 2, 3)
    # The same customers, with the largest spends; too few of them; none in common; tables of other lengths, filled up.
    large = [(customer, [2**20 - 1, 2**20 - 1, 0, 0, 0, 0]) for customer in (1, 2, 65534, 65535)]
    yield from case("boundary", large, large, 4, 4)
    yield from case("boundary", large, large, 5, 2)
    odd, even = ([row(customer, 2) for customer in range(first, first + 8, 2)] for first in (1, 2))
    yield from case("boundary", odd, even, 1, 2)
    yield from case("boundary", filled(here[:5], 8, 0), filled(there[:7], 8, 1), 1, 2)
    # A table out of order gives nothing.
    mine = accounts(large)
    backwards = {**mine, "customer": mine["customer"][::-1]}
    equal = {**mine, "customer": [1, 2, 2, 3]}
    yield "shared_total", "hostile", {"n": 4}, [mine, backwards], [False, 0, 0]
    yield "top_shared", "hostile", {"n": 4, "best": 1}, [equal, mine], [False, [0]]
