"""AES-128 under a key that neither side knows: each brings a share, and the key is their XOR."""

import cenote as cn
from cenote import Array, Both, Evaluator, Garbler, UInt

from .sbox import sbox

Byte = UInt[8]


def sub_bytes(state):
    """The S-box on every byte."""
    bits = sbox(*(state.bit(7 - place) for place in range(8)))
    return cn.from_bits(cn.stack(bits[::-1], axis=-1))


def shift_rows(state):
    """Row r is turned to the left by r columns; ``state[c]`` is a column of four bytes."""
    return cn.stack([cn.stack([state[(c + r) % 4, r] for r in range(4)]) for c in range(4)])


def double(x):
    """Times x in GF(2^8), that is modulo x^8 + x^4 + x^3 + x + 1."""
    return (x << 1) ^ cn.where(x.bit(7), UInt[8](0x1B), 0)


def mix_columns(state):
    """Each byte becomes 2 a + 3 b + c + d, where b, c and d are those below it in its column."""
    a, b, c, d = (state[:, [(row + turn) % 4 for row in range(4)]] for turn in range(4))
    return double(a ^ b) ^ b ^ c ^ d


def next_key(key, substituted, constant):
    """The next round key from the last one and its last word, turned and substituted."""
    words = []
    word = substituted ^ constant
    for column in range(4):
        word = word ^ key[column]
        words.append(word)
    return cn.stack(words)


def substitute(state, key):
    """The S-boxes of a round, 16 in the state and 4 in the key schedule, at once."""
    turned = key[3, [1, 2, 3, 0]]
    after = sub_bytes(cn.concatenate([state.reshape(16), turned]))
    return after[:16].reshape(4, 4), after[16:]


@cn.program
def aes128(
    key: Garbler[Array[UInt[8], 16]],
    other_key: Evaluator[Array[UInt[8], 16]],
    block: Garbler[Array[UInt[8], 16]],
) -> Both[Array[UInt[8], 16]]:
    """Encrypts a block of the garbler as FIPS 197 says, with 200 S-boxes of 32 ANDs each."""
    round_key = (key ^ other_key).reshape(4, 4)
    state = block.reshape(4, 4) ^ round_key
    constants = cn.UInt[8]([[x, 0, 0, 0] for x in (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36)])
    for number in cn.range(9):
        state, word = substitute(state, round_key)
        round_key = next_key(round_key, word, constants[number])
        state = mix_columns(shift_rows(state)) ^ round_key
    state, word = substitute(state, round_key)
    round_key = next_key(round_key, word, constants[9])
    return (shift_rows(state) ^ round_key).reshape(16)
