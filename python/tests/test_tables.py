"""docs/results.md is made of right numbers: what `make tables` computes beside what it measures."""

from __future__ import annotations

import pathlib
import sys

import pytest

pytest.importorskip("matplotlib")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from programs import tables


def test_figures_have_the_digits_that_count() -> None:
    cases = {0: "0", 0.012345: "0.0123", 1.5: "1.5", 14.26: "14.3", 149.3: "149", 2374.3: "2,370"}
    assert {value: tables.number(value) for value in cases} == cases
    assert tables.number(None) == "-"


def test_the_least_pool_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "bucket", lambda size, rho: None if size < 9 else 3 if size >= 478_610 else 4 if size >= 7_673 else 5)
    assert [tables.least(size, 40) for size in (3, 4, 5)] == [478_610, 7_673, 9]
    monkeypatch.setattr(tables, "bucket", lambda size, rho: 4)
    assert tables.least(3, 80) is None


def test_everything_that_is_measured_has_the_paper_beside_it() -> None:
    assert {*tables.JOBS, *tables.ACCESSES} == set(tables.APPLICATIONS)
    for name in tables.APPLICATIONS:
        for line in tables.LINES:
            assert len(tables.quoted(name, line)) == len(tables.POOLS)
    assert tables.quoted("access, recursive", "LAN") == ["15.4 s, 1.9 GB", "11.2 s, 1.08 GB"]
    assert tables.quoted("sort of 4,096 numbers", "WAN") == ["1,170 s", "663 s, 13.7 GB"]


def test_a_table_is_one() -> None:
    assert tables.table(["a", "b"], [[1, "x"]]) == "| a | b |\n| --- | --- |\n| 1 | x |\n"


def test_large_runs_stay_on_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "page.md")
    assert tables.large(False).startswith("With `TABLES=--large`")
    monkeypatch.setattr(tables, "machine", lambda: "a machine")
    monkeypatch.setattr(
        tables,
        "bench",
        lambda _: {"ands": 1e9, "wall_s": 60, "parties": {"garbler": {"peak_rss_bytes": 5e6}, "evaluator": {"peak_rss_bytes": 4e6}}},
    )
    once = tables.large(True)
    assert once.startswith("a machine.\n")
    assert "| 1.00 | 60 | 5 |" in once
    tables.PAGE.write_text(f"# Page\n\n{tables.LARGE}{once}\n## Next\n\nmore\n", encoding="utf-8")
    assert tables.large(False) == once
