"""What two card issuers can learn about the customers they share, without showing each other their tables.

Each brings its table in by ascending customer number. A merging network brings equal numbers together. Spends stay where they are: the
exchanges of the network, done backwards, carry the marks of shared customers to their rows, one AND an exchange.
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

#: Numbers of customers; those from 2^16 on are fillers, of which each issuer has its own.
Customer = UInt[17]
#: Cents of a customer in a quarter, in all quarters, and of all customers.
Quarter, Spend, Total = UInt[20], UInt[21], UInt[40]


class Account(cn.Record):
    """A customer, and what he or she spent in all."""

    customer: Customer
    spend: Spend


class Quarters(cn.Record):
    """A customer, and what he or she spent in each of six quarters."""

    customer: Customer
    spend: Array[Quarter, 6]


def exchange(rows, swap):
    """Changes places within those pairs that ``swap`` marks; ``rows[:, 0]`` and ``rows[:, 1]`` are the pairs."""
    change = cn.where(swap, rows[:, 0] ^ rows[:, 1], 0)
    return cn.stack([rows[:, 0] ^ change, rows[:, 1] ^ change], axis=1).reshape(-1)


def merge(keys, *carried):
    """Orders keys of which the first half ascends and the second half descends (the bitonic merger of Batcher 1968).

    Returns them, what was carried along, and the exchanges of each layer.
    """
    if len(keys) & (len(keys) - 1):
        raise ValueError(f"tables of {len(keys) // 2} rows: fill them up to a power of two, see reference.filled")
    layers = []
    distance = len(keys) // 2
    while distance:
        pairs = keys.reshape(-1, 2, distance)
        swap = pairs[:, 1] < pairs[:, 0]
        keys, *carried = [exchange(rows.reshape(-1, 2, distance), swap) for rows in (keys, *carried)]
        layers.append(swap)
        distance //= 2
    return keys, carried, layers


def neighbours(values):
    """What ``values`` say of rows i and i + 1, at both of these rows. No row is like both of its neighbours."""
    none = cn.zeros(values.elem, 1)
    return cn.concatenate([values, none]) ^ cn.concatenate([none, values])


def send_home(values, layers):
    """Does the exchanges backwards; the rows of the first table, and those of the second."""
    for swap in reversed(layers):
        values = exchange(values.reshape(swap.shape[0], 2, -1), swap)
    rows = len(values) // 2
    return values[:rows], values[rows:][::-1]


def both_ways(first, second):
    """The rows of one table, then those of the other from the last to the first."""
    return cn.concatenate([first, second[::-1]])


def total(chosen, spends):
    """The sum over the chosen rows."""
    return cn.sum(cn.where(chosen, spends, 0), axis=0, width=Total.width)


def sound(*tables):
    """Whether all customer numbers ascend: a merge relies on it, and an owner may bring in what it likes."""
    return cn.all(cn.stack([cn.all(table.customer[:-1] < table.customer[1:]) for table in tables]))


@cn.program
def shared_total(
    mine: Garbler[Array[Account, "n"]],
    yours: Evaluator[Array[Account, "n"]],
    *,
    n: int = 4096,
) -> tuple[Both[Bit], Both[UInt["n.bit_length()"]], Both[Total]]:
    """How many customers both have, and what these spent at both together. Zeros if a table is out of order."""
    customers, _, layers = merge(both_ways(mine.customer, yours.customer))
    same = customers[:-1] == customers[1:]
    here, there = send_home(neighbours(same), layers)
    spend = total(here, mine.spend) + total(there, yours.spend)
    good = sound(mine, yours)
    return good, cn.where(good, cn.sum(here), 0), cn.where(good, spend, 0)


def by_quarter(mine, yours, smallest):
    """For each quarter the customers who bought on both sides and what they spent, but for groups of less than ``smallest``."""
    # Which quarters a customer bought in travels along, as a word of six bits.
    bought = cn.from_bits(both_ways(mine.spend, yours.spend) != 0)
    customers, [bought], layers = merge(both_ways(mine.customer, yours.customer), bought)
    same = customers[:-1] == customers[1:]
    here, there = send_home(neighbours(cn.where(same, bought[:-1] & bought[1:], 0)), layers)
    number = cn.sum(here.bits(), axis=0)
    spend = total(here.bits(), mine.spend) + total(there.bits(), yours.spend)
    good = sound(mine, yours)
    shown = good & (number >= smallest)
    return good, cn.where(shown, number, 0), cn.where(shown, spend, 0)


@cn.program
def shared_by_quarter(
    mine: Garbler[Array[Quarters, "n"]],
    yours: Evaluator[Array[Quarters, "n"]],
    *,
    n: int = 4096,
    smallest: int = 10,
) -> tuple[Both[Bit], Both[Array[UInt["n.bit_length()"], 6]], Both[Array[Total, 6]]]:
    """For each quarter how many customers bought on both sides, and what they spent in it; zeros for less than ``smallest`` customers."""
    return by_quarter(mine, yours, smallest)


@cn.program
def shared_groups(
    mine: Garbler[Array[Quarters, "n"]],
    least: Garbler[UInt["n.bit_length()"]],
    yours: Evaluator[Array[Quarters, "n"]],
    your_least: Evaluator[UInt["n.bit_length()"]],
    *,
    n: int = 4096,
) -> tuple[Both[Bit], Both[Array[UInt["n.bit_length()"], 6]], Both[Array[Total, 6]]]:
    """As ``shared_by_quarter``, with zeros for less customers than either side asks for: each says so itself, and trusts nobody with it."""
    return by_quarter(mine, yours, cn.max(least, your_least))


@cn.program
def top_shared(
    mine: Garbler[Array[Account, "n"]],
    yours: Evaluator[Array[Account, "n"]],
    *,
    n: int = 4096,
    best: int = 10,
) -> tuple[Garbler[Bit], Garbler[Array[Customer, "best"]]]:
    """The shared customers who spent most at both together, for the garbler alone; 0 where fewer are shared."""
    customers, [spends], _ = merge(both_ways(mine.customer, yours.customer), both_ways(mine.spend, yours.spend))
    same = customers[:-1] == customers[1:]
    together = UInt[22](spends[:-1]) + UInt[22](spends[1:])
    # The number of a customer is the lower part of the key, so that no two keys are equal.
    ranked = cn.where(same, cn.join_words(customers[1:], together), 0)
    found = Customer(cn.top(best, ranked) % 2**Customer.width)
    good = sound(mine, yours)
    return good, cn.where(good, found, 0)


@cn.program
def median_spend(
    mine: Garbler[Array[Spend, "n"]],
    yours: Evaluator[Array[Spend, "n"]],
    *,
    n: int = 4096,
) -> Both[Spend]:
    """The lower median of all spends, bit by bit from the highest. Each bit is revealed and decides which rows the next step looks at."""
    spends = cn.concatenate([mine, yours])
    alive = cn.Bit([True] * (2 * n))
    rank = cn.UInt[(2 * n).bit_length()]((2 * n - 1) // 2)
    bits = []
    for place in reversed(range(Spend.width)):
        below = alive & ~spends.bit(place)
        count = cn.sum(below)
        is_one = cn.reveal(count <= rank)
        if is_one:
            alive = alive ^ below
            rank = rank - count
        else:
            alive = below
        bits.append(is_one)
    return cn.from_bits(cn.stack(bits[::-1]))
