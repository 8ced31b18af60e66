"""The client of a service: with two services that run, and against answers that no service gives on demand in ``test_client_wire.py``."""

import asyncio
import json
import re
import subprocess
import sys
import textwrap
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from services import ROOT, Services
from ways import same_types

import cenote as cn
from cenote._hashed import Plan

#: Seconds that a small job may take on a machine that is busy.
LONG = 120


class Person(cn.Record):
    cents: cn.UInt[24]
    weight: cn.Fixed[8, 8]
    flags: cn.Array[cn.Bit, 2]


@cn.program
def less(x: cn.A[cn.UInt[32]], y: cn.B[cn.UInt[32]]) -> cn.Both[cn.Bit]:
    return x < y


@cn.program(checked=True)
def rich(
    person: cn.A[Person],
    grid: cn.A[cn.Array[cn.Int[64], 2, 2]],
    people: cn.A[cn.Array[Person, 2]],
    wide: cn.A[cn.UInt[80]],
    long: cn.A[cn.Fixed[40, 30]],
    scores: cn.B[cn.Array[cn.UInt[8], 3]],
):
    return {
        "one": person,
        "all": people,
        "pair": (grid, scores),
        "wide": wide,
        "long": long,
        "sum": cn.UInt[8](person.cents) + scores[0],
    }


@cn.program
def split(x: cn.A[cn.UInt[8]], y: cn.B[cn.UInt[8]]) -> tuple[cn.A[cn.UInt[8]], cn.B[cn.UInt[8]]]:
    return x + y, x ^ y


@cn.program
def hidden(x: cn.A[cn.UInt[8]], y: cn.B[cn.UInt[8]]) -> cn.B[cn.UInt[8]]:
    return x + y


def people(cents, weight):
    return {"cents": cents, "weight": weight, "flags": [True, False]}


RICH = {
    "person": people(100, -1.5),
    "grid": [[-(2**63), 1], [2, 2**63 - 1]],
    "people": [people(1, 0.25), people(2**24 - 1, -128)],
    "wide": 2**80 - 3,
    "long": Decimal("-1.000000001862645149230957031250"),
}


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    both = Services(tmp_path_factory.mktemp("services"))
    try:
        both.start("alice")
        both.start("bob")
        both.wait_ready()
        (both.dirs["bob"] / "data/ages.csv").write_text("who,y\nfive,5\nsix,6\n")
        (both.dirs["bob"] / "data/scores.csv").write_text("scores\n7\n8\n9\n")
        yield both
    finally:
        both.kill()


@pytest.fixture
def alice(services):
    with cn.Client.of(services.dirs["alice"]) as client:
        yield client


@pytest.fixture
def bob(services):
    with cn.Client.of(services.dirs["bob"]) as client:
        yield client


@pytest.fixture
def agreed(alice, bob):
    """The programs registered by both, approved for Alice's jobs with Bob's data."""
    integer = [{"name": "y", "kind": "integer"}]
    bob.bind("ages", "data/ages.csv", {"columns": [{"name": "who", "kind": "text", "unique": True}, *integer]})
    bob.bind("scores", "data/scores.csv", {"columns": [{"name": "scores", "kind": "integer", "min": 0, "max": 255}]})
    row = cn.Row("ages", key="who", parameter="who")
    given = []
    for function, inputs in (
        (less, {"y": row}),
        (rich, {"scores": cn.Table("scores")}),
        (split, {"y": row}),
        (hidden, {"y": row}),
    ):
        program = function.compile()
        alice.register(program)
        bob.register(program.to_bytes(), program.name)
        given.append((alice, alice.approve(program)))
        given.append((bob, bob.approve(program, inputs, "peer")))
    yield
    for client, approval in given:
        client.withdraw(approval)


def test_a_result_is_what_a_local_run_gives(alice, agreed):
    program = less.compile()
    for x, who, y in ((5, "five", 5), (5, "six", 6)):
        assert alice.run(program, x=x, select={"who": who}, timeout=LONG) is program.simulate(x=x, y=y).value
    local = rich.compile().run_local({**RICH, "scores": [7, 8, 9]}, overflow=False)
    job = alice.submit(rich, RICH)
    found = job.result(LONG)
    assert found == local.value
    assert same_types(found, local.value)
    assert job.overflowed is local.overflowed is False
    arrays = {**RICH, "person": people(250, 1), "grid": np.array(RICH["grid"]), "people": {"cents": [1, 2], **weights()}}
    job = alice.submit(rich, arrays)
    assert job.result(LONG) == rich.compile().run_local({**arrays, "scores": [7, 8, 9]}, overflow=False).value
    assert job.overflowed is True


