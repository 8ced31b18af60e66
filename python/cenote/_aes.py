"""AES-128 (FIPS 197) under a secret key: the function that places the keys of maps.

The S-box inverts in the field of nimbers below 256 (J. H. Conway, On Numbers and Games, chapter 6), a tower of quadratic extensions,
which takes 36 ANDs; the way there and back is linear, and so is the rest of the cipher.
"""

from __future__ import annotations

import functools
from typing import Any

from . import _control as control
from . import _words as words
from ._arrays import stack
from ._ops import from_bits, where, zeros
from ._types import UInt
from ._values import Secret

#: Bits of an element, each a secret Bit or array of them, or 0 or 1; lowest first.
Bits = list[Any]

_BYTE = UInt[8]
_ROUNDS = 10


def round_keys(key: Secret) -> Secret:
    """The keys of all rounds, as an array of bytes, from one of 128 bits whose lowest byte comes first."""
    keys: Secret = zeros(_BYTE, (_ROUNDS + 1, 4, 4))
    keys[0] = _bytes(key).reshape(4, 4)
    constants = _BYTE([[x, 0, 0, 0] for x in (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36)])

    def body(i: Any) -> None:
        last = keys[i].copy()
        word, made = _substituted(last[3, [1, 2, 3, 0]]) ^ constants[i], []
        for column in range(4):
            word = word ^ last[column]
            made.append(word)
        keys[i + 1] = stack(made)

    control.loop(control.range(_ROUNDS), body)
    return keys


def mac(keys: Secret, message: Secret) -> Secret:
    """The CBC-MAC of a word, as 16 bytes: a pseudorandom function on messages of one width (Bellare, Kilian, Rogaway 2000)."""
    blocks = -(-message.elem.width // 128)
    padded = _bytes(Secret(UInt[128], (), words.extend(message.w, 128 * blocks, False)))
    state = _encrypted(keys, padded[:16].reshape(4, 4))
    for at in range(16, 16 * blocks, 16):
        state = _encrypted(keys, state ^ padded[at : at + 16].reshape(4, 4))
    return state.reshape(16)


def _bytes(word: Secret) -> Secret:
    count = word.w.width // 8
    return Secret(_BYTE, (count,), words.reshape(word.w, count, 8))


def _encrypted(keys: Secret, block: Secret) -> Secret:
    """A block, whose columns are rows here."""

    def one(state: Secret, key: Secret) -> Secret:
        after = _shifted(_substituted(state))
        a, b, c, d = (after[:, [(row + turn) % 4 for row in range(4)]] for turn in range(4))
        twice = a ^ b
        twice = (twice << 1) ^ where(twice.bit(7), _BYTE(0x1B), 0)
        made: Secret = twice ^ b ^ c ^ d ^ key
        return made

    state = control.fold(one, keys[1:_ROUNDS], block ^ keys[0])
    made: Secret = _shifted(_substituted(state)) ^ keys[_ROUNDS]
    return made


def _shifted(state: Secret) -> Secret:
    """Row r turned to the left by r columns."""
    return state.reshape(16)[[4 * ((c + r) % 4) + r for c in range(4) for r in range(4)]].reshape(4, 4)


def _substituted(state: Secret) -> Secret:
    """The S-box on every byte."""
    there, back = _bases()
    inverse = _inverse(_linear(there, [state.bit(k) for k in range(8)]))
    bits = _linear(back, inverse)
    return from_bits(stack([~bit if 0x63 >> k & 1 else bit for k, bit in enumerate(bits)], axis=-1))


# ---- nimbers ------------------------------------------------------------------------------------------------------------------------


def _plus(x: Bits, y: Bits) -> Bits:
    return [a ^ b for a, b in zip(x, y)]


def _times(x: Bits, y: Bits) -> Bits:
    """The product: with halves over the field below, whose highest bit is t, the new element Y has Y^2 = Y + t."""
    if len(x) == 1:
        return [x[0] & y[0]]
    half = len(x) // 2
    low = _times(x[:half], y[:half])
    high = _times(x[half:], y[half:])
    both = _times(_plus(x[:half], x[half:]), _plus(y[:half], y[half:]))
    return _plus(low, _top(high)) + _plus(both, low)


def _top(x: Bits) -> Bits:
    """The product with the element whose highest bit alone is set."""
    if len(x) == 1:
        return x
    half = len(x) // 2
    return _top(_top(x[half:])) + _top(_plus(x[:half], x[half:]))


def _square(x: Bits) -> Bits:
    if len(x) == 1:
        return x
    half = len(x) // 2
    high = _square(x[half:])
    return _plus(_square(x[:half]), _top(high)) + high


def _inverse(x: Bits) -> Bits:
    """The inverse; of 0 it is 0. In the field of four elements it is the square."""
    if len(x) == 2:
        return _square(x)
    half = len(x) // 2
    low, high = x[:half], x[half:]
    conjugate = _plus(low, high)
    norm = _inverse(_plus(_times(low, conjugate), _top(_square(high))))
    return _times(conjugate, norm) + _times(high, norm)


def _linear(columns: list[int], x: Bits) -> Bits:
    """The sum of those columns whose bits are set; each column is some output bits."""
    made = []
    for k in range(8):
        parts = [bit for column, bit in zip(columns, x) if column >> k & 1]
        made.append(functools.reduce(lambda a, b: a ^ b, parts))
    return made


def _found_bases() -> tuple[list[int], list[int]]:
    """The columns of the map from the field of AES to nimbers, and of the map back with the linear part of the S-box behind it."""

    def product(x: int, y: int) -> int:
        return _number(_times([x >> k & 1 for k in range(8)], [y >> k & 1 for k in range(8)]))

    def powers(root: int) -> list[int]:
        found = [1]
        for _ in range(8):
            found.append(product(found[-1], root))
        return found

    def image(columns: list[int], x: int) -> int:
        return functools.reduce(lambda a, b: a ^ b, (column for k, column in enumerate(columns) if x >> k & 1), 0)

    # A root of x^8 + x^4 + x^3 + x + 1.
    there = next(p[:8] for p in map(powers, range(2, 256)) if not p[8] ^ p[4] ^ p[3] ^ p[1] ^ p[0])
    back = {image(there, x): x for x in range(256)}
    affine = [functools.reduce(lambda a, b: a ^ b, (1 << (k + turn) % 8 for turn in range(5))) for k in range(8)]
    return there, [image(affine, back[1 << k]) for k in range(8)]


#: They are found once.
_bases = functools.cache(_found_bases)


def _number(x: Bits) -> int:
    return sum(bit << k for k, bit in enumerate(x))
