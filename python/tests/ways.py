"""The three ways to run a program, compared."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import cenote as cn
from cenote import _native, _run

ROLES = ("garbler", "evaluator")


def _pair(program, inputs, backend, threads, total, progress, timeout):
    """What ``_run.pair`` does, with the parties on threads of this process instead of processes of their own: faster."""

    def party(role, end):
        made = _native.Program.taken_over(program)
        return _native.run_party(made, role, inputs[role], backend, threads, progress=_native.Progress(), connection=end)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(ROLES, pool.map(party, ROLES, _native.Connection.pair())))


def three_ways(function, /, backend="plain", **values):
    """What a program function gives in the clear, which it gives simulated and run by two parties as well; and the simulation."""
    clear = function(**values)
    simulated = warned(lambda: function.simulate(**values))
    with mock.patch.object(_run, "pair", _pair):
        secure = warned(lambda: function.run_local(**values, backend=backend))
    for run in (simulated, secure):
        assert run.value == clear
        assert same_types(run.value, clear)
    assert secure.overflowed is simulated.overflowed
    # A long program runs without looking for lines.
    assert secure.overflow is None or repr(secure.overflow) == repr(simulated.overflow)
    return clear, simulated


def warned(start):
    """A run, which warns if and only if numbers did not fit, and names their lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = start()
    about = [warning for warning in caught if warning.category is cn.OverflowWarning]
    assert len(about) == bool(run.overflow)
    assert all(warning.filename == __file__ and str(run.overflow[0]) in str(warning.message) for warning in about)
    return run


def same_types(x, y):
    """Whether two equal results are made of the same types, where Python takes 1, 1.0 and True for equal."""
    if isinstance(x, dict):
        return type(x) is type(y) and all(same_types(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)):
        return type(x) is type(y) and all(map(same_types, x, y))
    return type(x) is type(y)
