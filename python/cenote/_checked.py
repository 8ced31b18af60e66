"""Blocks that report overflow."""

from __future__ import annotations

import contextlib

from . import _words as words


class Restart(Exception):
    """The program needs an overflow bit, which was not known when writing it began."""


class checked(contextlib.ContextDecorator):
    """``with cn.checked():`` or ``@cn.checked()``: what is inside reports overflow.

    The program then has an output bit ``overflow``, which is set if any number inside did not fit its type, any was divided by
    zero, or any secret index was beyond the end. Both parties learn it, or the party that ``to`` of the program names.
    """

    def __enter__(self) -> None:
        target = words.current()
        if not target.watches:
            raise Restart
        target.checked += 1

    def __exit__(self, *_: object) -> None:
        words.current().checked -= 1
