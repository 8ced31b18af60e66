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
    assert tables.quoted("access, recursive, factor 8, cut-off 256", "WAN") == ["83.2 s", "48 s"]
    assert tables.quoted("sort of 4,096 numbers", "WAN") == ["1,170 s", "663 s, 13.7 GB"]


def test_a_table_is_one() -> None:
    assert tables.table(["a", "b"], [[1, "x"]]) == "| a | b |\n| --- | --- |\n| 1 | x |\n"


def fake(_: object) -> dict[str, object]:
    memory = {"start_ands": 9e8, "accesses": 20, "ands_per_access": 5e6}
    parties = {"garbler": {"peak_rss_bytes": 5e6}, "evaluator": {"peak_rss_bytes": 4e6}}
    return {"ands": 1e9, "wall_s": 60, "parties": parties, **memory}


def test_large_runs_show_all_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "bench", lambda arguments: fake(arguments) | ({"gates": 5.9e9} if "edit" in arguments else {}))
    text = tables.large(None)
    assert "| 5.90 | 1.00 | 60 | 5 |" in text
    # The stream has as many XORs.
    assert "| 2.00 | 1.00 | 60 | 5 |" in text
    assert "given rows of 32 bits, 20 accesses | `wrk` | - | 1.00 | 60 | 5 |" in text


def test_a_section_is_measured_and_the_others_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(tables, "machine", lambda: "a machine")
    run = iter(range(100))
    monkeypatch.setattr(tables, "SECTIONS", {title: lambda _: f"text {next(run)}\n" for title in ("One", "Large runs", "Two")})
    tables.main([])
    page = tables.PAGE.read_text(encoding="utf-8")
    assert page.startswith(tables.head(False))
    assert "\n## One\n\ntext 0\n\n## Large runs\n\nNot measured yet: " in page
    assert page.endswith("\n## Two\n\ntext 1\n")
    monkeypatch.setattr(tables, "machine", lambda: "another")
    tables.main(["--only", "Two"])
    assert tables.PAGE.read_text(encoding="utf-8") == page.replace("text 1", "another.\n\ntext 2")
    tables.main(["--only", "La"])
    once = tables.on_the_page("Large runs")
    assert once == "another.\n\ntext 3\n"
    # It stays when all is measured, but for what is asked for by itself.
    tables.main([])
    assert tables.on_the_page("Large runs") == once
    assert [tables.on_the_page(title) for title in ("One", "Two")] == ["text 4\n", "text 5\n"]
    tables.main(["--large"])
    assert tables.on_the_page("Large runs") == "another.\n\ntext 7\n"
    for none in ("Three", ""):
        with pytest.raises(SystemExit):
            tables.main(["--only", none])


def test_the_page_has_all_sections() -> None:
    page = tables.PAGE.read_text(encoding="utf-8")
    titles = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert titles == list(tables.SECTIONS)
