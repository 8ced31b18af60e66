"""The interface of the POOL paper (Zhu, Huang, Cassel: "POOL: Scalable On-Demand Secure Computation Service Against Malicious
Adversaries", CCS 2017, figure 3).

A program is a function of a :class:`Party` that handles wires, one bit each. Both parties run it alike. What each passes to
``garblerIn`` or ``evaluatorIn`` in its own ``main`` is given by name here, when the program runs::

    @paper.program
    def select(party):
        x, y, c = party.garbler_in("x", 8), party.evaluator_in("y", 8), party.garbler_in("c", 1)
        party.evaluator_out("z", party.exec(mux8, [*x, *y, *c]))

    select.run_local(x=bits_of_x, y=bits_of_y, c=[True]).b

``select`` is what :func:`cenote.program` makes, with everything that this has. Words, arrays and loops of this package work on
wires, which are values of the type ``cn.Bit``. The ``exec`` of a circuit file is :func:`cenote.load`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from . import _words as words
from ._errors import compile_error
from ._ops import from_bits, lookup, stack, store, zeros
from ._program import ProgramFunction, inline
from ._types import A, Array, B, Bit, PartyMarker, Ported
from ._values import Secret

#: Wires of one bit each.
Wires = list[Secret]


class Party:
    """The class ``Party`` of figure 3. Its ``and`` and ``xor`` are also ``&`` and ``^`` between wires."""

    def __init__(self, given: dict[str, Secret] | None) -> None:
        """``given`` is what the inputs hold; ``None`` to learn which there are."""
        self._given = given
        self._inputs: dict[str, Ported] = {}
        self._outputs: dict[str, tuple[Ported, Secret]] = {}

    def garbler_in(self, name: str, length: int) -> Wires:
        """``garblerIn``: so many input bits of the garbler, who is ``cn.A``."""
        return self._input(name, length, A)

    def evaluator_in(self, name: str, length: int) -> Wires:
        """``evaluatorIn``: so many input bits of the evaluator, who is ``cn.B``."""
        return self._input(name, length, B)

    def garbler_out(self, name: str, wires: Sequence[Secret]) -> None:
        """``garblerOut``, for several wires: the garbler learns them."""
        self._output(name, wires, A)

    def evaluator_out(self, name: str, wires: Sequence[Secret]) -> None:
        """``evaluatorOut``, for several wires: the evaluator learns them."""
        self._output(name, wires, B)

    def and_(self, left: Secret, right: Secret) -> Secret:
        """``and``, the gate that costs."""
        return left & right

    def xor(self, left: Secret, right: Secret) -> Secret:
        """``xor``, which costs nothing."""
        return left ^ right

    def init_ram(self, blocks: int, size: int) -> Secret:
        """``initRAM``: a memory of so many blocks with ``size`` bits each, all zero."""
        memory: Secret = zeros(Bit, (blocks, size))
        return memory

    def access_ram(self, memory: Secret, write: Secret, index: Sequence[Secret], data: Sequence[Secret]) -> Wires:
        """``accessRAM``: the bits of a block, before ``data`` takes their place where the wire ``write`` is set.

        The least significant bit of ``index`` comes first. Beyond the end zeros are read, and nothing is written.
        """
        place = from_bits(stack(index))
        block: Secret = lookup(memory, place)
        memory.assign(store(memory, place, stack(data), write))
        return list(block)

    def exec(self, function: Callable[[Wires], Wires], wires: Sequence[Secret]) -> Wires:
        """``exec``: a function on wires, such as one of ``&`` and ``^`` alone."""
        return function(list(wires))

    def _input(self, name: str, length: int, owner: PartyMarker) -> Wires:
        if name in self._inputs:
            raise compile_error(f"there is an input `{name}` already")
        self._inputs[name] = owner[Array[Bit, length]]
        if self._given is not None:
            return list(self._given[name])
        scope = words.current().scope
        return [Secret(Bit, (), words.W(None, 1, 1, scope)) for _ in range(length)]

    def _output(self, name: str, wires: Sequence[Secret], receiver: PartyMarker) -> None:
        if name in self._outputs:
            raise compile_error(f"there is an output `{name}` already")
        self._outputs[name] = receiver[Array[Bit, len(wires)]], stack(wires)


def program(function: Callable[[Party], None]) -> ProgramFunction:
    """Makes a function of a :class:`Party` a program, whose inputs and outputs are lists of bits under the names that it gives them."""
    body = inline(function)
    ports = Party(None)
    with words.tracing(words.Rehearsal(words.Target(f"program {function.__name__}"))):
        body(ports)

    def written(**given: Secret) -> dict[str, Secret]:
        party = Party(given)
        body(party)
        return {name: wires for name, (_, wires) in party._outputs.items()}

    written.__name__, written.__doc__, written.__module__ = function.__name__, function.__doc__, function.__module__
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=of) for name, of in ports._inputs.items()]
    outputs = {name: of for name, (of, _) in ports._outputs.items()}
    written.__signature__ = inspect.Signature(parameters, return_annotation=outputs)  # type: ignore[attr-defined]
    return ProgramFunction(written, "both", False, {})
