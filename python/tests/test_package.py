"""The package as users meet it: what its pages say runs, and it works without its optional companions."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cenote as cn

ROOT = Path(__file__).parents[2]


def run_script(path, text):
    """Runs a Python file of this text, which must succeed."""
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=path.parent)
    assert done.returncode == 0, done.stderr


def snippets(path):
    """The indented blocks of a page that are Python."""
    # What needs services runs with two of them, in test_client.py.
    text = re.sub(r"\n## The service from Python\n(?:(?!## ).*\n)*", "\n", path.read_text())
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text, re.M)
    return [textwrap.dedent(block) for block in blocks if "cn." in block and "at salary.py" not in block]


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/python.md", "python/cenote/__init__.py"])
def test_what_the_pages_say_runs(page, tmp_path):
    source = snippets(ROOT / page)
    assert source
    # Programs that nothing calls compile as well, but for those whose public parameters the page leaves open.
    compiles = """
for one in [one for one in globals().values() if type(one).__name__ == "ProgramFunction"]:
    try: one.compile()
    except cn.CompileError as error: assert "its value is fixed when the program is compiled" in str(error), error
"""
    run_script(tmp_path / "page.py", "import cenote as cn\n" + "\n".join(source) + compiles)


def test_nothing_else_is_needed(tmp_path):
    run_script(
        tmp_path / "alone.py",
        "import sys\n"
        "for name in ('numpy', 'pandas', 'polars', 'pyarrow', 'tqdm', 'httpx', 'anyio'): sys.modules[name] = None\n"
        "import cenote as cn\n"
        "@cn.program\n"
        "def f(x: cn.Garbler[cn.Array[cn.UInt[8], 2]]): return x + 1\n"
        "assert f([1, 2]) == f.simulate(x=[1, 2]).value == [2, 3]\n"
        "try: cn.Client(token='cenote_x')\n"
        "except cn.Error as error: assert 'cenote[client]' in str(error)\n"
        "else: raise AssertionError\n",
    )


def test_the_package_alone_imports_no_client(tmp_path):
    run_script(tmp_path / "lazy.py", "import sys, cenote\nassert not {'httpx', 'anyio', 'asyncio', 'tomllib'} & set(sys.modules)\n")


def test_every_public_name_is_documented():
    for name in cn.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(cn, name)
        assert getattr(thing, "__doc__", None), name
        assert name in (ROOT / "docs/python.md").read_text() or name in ("Program", "ProgramFunction", "Run", "Secret"), name


def test_annotations_may_be_text(tmp_path):
    run_script(
        tmp_path / "later.py",
        "from __future__ import annotations\n"
        "import cenote as cn\n"
        "def make():\n"
        "    class Pair(cn.Record):\n"
        "        x: cn.UInt[8]\n"
        "    @cn.program\n"
        "    def f(p: cn.Garbler[cn.Array[Pair, n]], n: int) -> cn.Both[cn.UInt[8]]:\n"
        "        total = 0\n"
        "        for i in cn.range(n):\n"
        "            total += p[i].x\n"
        "        return total\n"
        "    return f\n"
        "f = make()\n"
        "assert f({'x': [1, 2, 3]}, n=3) == 6\n"
        "assert f.simulate(p={'x': [1, 2, 3]}, n=3).value == 6\n",
    )
