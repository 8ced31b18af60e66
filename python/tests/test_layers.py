"""Modules of the package import each other in layers: wherever an import stands, it looks down."""

from __future__ import annotations

import ast
import graphlib
import pathlib

import pytest

import cenote

MODULES = {"_native": ""} | {path.stem: path.read_text() for path in pathlib.Path(cenote.__file__).parent.glob("*.py")}


def imported(source: str, modules: dict[str, str]) -> set[str]:
    """Modules of the package that a source imports, inside functions and for types alone as well."""
    names: list[list[str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ["cenote"] * node.level + (node.module.split(".") if node.module else [])
            names += [[*start, alias.name] for alias in node.names]
    inside = [name[1:] for name in names if name[0] == "cenote"]
    return {name[0] if name and name[0] in modules else "__init__" for name in inside}


def layers(modules: dict[str, str]) -> list[str]:
    """The modules, each behind those that it imports."""
    graph = {name: imported(source, modules) for name, source in modules.items()}
    return list(graphlib.TopologicalSorter(graph).static_order())


def test_no_module_imports_what_imports_it():
    assert "_values" in imported(MODULES["_operators"], MODULES)
    order = layers(MODULES)
    assert order.index("_types") < order.index("_values") < order.index("_arith") < order.index("_operators")


@pytest.mark.parametrize("back", ["from ._b import f", "def g():\n    from . import _b", "if TYPE_CHECKING:\n    from ._b import f"])
def test_a_circle_is_found_wherever_the_import_stands(back):
    with pytest.raises(graphlib.CycleError):
        layers({"_a": back, "_b": "from ._a import g"})


@pytest.mark.parametrize("whole", ["import cenote as cn", "from cenote import UInt", "from . import UInt"])
def test_no_module_imports_the_package(whole):
    with pytest.raises(graphlib.CycleError):
        layers({"__init__": "from ._a import g", "_a": whole})