def weights():
    return {"weight": [0.5, 1], "flags": [[True, True], [False, True]]}


def test_a_name_alone_gives_json(services, agreed):
    with cn.Client.of(services.dirs["alice"]) as stranger:
        inputs = {**RICH, "long": str(RICH["long"]), "wide": hex(RICH["wide"])}
        result = stranger.run("rich", inputs, timeout=LONG)
        assert result["one"] == {"cents": 100, "weight": -1.5, "flags": [True, False]}
        assert result["pair"][1] == [7, 8, 9]
        assert int(result["wide"]) == 2**80 - 3
        by_digest = stranger.submit(less.compile().digest, x=np.uint32(5), select={"who": "six"})
        assert by_digest.result(LONG) == {"result": True}
        assert by_digest.overflowed is None
        # Registered through this client, a name is enough for types.
        stranger.register(less)
        assert stranger.run("less", x=5, select={"who": "six"}, timeout=LONG) is True


def test_what_is_approved_is_read_first(alice, bob, agreed, tmp_path):
    made = hidden.compile()
    (tmp_path / "hidden.txt").write_text(bob.program_text("hidden"))
    assert cn.load(tmp_path / "hidden.txt").digest == made.digest
    assert bob.program_text(made.digest) == made.show()
    with pytest.raises(cn.ServiceError, match="no program `missing`"):
        bob.program_text("missing")
    cost = bob.program("hidden").cost
    assert cost.backend == "wrk"
    assert min(*cost.bytes, cost.rounds, *cost.ahead_bytes) > 0
    given = {approval.terms.program: approval.receivers for approval in alice.approvals()}
    assert given[made.digest] == {"result": "evaluator"}
    assert given[less.compile().digest] == {"result": "both"}
    assert set(given[split.compile().digest].values()) == {"garbler", "evaluator"}
    terms = {approval.terms.program: approval.terms.receivers for approval in alice.approvals()}
    assert terms[made.digest] == "peer"
    assert terms[less.compile().digest] == terms[split.compile().digest] == "both"


def test_a_program_that_shows_outputs_to_others_is_not_approved(alice, bob, agreed):
    row = {"y": cn.Row("ages", key="who", parameter="who")}
    with pytest.raises(cn.ServiceError, match="receivers `own`, the program's outputs are for `peer`"):
        alice.approve(hidden, receivers="own")
    approval = bob.approve(hidden, row, "peer", receivers="own")
    assert approval.terms.receivers == "own"
    bob.withdraw(approval)
    with pytest.raises(cn.ServiceError, match="receivers `peer`, the program's outputs are for `both`"):
        bob.approve(split, row, "peer", receivers="peer")


def test_a_deny_list_is_kept_between_requests(alice, bob, agreed, monkeypatch):
    """The first issuer's list stays in the session: the second one's requests go on with what the ones before have left."""
    monkeypatch.syspath_prepend(ROOT)
    from programs.hot_cards import reference, standing

    n, days = 8, 90
    own = {"today": cn.Public("today", least=1)}
    seed = {"yours": cn.Public("seed", least=1)}
    brought, back = standing.bring_in.compile(n=n), standing.take_back.compile(n=n)
    asked = standing.pay.compile(n=n, q=2, days=days)
    for client in (alice, bob):
        for program in (brought, asked, back):
            client.register(program)
    given = [(alice, alice.approve(brought)), (bob, bob.approve(brought, seed, "peer"))]
    given += [(alice, alice.approve(asked, own, "peer")), (bob, bob.approve(asked))]
    given += [(alice, alice.approve(back)), (bob, bob.approve(back, {}, "peer"))]
    (use,) = [one.memories for one in alice.approvals() if one.terms.program == asked.digest]
    assert [(memory.name, memory.begins, memory.keeps) for memory in use] == [("deny", False, True)]

    slots, held = reference.filled([(41, 1, 9), (9, 2, 300)], n), {}
    assert alice.run(brought, slots=slots, ours=2**127 + 5, select={"seed": "77"}, timeout=LONG) is True
    brought.simulate(slots=slots, ours=2**127 + 5, yours=77, memories=held)
    for today, payments in ((8, [(41, 0), (7, 3)]), (9, [(41, 0), (7, 0)]), (200, [(7, 0), (9, 1)])):
        request = reference.asked(payments)
        found = bob.run(asked, payments=request, select={"today": str(today)}, timeout=LONG)
        assert found == asked.simulate(today=today, payments=request, memories=held).value
        slots, *answers = reference.served(slots, today, request, days)
        assert list(found) == answers
    (lane,) = [lane for lane in alice.status().lanes if lane.memories]
    assert [(memory.name, memory.bits, memory.jobs) for memory in lane.memories] == [("deny", n * 75, 4)]
    assert alice.run(back, timeout=LONG) == back.simulate(memories=held).value
    with pytest.raises(cn.JobRefused, match="no memory `deny`"):
        alice.run(back, timeout=LONG)
    # Either owner ends one, without a program.
    assert alice.run(brought, slots=slots, ours=1, select={"seed": "77"}, timeout=LONG) is True
    assert not any(lane.memories for lane in bob.end_memory("deny").lanes)
    with pytest.raises(cn.ServiceError, match="there is no memory `deny`") as none:
        bob.end_memory("deny")
    assert none.value.kind == "not-found"
    with pytest.raises(cn.JobRefused, match="no memory `deny`"):
        alice.run(back, timeout=LONG)
    for client, approval in given:
        client.withdraw(approval)


