"""Decorated functions, and the programs that they become."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

from . import _bind, _memory, _native, _outputs, _rewrite, _run
from . import _words as words
from ._calls import call
from ._checked import Restart
from ._clear import Clear, Overflow
from ._errors import (
    CompileError,
    Error,
    InputError,
    InternalError,
    LimitError,
    OverflowWarning,
    compile_error,
    located,
    of_fault,
    plain_name,
    raised,
    warn,
)
from ._outputs import Outputs
from ._packing import pack
from ._recorder import Recorder
from ._records import build, dotted, grouped, leaves, places, type_at
from ._types import Both, Deferred, Lasting, MapType, Ported, RamType, is_type, lanes_of, party_of, port_type, resolve, type_name
from ._values import Secret
from ._words import Target, W

_T = TypeVar("_T")

#: Statements that Python may go through beside a secure run that nobody told about it.
_SHORT = dict.fromkeys(("ands", "bytes", "seconds", "memory", "live_bits", "moved_bits"), math.inf) | {"statements": 1e4}
#: Threads that a party may have.
_MOST_THREADS = 64
#: Lines that a warning of overflow names.
_FEW_OVERFLOWS = 5


#: How often a function is written again to find out whether it gives another program each time.
_AGAIN = 16


class Program:
    """A compiled program: what both owners read, hash, approve, price and run."""

    def __init__(
        self,
        native: _native.Program,
        inputs: dict[str, Ported],
        outputs: Outputs,
        source: Callable[[Target, list[list[list[int]]], _memory.Found], tuple[Any, _memory.Found]] | None,
        again: Callable[[], None] | None = None,
        memories: dict[str, Lasting] | None = None,
    ) -> None:
        self._native, self._inputs, self._outputs, self._source, self._again = native, inputs, outputs, source, again
        self._memories = memories or {}

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._native.name

    @property
    def digest(self) -> str:
        """The hash of the program, in hexadecimal: its identity for both owners."""
        return self._native.digest

    @property
    def inputs(self) -> dict[str, Ported]:
        """Types and owners of the inputs."""
        return dict(self._inputs)

    @property
    def memories(self) -> dict[str, Lasting]:
        """Types of the memories that outlive a run, and whether a run begins them."""
        return dict(self._memories)

    @property
    def outputs(self) -> dict[str, tuple[str, str]]:
        """Receiver and type of each output port."""
        return self._outputs.described()

    def show(self) -> str:
        """The program as text; ``docs/formats/program.md`` explains it."""
        return self._native.to_text()

    def to_bytes(self) -> bytes:
        """The program in the binary form that :attr:`digest` is of."""
        return self._native.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the binary form, or the text where the name ends in ``.txt``."""
        if str(path).endswith(".txt"):
            Path(path).write_text(self.show(), encoding="utf-8")
        else:
            Path(path).write_bytes(self.to_bytes())

    def optimised(self, *, depth: bool = False) -> Program:
        """A program of the same function with no more ANDs: another one, with a digest of its own, that both owners must have.

        ``depth=True`` balances for fewer ANDs one after the other, where that takes no more of them.
        """
        native = self._native.optimised(depth)
        return Program(native, self._inputs, self._outputs, self._source, self._again, self._memories)

    def cost(self) -> dict[str, Any]:
        """What the program costs on any backend: gates, depth, bits in and out, how its tables are kept. Loops are counted, not run."""
        try:
            return self._native.stats()
        except ValueError as error:
            raise CompileError(str(error)) from None

    def price(
        self,
        backend: str = "wrk",
        *,
        pool: int | None = None,
        rho: int | None = None,
        muxcore: bool | None = None,
        rtt_ms: float = 0.0,
        mbit: float | None = None,
        machine: str | os.PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """What a session that runs the program once will take: bytes each way, rounds, memory and seconds.

        Bytes follow from the formulas that the tests of the protocols assert, seconds from what a machine was measured to do, on a
        line of this round trip and rate: the machine of the file ``machine`` that ``cenote program calibrate --output`` wrote, else
        this one if that command ran on it, else a typical server. ``machine`` of the result is the file, or ``None``.
        """
        if not 0 <= rtt_ms < math.inf:
            raise InputError(f"rtt_ms={rtt_ms!r}: a round-trip time is a number of milliseconds, 0 or more")
        if mbit is not None and not 0 < mbit < math.inf:
            raise InputError(f"mbit={mbit!r}: a rate is a positive number of Mbit/s; None is a line without a limit")
        try:
            return _native.price(self._native, _configuration(backend, pool, rho, muxcore), rtt_ms, mbit, machine)
        except _native.Fault as fault:
            raise of_fault(*fault.args) from None

    def _check_limits(self, backend: str, limits: Mapping[str, float] | None) -> None:
        try:
            _native.check_limits(self._native, backend, dict(limits or {}))
        except _native.Fault as fault:
            raise of_fault(*fault.args) from None

    def _encoded(self, given: Mapping[str, Any]) -> list[list[list[int]]]:
        unknown = sorted(set(given) - set(self._inputs))
        held = [name for name in unknown if name in self._memories]
        if held:
            raise InputError(f"{held[0]} is a memory of {self.name}, not an input: simulate(.., memories={{{held[0]!r}: ..}}) takes that")
        if unknown:
            takes = f"it takes {', '.join(self._inputs)}" if self._inputs else "it takes none"
            raise InputError(f"{self.name} has no input {', '.join(unknown)}; {takes}")
        missing = [name for name in self._inputs if name not in given]
        if missing:
            raise InputError(f"{self.name} lacks input {', '.join(missing)}")
        return [_bind.encode(given[name], ported.type, name) for name, ported in self._inputs.items()]

    def _packed(self, encoded: list[list[list[int]]], role: str | None = None) -> list[bytes]:
        packed = []
        for ported, parts in zip(self._inputs.values(), encoded):
            if role is None or ported.party == role:
                for (_, elem, _), numbers in zip(leaves(ported.type), parts):
                    packed.append(pack(numbers, elem.width))
        return packed

    def simulate(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        memories: MutableMapping[str, Any] | None = None,
        overflow: bool = True,
        limits: Mapping[str, float] | None = None,
        **more: Any,
    ) -> _run.Run:
        """Runs the compiled program in the clear, in this process.

        ``memories`` has what earlier runs left, plain values by names, and then what this one leaves; without it a run finds zeros.

        Where the Python source is at hand it runs beside it on Python integers: the results must agree, and
        :attr:`Run.overflow` lists the lines whose numbers did not fit their type, of which :class:`OverflowWarning` warns.
        ``overflow=False`` leaves that out, which is faster.

        A program that is predicted to take more than this machine should give raises :class:`LimitError` before it runs: see
        :meth:`run_local` for ``limits``.
        """
        encoded = self._encoded({**(inputs or {}), **more})
        self._check_limits("plain", limits)
        begins = _memory.found(self._memories, memories)
        words, parts = self._native.evaluate(self._packed(encoded), _memory.packed_parts(self._memories, begins))
        found, left = self._outputs.unpacked(words), _memory.unpacked_parts(self._memories, parts)
        reference, overflows = self._in_the_clear(encoded, begins) if overflow else (None, None)
        if reference not in (None, (found, left)):
            if self._again is not None:
                self._again()
            raise InternalError(
                f"{self.name}: the compiled program and its Python source differ, {found, left} and {reference}; please report the source"
            )
        if memories is not None:
            _memory.remember(self._memories, left, memories)
        return _run.Run(self._outputs, found, found, found, overflow=overflows)

    def _is_short(self) -> bool:
        """Whether Python goes through the program in a second or two, whatever the rounds of its loops."""
        try:
            self._check_limits("plain", _SHORT)
        except LimitError:
            return False
        return True

    def _in_the_clear(self, encoded: list[list[list[int]]], found: _memory.Found) -> tuple[Any, list[Overflow] | None]:
        """What the Python source gives, if it is at hand, and where numbers did not fit their type; warns of that."""
        if self._source is None:
            return None, None
        target = Clear()
        reference = self._source(target, encoded, found)
        overflows = list(target.overflows.values())
        if overflows:
            shown = "".join(f"\n  {overflow}" for overflow in overflows[:_FEW_OVERFLOWS])
            more = f"\n  and {len(overflows) - _FEW_OVERFLOWS} lines more" if len(overflows) > _FEW_OVERFLOWS else ""
            warn(f"{self.name}: numbers did not fit their types:{shown}{more}", OverflowWarning)
        return reference, overflows

    def run_local(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        backend: str = "wrk",
        pool: int | None = None,
        rho: int | None = None,
        muxcore: bool | None = None,
        threads: int = 1,
        progress: _run.ProgressOption = None,
        timeout: float | None = None,
        overflow: bool | None = None,
        limits: Mapping[str, float] | None = None,
        **more: Any,
    ) -> _run.Run:
        """Runs both parties on this machine, as two processes that talk over a pair of sockets of their own.

        Each process gets the inputs of its own party alone. ``backend`` is ``"wrk"``, ``"jimu"``, ``"yao"`` or
        ``"plain"``, also with its options, as ``"wrk:pool=480000,rho=64"``. ``pool`` is the size of the pool that ``wrk``
        (without it: 480000 for a program of as many ANDs, else none)
        or ``jimu`` (10000) draws from; ``rho`` the statistical security in bits: 40, 64 or 80.
        ``muxcore=False`` leaves out the pools of wide cores that ``jimu`` fills for multiplexers, which take hundreds of
        megabytes: better for small programs. ``threads``, 1 to 64, are those that each party of ``wrk`` computes on.

        As all inputs are here, the Python source runs on them first, as :meth:`simulate` does it, and :class:`OverflowWarning` says
        where numbers do not fit. ``overflow=False`` leaves that out, as does a program with more than 10^4 statements to go through,
        which takes Python long: ``overflow=True`` insists.

        A program that is predicted to take more than a limit raises :class:`LimitError` before it runs. The limits are those of
        the command: ``ands``, ``bytes``, ``seconds``, ``memory``, ``live_bits``, ``statements``, ``moved_bits``; ``limits`` has
        others for some of them, and ``math.inf`` lifts one.
        """
        goes_on = next((name for name, lasting in self._memories.items() if not lasting.is_new), None)
        if goes_on is not None:
            raise InputError(
                f"{self.name} goes on with memory {goes_on}, and a run of its own finds none: use simulate(.., memories=held), or a service"
            )
        encoded = self._encoded({**(inputs or {}), **more})
        packed = {role: self._packed(encoded, role) for role in ("garbler", "evaluator")}
        configuration = _configuration(backend, pool, rho, muxcore)
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS:
            raise InputError(f"threads={threads!r}: a party has 1 to {_MOST_THREADS} threads")
        self._check_limits(configuration, limits)
        total = int(self.cost()["ands"])
        wanted = self._is_short() if overflow is None else overflow
        overflows = self._in_the_clear(encoded, _memory.found(self._memories, None))[1] if wanted else None
        reports = _run.pair(self._native.handed_over(), packed, configuration, threads, total, progress, timeout)
        views = [self._outputs.unpacked(reports[role]["outputs"]) for role in ("garbler", "evaluator")]
        for one, two in zip(*views):
            if one is not None and two is not None and one != two:
                raise InternalError("the two parties obtained different outputs")
        joined = [one if one is not None else two for one, two in zip(*views)]
        return _run.Run(self._outputs, joined, views[0], views[1], overflow=overflows, reports=reports)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {ported!r}" for name, ported in self._inputs.items())
        return f"<program {self.name}({inputs}) {self.digest[:16]}>"


def _configuration(backend: str, pool: int | None, rho: int | None, muxcore: bool | None) -> str:
    """The backend and its options as one text; an option that it does not have is refused by name."""
    if pool is not None and (isinstance(pool, bool) or not isinstance(pool, int) or pool < 1):
        raise InputError(f"pool={pool!r}: a pool has a positive whole number of items; None leaves it to the backend")
    given = {"pool": pool, "rho": rho, "muxcore": muxcore}
    options = [(name, str(value).lower()) for name, value in given.items() if value is not None]
    try:
        return _native.configuration(backend, options)
    except _native.Fault as fault:
        raise of_fault(*fault.args) from None


def load(path: str | os.PathLike[str]) -> Program:
    """A program from a file that :meth:`Program.save` wrote, in either form, or from a circuit file.

    Inputs take what those of the function take: arrays of their shapes, mappings, data frames. The result has the structure of
    the function's, with dictionaries for all that has names and tuples for lists. Ports of a circuit are words, the first the
    garbler's and so in turns where no ports file says whose they are; ``cenote program from-circuit`` has more to choose from.
    """
    data = Path(path).read_bytes()
    return _loaded(_read(data, path))


def read_program(data: bytes) -> Program:
    """:func:`load` of the bytes of a program, in either form."""
    return _loaded(_read(data, None))


def _read(data: bytes, path: str | os.PathLike[str] | None) -> _native.Program:
    where = "the bytes" if path is None else os.fspath(path)
    try:
        if data[:7] == b"\x89cenote":
            return _native.Program.from_bytes(data)
        if re.match(rb"(\s|#.*\n)*cenote\s", data) or path is None:
            return _native.Program.parse_text(data.decode("utf-8"))
        # The reader names the file.
        return _native.Program.read_circuit(path)
    except UnicodeDecodeError as error:
        raise CompileError(f"{where}: the text is not UTF-8: {error}") from None
    except ValueError as error:
        named = str(error).startswith(where)
        raise CompileError(str(error) if named else f"{where}:{error}") from None


def _loaded(native: _native.Program) -> Program:
    parts, owners = [], {}
    for steps, owner, kind, frac, width in native.inputs():
        parts.append((tuple((name, tuple(sizes)) for name, sizes in steps), port_type(kind, width, frac)))
        owners[steps[0][0]] = owner
    inputs = {name: Ported(owners[name], type_at(group)) for name, group in grouped(parts)}
    held, new = [], {}
    rams = {}
    for path, is_new, _, kind, frac, width, accesses in native.memories():
        elem = port_type(kind, width, frac)
        held.append((tuple((name, tuple(sizes)) for name, sizes in path), elem))
        new[path[0][0]] = is_new
        if accesses is not None and len(path) == 1:
            rams[path[0][0]] = RamType(elem, lanes_of(tuple(path[0][1])), accesses)
    memories = {name: Lasting(new[name], rams.get(name) or type_at(group)) for name, group in grouped(held)}
    return Program(native, inputs, Outputs.of_program(native), None, memories=memories)


class ProgramFunction:
    """A function decorated with :func:`program`.

    Called with plain values it runs in the clear, with Python integers. Called with secrets, inside another program, it
    becomes part of that.
    """

    def __init__(self, function: Callable[..., Any], to: str, is_checked: bool, around: Mapping[str, Any]) -> None:
        self._function, self._to, self._checked, self._around = function, to, is_checked, around
        self._rewritten: Callable[..., Any] | None = None
        self._programs: dict[Any, Program] = {}
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function
        self.__module__ = function.__module__
        self._signature = inspect.signature(function)

    def _body(self) -> Callable[..., Any]:
        if self._rewritten is None:
            self._rewritten = _rewrite.rewrite(self._function)
        return self._rewritten

    def _evaluated(self, annotation: Any, statics: Mapping[str, Any]) -> Any:
        if not isinstance(annotation, str):
            return resolve(annotation, dict(statics))
        names = {**self._function.__globals__, **inspect.getclosurevars(self._function).nonlocals, **self._around, **statics}
        try:
            return resolve(eval(annotation, names), dict(statics))
        except Error:
            raise
        except Exception as error:
            raise CompileError(f"{self.__name__}: the annotation {annotation!r} cannot be read: {error}") from None

    def _split(self, given: Mapping[str, Any]) -> tuple[dict[str, Ported], dict[str, Lasting], dict[str, Any]]:
        """Secret parameters with their types, memories with theirs, and the values of the others."""
        parameters = self._signature.parameters
        secret_names = [name for name, p in parameters.items() if _looks_secret(p.annotation)]
        statics = {}
        for name, parameter in parameters.items():
            if name in secret_names:
                continue
            if name in given:
                statics[name] = given[name]
            elif parameter.default is not inspect.Parameter.empty:
                statics[name] = parameter.default
            else:
                if is_type(parameter.annotation):
                    shown = type_name(parameter.annotation)
                    raise CompileError(f"{self.__name__}: `{name}` belongs to nobody: write {name}: cn.A[{shown}] or {name}: cn.B[{shown}]")
                raise CompileError(
                    f"{self.__name__}: `{name}` has no secret type, so its value is fixed when the program is compiled: "
                    f"{self.__name__}.compile({name}=..). For an input annotate it, as in {name}: cn.A[cn.UInt[32]]"
                )
        inputs, memories = {}, {}
        for name in secret_names:
            ported = self._evaluated(parameters[name].annotation, statics)
            if isinstance(ported, Lasting) and (is_type(ported.type) or isinstance(ported.type, (MapType, RamType))):
                memories[name] = ported
                continue
            if not isinstance(ported, Ported) or not is_type(ported.type):
                raise CompileError(f"{self.__name__}: `{name}` has the type {ported!r}: write cn.A[..] or cn.B[..] around a secret type")
            if ported.party == "both":
                raise CompileError(f"{self.__name__}: input `{name}` belongs to one party: write cn.A[..] or cn.B[..]")
            inputs[name] = ported
        return inputs, memories, statics

    def compile(self, **statics: Any) -> Program:
        """The program for these values of the parameters that are not secret."""
        parameters = self._signature.parameters
        unknown = sorted(set(statics) - set(parameters))
        if unknown:
            raise compile_error(f"{self.__name__} has no parameter {', '.join(unknown)}; it has {', '.join(parameters) or 'none'}")
        secret = next((name for name in statics if _looks_secret(parameters[name].annotation)), None)
        if secret is not None:
            raise compile_error(
                f"{self.__name__}: `{secret}` is an input, given when the program runs, as in prog.run_local({secret}=..); compile(..) is "
                "for parameters without an owner"
            )
        inputs, memories, values = self._split(statics)
        try:
            key = tuple(sorted(values.items()))
            known = self._programs.get(key)
        except TypeError:
            key, known = None, None
        if known is not None:
            return known
        made = self._compiled(inputs, memories, values)
        if key is not None:
            self._programs[key] = made
        return made

    def _compiled(self, inputs: dict[str, Ported], memories: dict[str, Lasting], statics: dict[str, Any]) -> Program:
        def write() -> tuple[_native.Program, Outputs]:
            return self._watching(lambda watches: self._written(inputs, memories, statics, watches))

        def source(target: Target, encoded: list[list[list[int]]], found: _memory.Found) -> tuple[Any, _memory.Found]:
            given = {name: (lasting, found[name]) for name, lasting in memories.items()}
            return self._watching(lambda watches: self._cleared(target, inputs, given, statics, encoded, watches))[1:]

        def again() -> None:
            # A coin may fall alike twice.
            if any(write()[0].digest != native.digest for _ in range(_AGAIN)):
                raise self._here(
                    f"{self.__name__} gives another program each time that it runs: what depends on random numbers, the time or on earlier "
                    "runs has to be a parameter, as in n: int and compile(n=..)"
                )

        native, outputs = write()
        return Program(native, inputs, outputs, source, again, memories)

    def _watching(self, run: Callable[[bool], _T]) -> _T:
        """Runs the function, and once more if the program turns out to need an overflow bit."""
        try:
            return run(self._checked)
        except Restart:
            return run(True)

    def _written(
        self, inputs: dict[str, Ported], memories: dict[str, Lasting], statics: dict[str, Any], watches: bool
    ) -> tuple[_native.Program, Outputs]:
        about = " ".join((inspect.getdoc(self._function) or "").strip().split("\n")[0].split())
        builder = _native.Builder(plain_name(self.__name__), about[:1000])
        target = Recorder(builder, f"program {self.__name__}")
        target.watches, target.checked = watches, int(self._checked)
        with words.tracing(target):
            args: dict[str, Any] = dict(statics)
            try:
                for name, ported in inputs.items():
                    secrets = []
                    for path, elem, shape in places(ported.type, name):
                        try:
                            ref = builder.input(path, ported.party, elem.kind, elem.frac, elem.width)
                        except _native.BuildError as refusal:
                            raise self._refused_input(name, dotted(path), refusal) from None
                        w = target.input(W(ref, lanes_of(shape), elem.width, target.scope), ported.party)
                        secrets.append(Secret(elem, shape, w))
                    args[name] = build(ported.type, iter(secrets))
                held = {}
                for name, lasting in memories.items():
                    refs = []
                    for path, elem, shape, accesses in _memory.parts(lasting.type, name):
                        ref = builder.memory(path, lasting.is_new, elem.kind, elem.frac, elem.width, accesses)
                        refs.append(W(ref, lanes_of(shape), elem.width, target.scope))
                    args[name] = held[name] = _memory.begin(name, lasting, iter(refs))
                outputs = self._finished(self._called(args), statics, target, held)
                for memory in held.values():
                    for part, _, w in memory.left():
                        builder.leave(part, w.ref)
                for path, elem, receiver, w in outputs.ports():
                    builder.output(path, receiver, elem.kind, elem.frac, w.ref)
                native = builder.finish()
            except _native.BuildError as refusal:
                raise CompileError(f"{self.__name__}: {refusal}") from None
            finally:
                words.close(target)
        return native, outputs

    def _refused_input(self, name: str, port: str, refusal: Exception) -> CompileError:
        """What is wrong with the type of a parameter, and where that stands."""
        code = self._function.__code__
        try:
            lines, first = inspect.getsourcelines(code)
        except OSError:
            lines, first = [], code.co_firstlineno
        line = next((k for k, text in enumerate(lines) if re.search(rf"\b{name}\s*:", text)), 0)
        problem = (
            f"{self.__name__}: input `{port}`: {refusal}; a value has at least one item and at most 2^26 bits: split it into several inputs"
        )
        return CompileError(located(problem, code.co_filename, first + line))

    def _here(self, message: str) -> CompileError:
        """An error with the place of the function, if it has none."""
        code = self._function.__code__
        return CompileError(message if "\n  at " in message else located(message, code.co_filename, code.co_firstlineno))

    def _called(self, args: Mapping[str, Any]) -> Any:
        positional, named = [], {}
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(args[name])
            else:
                named[name] = args[name]
        try:
            return self._body()(*positional, **named)
        except (RecursionError, NameError) as error:
            raise raised(error) from None

    def _finished(self, result: Any, statics: Mapping[str, Any], target: Target, held: Mapping[str, Any]) -> Outputs:
        annotation = self._signature.return_annotation
        spec = None if annotation is inspect.Signature.empty else self._evaluated(annotation, statics)
        try:
            nothing = result is None and spec is None and held
            outputs = Outputs({}, []) if nothing else _outputs.collect(result, spec, statics, self._to, self.__name__)
        except CompileError as error:
            raise self._here(str(error)) from None
        for path, _, _, w in outputs.ports():
            if w.scope.why_not:
                raise self._here(f"{self.__name__}: output {dotted(path)} cannot be used: {w.scope.why_not}")
        if target.watches:
            bit = target.overflow if target.overflow is not None else words.constant([0], 1)
            outputs.watch(bit)
        return outputs

    def _cleared(
        self,
        target: Target,
        inputs: dict[str, Ported],
        memories: dict[str, tuple[Lasting, list[list[int]]]],
        statics: dict[str, Any],
        encoded: list[list[list[int]]],
        watches: bool,
    ) -> tuple[Outputs, Any, _memory.Found]:
        target.watches, target.checked = watches, int(self._checked)
        with words.tracing(target):
            args: dict[str, Any] = dict(statics)
            for (name, ported), parts in zip(inputs.items(), encoded):
                given = zip(leaves(ported.type), parts)
                made = ((elem, shape, words.constant(numbers, elem.width)) for (_, elem, shape), numbers in given)
                constants = [Secret(elem, shape, target.input(w, ported.party)) for elem, shape, w in made]
                args[name] = build(ported.type, iter(constants))
            held = {}
            for name, (lasting, parts) in memories.items():
                numbered = zip(leaves(_memory.as_held(lasting.type)), parts)
                begins = (words.constant(numbers, elem.width) for (_, elem, _), numbers in numbered)
                args[name] = held[name] = _memory.begin(name, lasting, begins)
            outputs = self._finished(self._called(args), statics, target, held)
            values, left = outputs.clear_values(), _memory.clear_values(held)
            words.close(target)
        return outputs, values, left

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if words.active() is not None:
            return self._body()(*args, **kwargs)
        try:
            remembers = any(_looks_lasting(p.annotation) for p in self._signature.parameters.values())
            bind = self._signature.bind_partial if remembers else self._signature.bind
            bound = bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"{self.__name__}: {error}") from None
        inputs, memories, statics = self._split(bound.arguments)
        given_memory = next((name for name in memories if name in bound.arguments), None)
        if given_memory is not None:
            raise InputError(f"{self.__name__}: memory {given_memory} is not given: a call finds zeros; simulate takes memories=..")
        missing = [name for name in inputs if name not in bound.arguments]
        if missing:
            raise InputError(f"{self.__name__} lacks input {', '.join(missing)}")
        encoded = [_bind.encode(bound.arguments[name], ported.type, name) for name, ported in inputs.items()]
        found = _memory.found(memories, None)
        given = {name: (lasting, found[name]) for name, lasting in memories.items()}
        outputs, values, _ = self._watching(lambda watches: self._cleared(Clear(), inputs, given, statics, encoded, watches))
        return outputs.structured(values)

    def _with_inputs(self, given: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
        statics = {
            n: v
            for n, v in given.items()
            if n in self._signature.parameters and not _looks_secret(self._signature.parameters[n].annotation)
        }
        return self.compile(**statics), {n: v for n, v in given.items() if n not in statics}

    def simulate(
        self,
        *,
        memories: MutableMapping[str, Any] | None = None,
        overflow: bool = True,
        limits: Mapping[str, float] | None = None,
        **values: Any,
    ) -> _run.Run:
        """Compiles for the plain parameters among ``values`` and simulates with the others."""
        made, inputs = self._with_inputs(values)
        return made.simulate(inputs, memories=memories, overflow=overflow, limits=limits)

    def run_local(
        self,
        *,
        backend: str = "wrk",
        pool: int | None = None,
        rho: int | None = None,
        muxcore: bool | None = None,
        threads: int = 1,
        progress: _run.ProgressOption = None,
        timeout: float | None = None,
        overflow: bool | None = None,
        limits: Mapping[str, float] | None = None,
        **values: Any,
    ) -> _run.Run:
        """Compiles for the plain parameters among ``values`` and runs both parties with the others."""
        made, inputs = self._with_inputs(values)
        return made.run_local(
            inputs,
            backend=backend,
            pool=pool,
            rho=rho,
            muxcore=muxcore,
            threads=threads,
            progress=progress,
            timeout=timeout,
            overflow=overflow,
            limits=limits,
        )

    def __repr__(self) -> str:
        return f"<program function {self.__name__}>"


def _looks_lasting(annotation: Any) -> bool:
    """Whether a parameter is a memory, which no call gives."""
    if isinstance(annotation, str):
        return re.search(r"\b(Memory|NewMemory)\[", annotation) is not None
    return isinstance(annotation, Lasting)


def _looks_secret(annotation: Any) -> bool:
    """Whether a parameter is an input; annotations may still be text."""
    if isinstance(annotation, str):
        return re.search(r"\b(A|B|Both|Garbler|Evaluator|Memory|NewMemory)\[", annotation) is not None
    return isinstance(annotation, (Ported, Lasting, Deferred))


def program(function: Callable[..., Any] | None = None, *, to: Any = Both, checked: bool = False) -> Any:
    """Makes a function a program for two parties.

    ::

        @cn.program
        def richer(a: cn.A[cn.UInt[32]], b: cn.B[cn.UInt[32]]) -> cn.Both[cn.Bit]:
            return a > b

    Parameters without an owner are fixed by :meth:`ProgramFunction.compile`; sizes in types may be text over them, as in
    ``cn.Array[cn.UInt[8], "n"]``. ``to`` says who receives outputs that no annotation gives to anybody; ``checked`` adds an
    output ``overflow``.
    """
    receiver = party_of(to)
    if receiver is None:
        raise CompileError(f"to={to!r}: outputs go to cn.A, cn.B or cn.Both")

    def decorate(inner: Callable[..., Any]) -> ProgramFunction:
        texts = any(isinstance(a, str) for a in getattr(inner, "__annotations__", {}).values())
        frame = sys._getframe(1 if function is None else 2)
        return ProgramFunction(inner, receiver.name, checked, dict(frame.f_locals) if texts else {})

    return decorate if function is None else decorate(function)


class _Part:
    """A helper whose loops are rewritten; ``stays`` makes it a function of the program."""

    def __init__(self, function: Callable[..., Any], stays: bool) -> None:
        self._function, self._stays = function, stays
        self._rewritten: Callable[..., Any] | None = None
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._rewritten is None:
            self._rewritten = _rewrite.rewrite(self._function)
        if self._stays:
            return call(self._rewritten, self.__name__, args, kwargs)
        return self._rewritten(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def function(inner: Callable[..., Any]) -> Callable[..., Any]:
    """A helper that stays a function of the program: written once for arguments of the same types, called as often as wanted.

    It sees its arguments and public values, no secrets from outside.
    """
    return _Part(inner, stays=True)


def inline(inner: Callable[..., Any]) -> Callable[..., Any]:
    """A helper that becomes part of whatever calls it, and may have loops of ``cn.range``."""
    return _Part(inner, stays=False)
