"""What the program computes, with Python's own binary search."""

import bisect


def binary_search(ranges, addresses):
    """``ranges`` are columns, as tables are in vectors."""
    places = [bisect.bisect_right(ranges["start"], address) for address in addresses]
    return [[place > 0 for place in places], [ranges["kind"][place - 1] if place else 0 for place in places]]


def columns(ranges):
    """Ranges, (start, kind), as a table."""
    return {"start": [start for start, _ in ranges], "kind": [kind for _, kind in ranges]}


def cases():
    def case(kind, ranges, addresses):
        parameters = {"depth": len(ranges).bit_length() - 1, "q": len(addresses)}
        return "binary_search", kind, parameters, [columns(ranges), addresses], binary_search(columns(ranges), addresses)

    yield case("smallest", [(5, 1), (9, 2)], [4])
    yield case("smallest", [(5, 1), (9, 2)], [9])
    ranges = [(0, 7), (167772160, 1), (184549376, 7), (2130706432, 2), (2147483648, 7), (2886729728, 1), (2887778304, 7), (3758096384, 3)]
    yield case("typical", ranges, [167772161, 2130706433, 134744072, 3232235521])
    # Each beginning, and the address before it.
    yield case("boundary", ranges, [start - before for start, _ in ranges for before in (0, 1) if start >= before])
    # None begins there or before; the last address of all; all begin in the same place, where the last one counts.
    yield case("boundary", [(100, 1), (200, 2), (300, 3), (400, 4)], [0, 99, 100, 2**32 - 1])
    yield case("boundary", [(2**32 - 1, kind) for kind in range(4)], [2**32 - 1, 2**32 - 2])
    # More addresses than ranges.
    yield case("boundary", [(10, 255), (20, 0)], list(range(5, 25)))