def test_a_table_of_patients_keeps_what_visits_leave(alice, bob, agreed, monkeypatch):
    """The second hospital looks secret numbers up in the first one's table; what one job leaves there the next one finds."""
    monkeypatch.syspath_prepend(ROOT)
    from programs.follow_up import reference, standing

    table = reference.numbered((7, 4_000_000_010, 9_434_765_919), [(0, 100, 0), (1, 200, 1), (2, 300, 0)])
    rows, n = reference.brought_in(table), 3
    begun, seen, summed = standing.enrol.compile(n=n), standing.visit.compile(n=n), standing.sum_up.compile(n=n)
    for client in (alice, bob):
        for program in (begun, seen, summed):
            client.register(program)
    given = [(alice, alice.approve(begun)), (bob, bob.approve(begun, {"yours": cn.Public("seed", least=1)}, "peer"))]
    given += [(alice, alice.approve(seen, {}, "peer")), (bob, bob.approve(seen))]
    given += [(alice, alice.approve(summed)), (bob, bob.approve(summed, {}, "peer"))]
    assert alice.run(begun, table=table, ours=2**127 + 5, select={"seed": "77"}, timeout=LONG) is True
    # Later; later with an event, on what the first job left; behind it; and a number that nobody has.
    for number, *visit in ((9_434_765_919, 310, 0), (9_434_765_919, 305, 1), (9_434_765_919, 320, 1), (9_434_765_919, 999, 0), (8, 1, 1)):
        visits = reference.seen_by_number([(number, *visit)])
        assert list(bob.run(seen, visits=visits, timeout=LONG)) == list(reference.visited(rows, [number], visits))
    assert rows[9_434_765_919] == (2, 320, True)
    (lane,) = [lane for lane in alice.status().lanes if lane.memories]
    assert [(memory.name, memory.bits, memory.jobs) for memory in lane.memories] == [("trial", n * (1 + 34 + 14), 6)]
    sums = tuple(reference.summed(rows))
    assert alice.run(summed, timeout=LONG) == sums == ([0, 1, 1, 0], [100, 200, 320, 0])
    with pytest.raises(cn.JobRefused, match="no memory `trial`"):
        alice.run(summed, timeout=LONG)
    for client, approval in given:
        client.withdraw(approval)


