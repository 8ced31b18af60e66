"""Two card issuers ask joint questions through a service each; one of the services is killed in between. docs/demo.md tells it.

python -m demo [--rows N] [--questions N] [--blocks N] [--ready N] [--cenote FILE] [--keep DIR]
"""

import argparse
import concurrent.futures
import pathlib
import signal
import sys
import tempfile
import time

import cenote as cn
from programs.common import close

from . import requests
from .services import pair

#: Seconds for which an answer is waited.
LONG = 300
#: How often a job is asked for until one runs when its service is killed.
ATTEMPTS = 5
#: Questions that wait while a service is away.
MEANWHILE = 10


def head(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def say(text):
    print(f"  {text}", flush=True)


def ensure(good, what):
    """Ends the demonstration unless what it claims is so."""
    if not good:
        raise SystemExit(f"demo: {what}")


class Demo:
    """Both services, the requests, and what was asked for so far."""

    def __init__(self, options, folder):
        self.options = options
        self.tables = requests.tables(options.rows)
        self.large = requests.large_requests(*self.tables)
        self.question, self.asked = requests.limit_question(*self.tables, options.questions)
        self.block, self.share = requests.shared_key()
        self.question.uses += MEANWHILE
        self.block.uses += options.blocks
        self.quarters = next(request for request in self.large if request.name == "shared_by_quarter")
        self.quarters.uses += ATTEMPTS
        self.all = [*self.large, self.block, self.question]
        #: Jobs of each program that have begun.
        self.begun = dict.fromkeys((request.name for request in self.all), 0)
        self.a, self.b = self.sites = pair(options.cenote, folder)
        self.by_name = {site.name: site for site in self.sites}

    def start(self):
        head("1  Two services, a process and a directory each, paired by their certificates")
        began = time.monotonic()
        for site in self.sites:
            if self.options.ready:
                site.keep_ready(self.options.ready)
            site.start()
        for site in self.sites:
            site.wait_ready()
            peer = site.client.status().peer
            say(f"{site.name}: pid {site.process.pid}, {peer.role}, API at {site.api}, knows {peer.name} as {peer.fingerprint[:16]}..")
        self.pools()
        say(f"ready after {time.monotonic() - began:.1f} s")

    def pools(self):
        for lane in self.a.client.status().lanes:
            begun = f"{lane.pools[0]} {'pools' if lane.pools[0] > 1 else 'pool'} begun with this peer"
            chance = f"a cheater succeeds with 2^{lane.epsilon_log2:.1f} at most"
            say(f"lane of {lane.name} jobs: {lane.ready:,} triples ready, {begun}, {chance}")

    def permit(self):
        head("2  Each owner registers the programs and says what may run, on which data, how often")
        for site, table in zip(self.sites, self.tables):
            site.write_data("purchases", requests.columns(table))
            names = [*requests.columns(table)]
            schema = [{"name": name, "kind": "integer", "unique": name == "customer"} for name in names]
            bound = site.client.bind("purchases", "data/purchases.csv", {"columns": schema})
            say(f"{site.name}: data set {bound.name}, {bound.rows:,} customers, BLAKE3 {bound.digest[:16]}..")
        self.b.write_data("share", self.share)
        self.b.client.bind("share", "data/share.csv", {"columns": [{"name": "byte", "kind": "integer"}]})
        say(f"{'program':<18} {'digest':<12} {'ANDs':>10}  answer to  uses")
        for request in self.all:
            views = [site.client.register(request.program) for site in self.sites]
            ensure(views[0].digest == views[1].digest, f"{request.name} is not the same program on both sides")
            for site, sources in zip(self.sites, request.sources):
                whose = "both" if sources else "own"
                uses = None if request.asks == site.name else request.uses
                site.client.approve(request.program, sources, whose, uses=uses)
            say(f"{request.name:<18} {views[0].digest[:10]}.. {views[0].ands:>10,}  {request.to:<9}  {request.uses}")

    def answer(self, request):
        """Asks for a job, and compares what both sides have with the answer in the clear."""
        asking, other = self.by_name[request.asks], self.b if request.asks == "a" else self.a
        job = asking.client.submit(request.program, request.inputs)
        result = job.result(LONG)
        self.begun[request.name] += 1
        theirs = other.client.job(job.id).result(LONG)
        a, b = (result, theirs) if asking is self.a else (theirs, result)
        ensure(close(a, request.expected, 0), f"{request.name} gave {a}, in the clear it is {request.expected}")
        nothing = b is None or all(part is None for part in b) if request.to == "A only" else close(b, a, 0)
        ensure(nothing, f"{request.name} gave B {b}")
        cost = job.view.cost
        sent = f"{cost.ands:,} ANDs, {cost.seconds:.2f} s, {(cost.bytes_sent + cost.bytes_received) / 1e6:.1f} MB"
        say(f"{request.name}, asked by {request.asks}: {sent}; as in the clear")
        for line in request.tell(a):
            say(f"    {line}")

    def answers(self):
        head("3  Requests on real purchases; each answer is compared with what Python computes from both tables")
        for request in [*self.large, self.block]:
            self.answer(request)
        top = next(request for request in self.large if request.name == "top_shared")
        try:
            self.a.client.run(top.program, timeout=LONG)
        except cn.JobRefused as refused:
            say(f"top_shared once more: refused, {refused.job.reason}")
        else:
            ensure(False, "B permitted top_shared once, and it ran twice")

    def ask(self, site, customers):
        """Questions about customers, all submitted before the first answer is waited for."""
        return [(who, site.client.submit(self.question.program, select={"customer": who})) for who in customers]

    def check(self, jobs):
        for who, job in jobs:
            ensure(job.result(LONG) is self.question.expected[who], f"the answer about customer {who} is wrong")
        self.begun[self.question.name] += len(jobs)

    def stream(self):
        head("4  A stream of small requests from both sides at once, each about one customer")
        half = len(self.asked) // 2
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            jobs = [both.submit(self.ask, *these) for these in ((self.a, self.asked[:half]), (self.b, self.asked[half:]))]
            jobs = [pair for asked in jobs for pair in asked.result()]
        self.check(jobs)
        self.rate(f"questions whether a customer spent more than {requests.example.dollars(requests.LIMIT)}", len(jobs), began)
        began = time.monotonic()
        blocks = [self.a.client.submit(self.block.program, self.block.inputs) for _ in range(self.options.blocks)]
        for job in blocks:
            ensure(job.result(LONG) == self.block.expected, "a block is not that of FIPS 197")
        self.begun[self.block.name] += len(blocks)
        self.rate("blocks of AES under a shared key", len(blocks), began)

    def rate(self, what, number, began):
        seconds = time.monotonic() - began
        say(f"{number} {what}: {seconds:.2f} s, {number / seconds:.0f} jobs/s, all of them right")

    def kill(self):
        head("5  B is killed while a job runs (SIGKILL), and starts again")
        for _ in range(ATTEMPTS):
            job = self.a.client.submit(self.quarters.program)
            self.wait_running(job)
            self.b.kill()
            self.begun[self.quarters.name] += 1
            if job.wait(LONG).state == "failed":
                break
            self.restart()
        ensure(job.view.state == "failed", "every job was faster than the kill: take more rows")
        say(f"at A, {self.quarters.name} has {job.view.state}: {job.view.reason}")
        waiting = self.ask(self.a, (self.asked * MEANWHILE)[:MEANWHILE])
        say(f"A is asked {MEANWHILE} questions meanwhile: {', '.join(sorted({job.view.state for _, job in waiting}))}")
        took = self.restart()
        view = self.b.client.job(job.id).view
        ensure(view.state == "failed", f"B has {view.state} for the job in which it was killed")
        say(f"B is back, and ready after {took:.1f} s. There the job has {view.state}: {view.reason}")
        self.check(waiting)
        say(f"the {MEANWHILE} questions were answered, rightly. The job that failed is asked for once more:")
        self.answer(self.quarters)

    def wait_running(self, job):
        """Until B has begun the job as well, or it has ended."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            theirs = [other.view for other in self.b.client.jobs(limit=5) if other.id == job.id]
            if theirs and (theirs[0].ended or theirs[0].state == "running"):
                return
            time.sleep(0.005)

    def restart(self):
        began = time.monotonic()
        self.b.start()
        for site in (self.b, self.a):
            site.wait_ready()
        return time.monotonic() - began

    def accounts(self):
        head("6  Nothing was lost, nothing was used twice")
        ended = [{job.id: job.view.state for job in site.client.all_jobs() if job.view.state != "refused"} for site in self.sites]
        ensure(ended[0] == ended[1], "the services disagree on jobs")
        states = {state: list(ended[0].values()).count(state) for state in set(ended[0].values())}
        ensure(states == {"done": sum(self.begun.values()) - states.get("failed", 0), "failed": states.get("failed", 0)}, f"jobs: {states}")
        say(f"jobs, the same on both sides: {states['done']} done, {states['failed']} failed, none waits")
        for site in self.sites:
            names = {program.digest: program.name for program in site.client.programs()}
            spent = {names[view.terms.program]: view.spent for view in site.client.approvals()}
            ensure(spent == self.begun, f"{site.name} has spent {spent} uses, {self.begun} jobs have begun")
        say(f"uses spent, the same on both sides: {', '.join(f'{name} {number}' for name, number in self.begun.items())}")
        self.pools()
        for site in self.sites:
            site.stop()
        for site in self.sites:
            items = site.command("audit", "journal", site.folder)["items"]
            left = f"{items['small']:,} items left its small pool and stocks, {items['large']:,} the large ones"
            say(f"{site.name}: {left}, none of them twice (cenote audit journal)")
        for site in self.sites:
            log = site.command("audit", "verify", site.folder / "audit.log")
            say(f"{site.name}: {log['lines']} lines of audit log, signed and in order (cenote audit verify)")
        found = self.a.command("audit", "diff", *(site.folder / "audit.log" for site in self.sites))
        ensure(found["equal"], f"the audit logs differ: {found}")
        say(f"the logs of both agree on {found['agreed']} jobs (cenote audit diff)")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4096, help="customers of each issuer, a power of two (4096)")
    parser.add_argument("--questions", type=int, default=100, help="small requests of the stream (100)")
    parser.add_argument("--blocks", type=int, default=20, help="AES blocks of the stream (20)")
    parser.add_argument("--ready", type=int, help="triples kept ready for small jobs and for large ones; else what a new service has")
    parser.add_argument("--cenote", type=pathlib.Path, default="target/release/cenote", help="the command (target/release/cenote)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="make the services there, and leave their files")
    return parser.parse_args()


def main():
    options, began = arguments(), time.monotonic()
    # Ended in any way, it leaves no service behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="cenote-demo-") as folder:
        demo = Demo(options, options.keep or pathlib.Path(folder))
        try:
            for step in (demo.start, demo.permit, demo.answers, demo.stream, demo.kill, demo.accounts):
                step()
        finally:
            for site in demo.sites:
                site.kill()
    head(f"All answers are right. {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
