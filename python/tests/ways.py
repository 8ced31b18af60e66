"""The three ways to run a program, compared."""

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from cenote import _native, _run

ROLES = ("garbler", "evaluator")


def _pair(program, inputs, options, total, progress, timeout):
    """What ``_run.pair`` does, with the parties on threads of this process instead of processes of their own: faster."""

    def party(role, end):
        made = _native.Program.from_bytes(program)
        return _native.run_party(made, role, inputs[role], **options, progress=_native.Progress(), connection=end)

    with ThreadPoolExecutor(2) as threads:
        return dict(zip(ROLES, threads.map(party, ROLES, _native.Connection.pair())))


def three_ways(function, /, backend="plain", **values):
    """What a program function gives in the clear, which it gives simulated and run by two parties as well; and the simulation."""
    clear = function(**values)
    simulated = function.simulate(**values)
    with mock.patch.object(_run, "pair", _pair):
        secure = function.run_local(**values, backend=backend)
    for run in (simulated, secure):
        assert run.value == clear
        assert same_types(run.value, clear)
    assert secure.overflowed == simulated.overflowed
    return clear, simulated


def same_types(x, y):
    """Whether two equal results are made of the same types, where Python takes 1, 1.0 and True for equal."""
    if isinstance(x, dict):
        return type(x) is type(y) and all(same_types(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)):
        return type(x) is type(y) and all(map(same_types, x, y))
    return type(x) is type(y)
