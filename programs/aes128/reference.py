"""What the program computes, in ordinary Python, with an S-box from its definition: inversion and an affine map."""


def times(x, y):
    """The product in GF(2^8)."""
    result = 0
    while y:
        if y & 1:
            result ^= x
        x = (x << 1) ^ (0x11B if x & 0x80 else 0)
        y >>= 1
    return result


def substitute(byte):
    inverse = next((x for x in range(256) if times(byte, x) == 1), 0)
    result = 0x63
    for places in range(5):
        result ^= (inverse * 0x101 >> (8 - places)) & 0xFF
    return result


SBOX = [substitute(byte) for byte in range(256)]


def round_keys(key):
    words = [key[4 * k : 4 * k + 4] for k in range(4)]
    constant = 1
    for k in range(4, 44):
        word = words[-1]
        if k % 4 == 0:
            word = [SBOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times(constant, 2)
        words.append([x ^ y for x, y in zip(words[k - 4], word)])
    return [[byte for word in words[k : k + 4] for byte in word] for k in range(0, 44, 4)]


def aes128(key, other_key, block):
    first, *keys = round_keys([x ^ y for x, y in zip(key, other_key)])
    state = [x ^ y for x, y in zip(block, first)]
    for number, key in enumerate(keys, 1):
        state = [SBOX[byte] for byte in state]
        state = [state[(i + 4 * (i % 4)) % 16] for i in range(16)]
        if number < 10:
            state = mix(state)
        state = [x ^ y for x, y in zip(state, key)]
    return state


def mix(state):
    result = []
    for column in range(0, 16, 4):
        a = state[column : column + 4]
        result += [times(a[r], 2) ^ times(a[(r + 1) % 4], 3) ^ a[(r + 2) % 4] ^ a[(r + 3) % 4] for r in range(4)]
    return result


#: FIPS 197, appendix C.1: key, block, ciphertext.
FIPS_197 = [
    list(bytes.fromhex(text))
    for text in (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    )
]


def cases():
    def case(kind, key, other_key, block):
        return "aes128", kind, {}, [key, other_key, block], aes128(key, other_key, block)

    key, block, _ = FIPS_197
    share = list(bytes.fromhex("123456789abcdef00fedcba987654321"))
    yield case("typical", share, [x ^ y for x, y in zip(share, key)], block)
    yield case("smallest", [0] * 16, [0] * 16, [0] * 16)
    yield case("boundary", [255] * 16, [0] * 16, [255] * 16)
