"""The API, fuzzed from its own description with schemathesis: whatever is sent, it answers in time, as described, and without a defect.

CENOTE_FUZZ_API has the seconds that the long form takes; without it the short one runs. Requests are made with a token that has all
roles, with one of each role, and without. About half of the names and ids are of things that are there, so that they get further.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from services import Services, cenote

import cenote as cn

SECONDS = int(os.environ.get("CENOTE_FUZZ_API", "0"))
ROLES = ("submitter", "approver", "operator", "auditor")
#: Seconds that an answer may take at most; no request here waits for what does not end.
ANSWER = 15
#: Paths whose requests may be well-formed, and refused for what they say: no schema knows what a program or a file holds.
JUDGED = ["/v1/programs", "/v1/approvals", "/v1/datasets", "/v1/jobs"]


@cn.program
def less(x: cn.A[cn.UInt[32]], y: cn.B[cn.UInt[32]]) -> cn.Both[cn.Bit]:
    return x < y


class Fuzzed:
    """Alice, whose API is fuzzed, and her peer, with a program that both approve."""

    def __init__(self, folder):
        self.folder, self.services = folder, Services(folder)
        self.alice = self.services.dirs["alice"]

    def start(self):
        for name in ("alice", "bob"):
            self.services.start(name)
        self.services.wait_ready()
        bobs = self.services.dirs["bob"]
        for folder in (self.alice, bobs):
            (folder / "data" / "numbers.csv").write_text("k,y\n1,5\n2,6\n")
        with cn.Client.of(bobs) as bob:
            bob.register(less)
            bob.bind("numbers", "data/numbers.csv")
            bob.approve(less, {"y": cn.Row("numbers", "k", "which")}, "peer")
        with cn.Client.of(self.alice) as alice:
            alice.register(less)
            self.url = alice._http.url
            self.jobs = [self.run(alice).id]
        for role in ROLES:
            cenote("token", "add", role, "--role", role, "-o", self.folder / role, "--service", self.alice)

    @staticmethod
    def run(alice):
        # Approvals of before may have been withdrawn.
        alice.approve(less)
        job = alice.submit(less, {"x": 5}, select={"which": "2"})
        assert job.result(60) is True
        return job

    def config(self):
        """What schemathesis is told."""
        known = {
            "programs": ["less"],
            "jobs": self.jobs,
            "approvals": [1, 2],
            "files": ["data/numbers.csv"],
        }
        lists = "".join(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n" for name, values in known.items())
        half = "probability = 0.5"
        return f"""
request-timeout = {ANSWER}
max-stream-events = 20
headers = {{ Authorization = "Bearer ${{CENOTE_FUZZ_TOKEN}}" }}
[checks]
max_response_time = {ANSWER - 5}
{lists}
[parameters]
"path.name" = {{ dictionary = "programs", {half} }}
"body.program" = {{ dictionary = "programs", {half} }}
"body.path" = {{ dictionary = "files", {half} }}
[[operations]]
include-path-regex = "^/v1/jobs/"
parameters = {{ "path.id" = {{ dictionary = "jobs", {half} }} }}
[[operations]]
include-path-regex = "^/v1/approvals/"
parameters = {{ "path.id" = {{ dictionary = "approvals", {half} }} }}
[[operations]]
include-path = {json.dumps(JUDGED)}
include-method = "POST"
checks.positive_data_acceptance.enabled = false
"""

    def fuzz(self, token, *options):
        """One run; its report where something was found."""
        file = self.folder / "schemathesis.toml"
        file.write_text(self.config())
        tool = Path(sys.executable).with_name("schemathesis")
        schema = f"{self.url}/v1/openapi.json"
        done = subprocess.run(
            [tool, "--config-file", file, "run", schema, "--no-color", "--output-truncate", "false", *options],
            env={**os.environ, "CENOTE_FUZZ_TOKEN": token},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=2 * SECONDS + 300,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(done.stdout + done.stderr, pytrace=False)
        return done.stdout

    def check(self):
        """That it is as well as before."""
        begun = time.monotonic()
        with cn.Client.of(self.alice) as alice:
            assert alice.ready(), alice.status()
            self.run(alice)
        assert time.monotonic() - begun < 60
        assert "panicked" not in self.services.log("alice")


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    one = Fuzzed(tmp_path_factory.mktemp("fuzz"))
    try:
        one.start()
        yield one
        one.check()
        one.services.stop("alice")
    finally:
        one.services.kill()


def length(share):
    """How long a run is: a share of the seconds, or few examples."""
    return ("--max-time", str(max(1, int(share * SECONDS)))) if SECONDS else ("--max-examples", "8", "--seed", "2017")


def test_with_all_roles_it_answers_as_described(fuzzed):
    token = (fuzzed.alice / "token").read_text().strip()
    assert "Operations" in fuzzed.fuzz(token, *length(0.6))


@pytest.mark.parametrize("role", [*ROLES, "none"])
def test_with_each_role_it_answers_as_described(fuzzed, role):
    token = "cenote_none" if role == "none" else (fuzzed.folder / role).read_text().strip()
    fuzzed.fuzz(token, "--phases", "fuzzing", *length(0.08))
