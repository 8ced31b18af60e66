"""The vector of FIPS 197, appendix C.1, with its key dealt in two shares."""

from ..common import Example
from .program import aes128
from .reference import FIPS_197


def examples():
    key, block, ciphertext = FIPS_197
    share = list(bytes.fromhex("123456789abcdef00fedcba987654321"))
    other = [x ^ y for x, y in zip(share, key)]
    yield Example(aes128, [share, other, block], ciphertext, report)


def report(result):
    yield f"ciphertext {bytes(result).hex()}"