def test_a_hashed_map_is_kept_between_requests(alice, bob, agreed, monkeypatch):
    """Its buckets, its stash and the keys of its hash are one memory of the session, as both services count it."""
    # Small, so that buckets fill.
    monkeypatch.setattr("cenote._map_memory.plan_of", lambda of: Plan(buckets=2, slots=2, stash=4, price=0))

    @cn.program
    def begin_map(ours: cn.A[cn.UInt[128]], yours: cn.B[cn.UInt[128]], scores: cn.NewMemory[cn.Map[cn.UInt[40], cn.UInt[8], 4, 20]]):
        scores.begin(seeds=(ours, yours))

    @cn.program
    def note_score(
        key: cn.A[cn.UInt[40]], score: cn.B[cn.UInt[8]], scores: cn.Memory[cn.Map[cn.UInt[40], cn.UInt[8], 4, 20]]
    ) -> tuple[cn.A[cn.UInt[8]], cn.A[cn.Bit]]:
        before = scores.value.get(key)[1]
        return before, scores.value.insert(key, score, enable=score != 0)

    begun, noted = begin_map.compile(), note_score.compile()
    for client in (alice, bob):
        for program in (begun, noted):
            client.register(program)
    given = [(alice, alice.approve(begun)), (bob, bob.approve(begun, {"yours": cn.Public("yours", least=1)}, "peer"))]
    given += [(alice, alice.approve(noted)), (bob, bob.approve(noted, {"score": cn.Public("score", least=0)}, "peer"))]
    alice.run(begun, ours=2**127 + 5, select={"yours": str(2**60 + 77)}, timeout=LONG)
    known, held = {}, {}
    begun.simulate(ours=2**127 + 5, yours=2**60 + 77, memories=held)
    for key, score in ((7, 1), (2**40 - 1, 2), (7, 0), (7, 3), (9, 4), (0, 5), (8, 6), (9, 0)):
        found = alice.run(noted, key=key, select={"score": str(score)}, timeout=LONG)
        put = score != 0 and (key in known or len(known) < 4)
        assert found[:2] == (known.get(key, 0), put) == noted.simulate(key=key, score=score, memories=held).value
        if put:
            known[key] = score
    (lane,) = [lane for lane in alice.status().lanes if lane.memories]
    # Two accesses a job: to look it up, and to put it in.
    assert [(memory.name, memory.accesses_left, memory.jobs) for memory in lane.memories] == [("scores", 20 - 16, 9)]
    for client, approval in given:
        client.withdraw(approval)


def test_each_side_learns_its_own_outputs(alice, bob, agreed):
    bob_knows = bob.register(split).digest
    job = alice.submit(split, x=3, select={"who": "five"})
    assert job.result(LONG) == (8, None)
    theirs = bob.job(job.id)
    assert (theirs.view.origin, theirs.view.digest, theirs.view.select) == ("peer", bob_knows, {"who": "five"})
    assert theirs.result(LONG) == (None, 6)
    only = alice.submit(hidden, x=3, select={"who": "five"})
    assert only.result(LONG) is None
    bob.register(hidden)
    assert bob.job(only.id).result(LONG) == 8


def test_a_key_finds_the_first_job(alice, agreed):
    first = alice.submit(less, x=1, select={"who": "five"}, idempotency_key="one")
    again = alice.submit(less, x=1, select={"who": "five"}, idempotency_key="one")
    other = alice.submit(less, x=1, select={"who": "five"})
    assert first.id == again.id != other.id
    for job in (first, other):
        assert job.result(LONG) is True
    with pytest.raises(cn.ServiceError, match="other inputs") as another:
        alice.submit(less, x=2, select={"who": "five"}, idempotency_key="one")
    assert another.value.kind == "conflict"


def test_events_end_with_the_job(alice, agreed):
    job = alice.submit(less, x=1, select={"who": "five"})
    states = [view.state for view in job.events()]
    assert states[-1] == "done" == job.state
    assert len(states) == len(set(states))
    assert job.view.cost.ands > 0
    assert job.view.cost.bytes_sent > 0
    assert [view.state for view in alice.job(job.id).events()] == ["done"]


