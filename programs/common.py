"""What the examples of all programs share."""

import argparse
import dataclasses
import functools
import typing


@dataclasses.dataclass
class Example:
    """A program with real inputs.

    ``report`` turns the result into lines for people, ``expected`` is the answer of the clear reference. ``tolerance`` is how far a
    fixed-point result may be from it.
    """

    program: typing.Any
    inputs: list
    expected: typing.Any
    report: typing.Callable
    parameters: dict = dataclasses.field(default_factory=dict)
    tolerance: float = 0.0

    @property
    def name(self):
        return self.program.__name__

    def compiled(self):
        """The program for these parameters."""
        return self.program.compile(**self.parameters)

    @functools.cached_property
    def ands(self):
        """What the program costs."""
        return self.compiled().cost()["ands"]

    def simulate(self, memories=None):
        """The result of the compiled program, run in the clear in this process, on what is in these ``memories``."""
        compiled = self.compiled()
        return compiled.simulate(dict(zip(compiled.inputs, self.inputs)), overflow=False, memories=memories).value

    def run_local(self, backend="plain"):
        """The result of two parties on this machine."""
        compiled = self.compiled()
        return compiled.run_local(dict(zip(compiled.inputs, self.inputs)), backend=backend).value

    def check(self, result):
        """Refuses a result that is not the reference's."""
        if not close(result, self.expected, self.tolerance):
            raise AssertionError(f"{self.name}: {result!r} is not the reference's {self.expected!r}")


def close(result, expected, tolerance):
    """Whether results are equal, numbers up to a tolerance, sequences and columns item by item."""
    if isinstance(expected, dict):
        return result.keys() == expected.keys() and all(close(result[name], expected[name], tolerance) for name in expected)
    if isinstance(expected, (list, tuple)):
        return len(result) == len(expected) and all(close(x, y, tolerance) for x, y in zip(result, expected))
    return type(result) is type(expected) and abs(result - expected) <= tolerance


def main(examples, arguments=None):
    """``python -m programs.NAME [--backend wrk]``."""
    parser = argparse.ArgumentParser(description="Runs the example between two parties on this machine.")
    parser.add_argument("--backend", default="plain", help="plain, which is not secure (the default), or another with its options")
    options = parser.parse_args(arguments)
    for example in examples:
        result = example.run_local(options.backend)
        example.check(result)
        print(f"{example.name} ({example.ands:,} ANDs, backend {options.backend})")
        for line in example.report(result):
            print(f"  {line}")
