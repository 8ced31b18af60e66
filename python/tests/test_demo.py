"""The demonstration in a short form: two services, on the first rows of the tables, one of them killed. It checks its own claims."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from services import ROOT, command

import cenote as cn

#: Seconds that it may take on a machine that is busy.
LONG = 600
SHORT = ["--rows", "256", "--questions", "12", "--blocks", "2", "--ready", "2000"]


def start(*arguments):
    words = [sys.executable, "-u", "-m", "demo", "--cenote", command(), *SHORT, *map(str, arguments)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def audit_journal(folder):
    done = subprocess.run([command(), "audit", "journal", folder, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_killed_service_loses_nothing_and_uses_nothing_twice(tmp_path):
    out, err = (demo := start("--keep", tmp_path)).communicate(timeout=LONG)
    assert demo.returncode == 0, out + err
    for line in (
        "32 customers are shared; they spent $9,412.19 in all",
        "top_shared once more: refused, the peer's approval has no uses left",
        "shared_by_quarter has failed: connection",
        "There the job has failed: the service stopped while it ran",
        "the 10 questions were answered, rightly;",
        "above_limit 22",
        "All answers are right",
    ):
        assert line in out
    for side in ("a", "b"):
        code, said = audit_journal(tmp_path / side)
        assert (code, said["items"]["small"] > 0, said["items"]["large"] > 1_000_000) == (0, True, True)
    journal = tmp_path / "a/journal/small.log"
    lines = journal.read_text().splitlines(keepends=True)
    taken = next(line for line in lines if "stock.triple" in line)
    journal.write_text("".join([*lines, taken]))
    code, said = audit_journal(tmp_path / "a")
    assert (code, said["kind"]) == (3, "refused")
    assert f"small.log: line {len(lines) + 1}: item 0 of stock.triple left before" in said["error"]
    code, said = audit_journal(tmp_path)
    assert (code, said["kind"]) == (2, "bad-input")


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_no_service(tmp_path, signal_number):
    demo = start("--keep", tmp_path)
    services = []
    while len(services) < 2:
        services += map(int, re.findall(r"pid (\d+)", demo.stdout.readline()))
        assert demo.poll() is None, demo.stderr.read()
    demo.send_signal(signal_number)
    demo.communicate(timeout=LONG)
    assert demo.returncode == 130
    for service in services:
        end = time.monotonic() + LONG
        while Path(f"/proc/{service}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        with pytest.raises(ProcessLookupError):
            os.kill(service, 0)


def test_what_cannot_be_used_starts_nothing():
    demo = start("--rows", "100")
    _, err = demo.communicate(timeout=LONG)
    assert demo.returncode != 0
    assert "power of two" in err


def test_the_notebook_of_both_owners_runs(monkeypatch):
    """It checks its own claims; what it prints is looked at for those that it makes in words."""
    import nbclient
    import nbformat

    notebook = nbformat.read(ROOT / "demo/two_owners.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "clear the outputs before committing"
    monkeypatch.setenv("CENOTE_BIN", command())
    monkeypatch.setenv("PYTHONPATH", str(Path(cn.__file__).parents[1]), prepend=":")
    folder = {"metadata": {"path": str(ROOT / "demo")}}
    nbclient.NotebookClient(notebook, timeout=LONG, kernel_name="python3", resources=folder).execute()
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    said = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    for line in (
        "bob is the evaluator and knows alice as",
        "no approval",
        "the peer's owner has not approved this program for you",
        "3 of 3 uses are spent",
        "refused: the peer's approval has no uses left",
        "$ cenote audit diff alice/audit.log bob/audit.log",
    ):
        assert line in said, said