def test_what_is_refused_says_why(alice, bob, services):
    @cn.program
    def unknown(x: cn.A[cn.UInt[7]], y: cn.B[cn.UInt[7]]):
        return x ^ y

    program = unknown.compile()
    with pytest.raises(cn.ServiceError, match="no program") as raised:
        alice.submit(program, x=1)
    assert (raised.value.status, raised.value.kind) == (404, "not-found")
    alice.register(program)
    with pytest.raises(cn.ServiceError, match="no approval") as raised:
        alice.submit(program, x=1)
    assert (raised.value.status, raised.value.kind) == (403, "forbidden")
    approval = alice.approve(program, {"x": cn.Submitter()}, expires_at=datetime.now(timezone.utc) + timedelta(days=1))
    job = alice.submit(program, x=1)
    with pytest.raises(cn.JobRefused, match=re.escape(job.id)) as refused:
        job.result(LONG)
    assert refused.value.job.state == "refused"
    assert refused.value.job.reason in str(refused.value)
    with pytest.raises(cn.InputError, match=r"has no input z; it takes x, y"):
        alice.submit(program, z=1)
    with pytest.raises(cn.InputError, match="does not fit") as private:
        alice.submit(program, x=12345)
    assert "12345" not in str(private.value)
    alice.withdraw(approval)
    with pytest.raises(cn.ServiceError, match="is another program"):
        alice.register(split, "unknown")
    with pytest.raises(cn.ServiceError, match="there is no job"):
        alice.job("0" * 32)
    with pytest.raises(cn.ServiceError, match="nothing is held") as held:
        alice.lift()
    assert held.value.kind == "conflict"
    line = alice.measure()
    assert 0 < line.round_trip_s < 10
    assert min(line.sent_bytes_per_s, line.received_bytes_per_s) > 0
    assert line == alice.measure(), "a moment ago"
    with pytest.raises(cn.ServiceError) as raised, cn.Client(alice._http.url, "cenote_wrong") as stranger:
        stranger.status()
    assert (raised.value.status, raised.value.kind) == (401, "unauthorised")
    token = (services.dirs["alice"] / "token").read_text().strip()
    assert token not in services.log("alice") + repr(alice) + repr(vars(alice)) + repr(job)


def test_the_owner_sees_what_was_said(alice, bob, agreed):
    status = alice.status()
    assert (status.name, status.peer.role, status.peer.connected, status.stopping) == ("alice", "garbler", True, False)
    assert {lane.name for lane in status.lanes} == {"small", "large"}
    assert alice.ready()
    names = [program.name for program in alice.programs()]
    assert names == sorted(names)
    assert {"less", "rich"} <= set(names)
    view = alice.program("less")
    assert view == alice.program(view.digest)
    assert (view.digest, [port.party for port in view.inputs]) == (less.compile().digest, ["garbler", "evaluator"])
    sets = {one.name: one for one in bob.datasets()}
    assert (sets["ages"].rows, sets["ages"].columns) == (2, ["who", "y"])
    last = bob.approve(less, {"y": cn.Row("ages", "who", "who", {"y": "y"})}, "both", uses=3, period_s=60)
    assert last in bob.approvals()
    assert last.terms.inputs == {"y": cn.Row("ages", "who", "who", {"y": "y"})}
    assert (last.terms.uses, last.terms.period_s, last.terms.expires_at, last.spent) == (3, 60, None, 0)
    assert last.terms.peer == bob.status().peer.fingerprint
    assert abs(last.given_at - datetime.now(timezone.utc)) < timedelta(minutes=5)
    assert bob.withdraw(last.id).withdrawn_at is not None
    assert re.fullmatch(r"\d+:[0-9a-f]{64}", alice.audit_head().head)


def test_jobs_are_listed_page_by_page(alice, agreed, monkeypatch):
    jobs = [alice.submit(less, x=x, select={"who": "five"}) for x in range(5)]
    for job in jobs:
        job.wait(LONG)
    assert [job.id for job in alice.jobs(limit=3)] == [job.id for job in reversed(jobs[2:])]
    assert [job.id for job in alice.jobs(limit=2, before=jobs[3].id)] == [jobs[2].id, jobs[1].id]
    whole = [job.id for job in alice.jobs(limit=1000)]
    monkeypatch.setattr("cenote._client.PAGE", 2)
    assert [job.id for job in alice.all_jobs()] == whole
    assert all(job.state == "done" for job in alice.all_jobs("done"))
    assert alice.jobs("running") == []


def test_what_waits_is_taken_back_expires_and_outlives_the_peer(services, alice, agreed):
    services.stop("bob")
    try:
        job = alice.submit(less, x=1, select={"who": "five"})
        late = alice.submit(less, x=1, select={"who": "five"}, deadline_s=1)
        waits = alice.submit(less, x=1, select={"who": "five"}, priority=7)
        assert waits.view.priority == 7
        with pytest.raises(cn.JobUnfinished, match=job.id) as unfinished:
            job.result(timeout=1.3)
        assert isinstance(unfinished.value, (TimeoutError, cn.LimitError))
        assert unfinished.value.job.state == "submitted"
        assert job.cancel().state == "cancelled"
        assert job.cancel().state == "cancelled"
        with pytest.raises(cn.JobCancelled, match="took it back"):
            job.result()
        with pytest.raises(cn.JobExpired, match="deadline"):
            late.result(LONG)
        with pytest.raises(cn.ServiceError, match="cannot be taken back"):
            late.cancel()
        # The news that the peer is gone comes within seconds.
        end = time.monotonic() + LONG
        while alice.ready():
            assert time.monotonic() < end
            time.sleep(0.1)
        assert not alice.status().peer.connected
    finally:
        services.start("bob")
    assert waits.result(LONG) is True
    services.wait_ready()


