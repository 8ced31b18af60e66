"""Words as the native module takes and gives them: whole bytes each, least significant first."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

#: Type codes of ``array`` by size in bytes.
_CODES = {array(code).itemsize: code for code in "BHILQ"}


def pack(numbers: Sequence[int], width: int) -> bytes:
    """Numbers, cut to words of ``width`` bits."""
    size, mask = (width + 7) // 8, (1 << width) - 1
    masked = [number & mask for number in numbers]
    if size == 1:
        return bytes(masked)
    if size in _CODES and sys.byteorder == "little":
        return array(_CODES[size], masked).tobytes()
    return b"".join([number.to_bytes(size, "little") for number in masked])


def unpack(data: bytes, width: int, signed: bool = False) -> list[int]:
    """The numbers in packed words."""
    size = (width + 7) // 8
    if size in _CODES and sys.byteorder == "little":
        words = array(_CODES[size])
        words.frombytes(data)
        found = words.tolist()
    else:
        found = [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    if not signed:
        return found
    return [word - (1 << width) if word >> (width - 1) else word for word in found]