def test_a_wait_outlives_the_own_service(services, alice, agreed):
    """The connection is lost, refused, and made again."""
    services.stop("bob")
    job = alice.submit(less, x=1, select={"who": "five"})
    ahead = subprocess.Popen([sys.executable, "-c", _RESTART, str(services.dirs["alice"]), job.id], stdout=subprocess.PIPE, text=True)
    assert ahead.stdout.readline() == "submitted\n"
    services.stop("alice")
    services.start("alice")
    services.start("bob")
    said, _ = ahead.communicate(timeout=LONG)
    assert said.split()[-2:] == ["done", "True"]
    services.wait_ready()


_RESTART = """
import sys
import cenote as cn
job = cn.Client.of(sys.argv[1]).job(sys.argv[2])
for view in job.events():
    print(view.state, flush=True)
print(job.result()["result"])
"""


def test_a_result_is_kept_as_long_as_was_said(alice, agreed):
    job = alice.submit(less, x=1, select={"who": "five"}, keep_result_s=1)
    end = datetime.now(timezone.utc) + timedelta(seconds=LONG)
    job.wait(LONG)
    while job.refresh().result is not None:
        assert datetime.now(timezone.utc) < end
    with pytest.raises(cn.Error, match="keep_result_s"):
        job.result()


def test_the_same_awaited(services, agreed):
    async def go():
        async with cn.AsyncClient.of(services.dirs["alice"]) as alice:
            assert "token" not in repr(alice)
            await alice.register(less)
            jobs = await asyncio.gather(*(alice.submit("less", x=x, select={"who": "five"}) for x in (3, 7)))
            assert await asyncio.gather(*(job.result(LONG) for job in jobs)) == [True, False]
            assert await alice.run(less, x=3, select={"who": "five"}, timeout=LONG) is True
            assert [view.state async for view in jobs[0].events()] == ["done"]
            assert jobs[0].id in [job.id async for job in alice.all_jobs("done")]
            assert (await alice.job(jobs[0].id)).view == await jobs[0].refresh()
            assert (await alice.status()).name == "alice"
            assert await alice.ready()
            assert await alice.program("less") in await alice.programs()
            assert (await alice.audit_head()).head
            approval = await alice.approve(less, receivers="both", uses=1)
            assert approval in await alice.approvals()
            assert (await alice.withdraw(approval)).withdrawn_at is not None
            with pytest.raises(cn.ServiceError, match="nothing is held"):
                await alice.lift()
            assert (await alice.measure()).round_trip_s > 0
            with pytest.raises(cn.ServiceError, match="cannot be taken back"):
                await jobs[0].cancel()
        async with cn.AsyncClient.of(services.dirs["bob"]) as bob:
            assert await bob.bind("again", "data/ages.csv") in await bob.datasets()

    asyncio.run(go())


def test_the_page_runs(services, tmp_path, agreed):
    """The section of the guide, as a script in the folder of both services."""
    page = (ROOT / "docs/python.md").read_text()
    section = page.split("\n## The service from Python\n")[1].split("\n## ")[0]
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", section, re.M) if "cn." in block or "service" in block]
    folder = services.dirs["alice"].parent
    script = tmp_path / "page.py"
    script.write_text("import cenote as cn\n" + "\n".join(blocks))
    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=False, timeout=LONG)
    assert done.returncode == 0, done.stderr


def test_every_path_of_the_api_has_a_method():
    """Those without one are for people, Prometheus and machines."""
    paths = json.loads((Path(ROOT) / "docs/openapi.json").read_text())["paths"]
    named = {call["operationId"] for methods in paths.values() for call in methods.values()}
    ours = {"list": "jobs", "show": "job", "of_job": "events", "heads": "audit_head", "line": "measure"}
    for client, job in ((cn.Client, cn.Job), (cn.AsyncClient, cn.AsyncJob)):
        missing = {name for name in named if not hasattr(client, ours.get(name, name)) and not hasattr(job, ours.get(name, name))}
        assert missing == {"live", "metrics", "description"}
