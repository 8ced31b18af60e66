"""Two card issuers ask joint questions through a service each, and one of the services is killed in between. docs/demo.md tells it."""

import argparse
import concurrent.futures
import pathlib
import signal
import sys
import tempfile
import time

from programs.common import close
from programs.shared_customers.data import issuer

from . import requests
from .services import pair

#: Seconds for which an answer is waited.
LONG = 300
#: How often a job is asked for until one runs when its service is killed.
ATTEMPTS = 5
#: Questions that wait while a service is away.
MEANWHILE = 10


def say(text, head=False):
    bold = head and sys.stdout.isatty()
    print(("\n\033[1m{}\033[0m" if bold else "\n{}" if head else "  {}").format(text), flush=True)


def ensure(good, what):
    """Ends the demonstration unless what it claims is so."""
    if not good:
        raise SystemExit(f"demo: {what}")


class Demo:
    """Both services, the requests, and what was asked for so far."""

    def __init__(self, options, folder):
        self.options, self.tables = options, [issuer(side)[: options.rows] for side in "ab"]
        self.large = requests.large_requests(*self.tables)
        _, self.quarters, self.top, *_ = self.large
        self.question, self.asked = requests.question(*self.tables, options.questions)
        self.block, self.share = requests.shared_key()
        self.question.uses, self.block.uses = options.questions + MEANWHILE, 1 + options.blocks
        self.quarters.uses += ATTEMPTS
        self.all = [*self.large, self.block, self.question]
        #: Jobs of each program that have begun.
        self.begun = {request.name: 0 for request in self.all}
        self.a, self.b = self.sites = pair(options.cenote, folder)

    def start(self):
        say("1  Two services, a process and a directory each, paired by their certificates", head=True)
        began = time.monotonic()
        for site in self.sites:
            if self.options.ready:
                site.keep_ready(self.options.ready)
            site.start()
        for site in self.sites:
            site.wait_ready()
            peer = site.client.status().peer
            say(f"{site.name}: pid {site.process.pid}, {peer.role}, API at {site.api}, knows {peer.name} as {peer.fingerprint[:14]}..")
        say(f"ready after {time.monotonic() - began:.1f} s")
        self.pools()

    def pools(self):
        status = self.a.client.status()
        for lane in status.lanes:
            say(f"lane of {lane.name} jobs: {lane.ready:,} triples ready")
        say(f"pools begun: {status.peer.pools[0]}, so a cheater succeeds with 2^{status.peer.epsilon_log2:.1f} at most")

    def permit(self):
        say("2  Each owner registers the programs, and says what may run, on which data, how often", head=True)
        for site, table in zip(self.sites, self.tables):
            bound = site.bind("purchases", requests.columns(table), "customer")
            say(f"{site.name}: data set {bound.name}, {bound.rows:,} customers, BLAKE3 {bound.digest[:16]}..")
        self.b.bind("share", self.share)
        say(f"{'program':<18} {'digest':<12} {'ANDs':>10}  answer to  uses")
        for request in self.all:
            views = [site.client.register(request.program) for site in self.sites]
            ensure(views[0].digest == views[1].digest, f"{request.name} is not the same program on both sides")
            for site, sources in zip(self.sites, request.sources):
                uses = None if request.asks == site.name else request.uses
                site.client.approve(request.program, sources, "both" if sources else "own", uses=uses)
            say(f"{request.name:<18} {views[0].digest[:10]}.. {views[0].ands:>10,}  {request.to:<9}  {request.uses}")

    def answer(self, request):
        """Asks for a job, and compares what both sides have with the answer in the clear."""
        asking, other = self.sites if request.asks == "a" else self.sites[::-1]
        job = asking.client.submit(request.program, request.inputs)
        results = {asking: job.result(LONG), other: other.client.job(job.id).result(LONG)}
        self.begun[request.name] += 1
        a, b = results[self.a], results[self.b]
        ensure(close(a, request.expected, 0), f"{request.name} gave {a}, in the clear it is {request.expected}")
        ensure(all(part is None for part in b) if request.to == "A only" else close(b, a, 0), f"{request.name} gave {b} to B")
        cost = job.view.cost
        took = f"{cost.ands:,} ANDs, {cost.seconds:.2f} s, {(cost.bytes_sent + cost.bytes_received) / 1e6:.1f} MB"
        say(f"{request.name}, asked by {request.asks}: {took}; as in the clear")
        return a

    def answers(self):
        say("3  Requests on real purchases; each answer is compared with that of ordinary Python on both tables", head=True)
        for request in [*self.large, self.block]:
            for line in request.tell(self.answer(request)):
                say(f"    {line}")
        again = self.a.client.submit(self.top.program).wait(LONG)
        ensure(again.state == "refused", "B permitted top_shared once, and it ran twice")
        say(f"{self.top.name} once more: refused, {again.reason}")

    def ask(self, site, customers):
        """Questions about customers, all submitted before the first answer is waited for."""
        return [(who, site.client.submit(self.question.program, select={"customer": who})) for who in customers]

    def check(self, jobs):
        for who, job in jobs:
            ensure(job.result(LONG) is self.question.expected[who], f"the answer about customer {who} is wrong")
        self.begun[self.question.name] += len(jobs)

    def stream(self):
        say("4  A stream of small requests, from both sides at once", head=True)
        half, began = len(self.asked) // 2, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            first, second = both.map(self.ask, self.sites, (self.asked[:half], self.asked[half:]))
            self.check([*first, *second])
        self.rate(f"questions whether a customer spent more than ${requests.LIMIT // 100} at both", len(self.asked), began)
        began = time.monotonic()
        for job in [self.a.client.submit(self.block.program, self.block.inputs) for _ in range(self.options.blocks)]:
            ensure(job.result(LONG) == self.block.expected, "a block is not that of FIPS 197")
            self.begun[self.block.name] += 1
        self.rate("blocks of AES under a shared key", self.options.blocks, began)

    def rate(self, what, number, began):
        seconds = time.monotonic() - began
        say(f"{number} {what}: {seconds:.2f} s, {number / seconds:.0f} jobs/s, all of them right")

    def kill(self):
        say("5  B is killed while a job runs (SIGKILL), and starts again", head=True)
        for _ in range(ATTEMPTS):
            job = self.a.client.submit(self.quarters.program)
            while not any(job.id == other.id and other.state not in ("submitted", "queued") for other in self.b.client.jobs(limit=5)):
                time.sleep(0.005)
            self.b.kill()
            self.begun[self.quarters.name] += 1
            if job.wait(LONG).state == "failed":
                break
            self.restart()
        ensure(job.state == "failed", "every job was faster than the kill: take more rows")
        say(f"at A, {self.quarters.name} has {job.state}: {job.view.reason}")
        waiting = self.ask(self.a, (self.asked * MEANWHILE)[:MEANWHILE])
        say(f"A is asked {MEANWHILE} questions meanwhile: {', '.join(sorted({job.state for _, job in waiting}))}")
        took, view = self.restart(), self.b.client.job(job.id).view
        ensure(view.state == "failed", f"B has {view.state} for the job in which it was killed")
        say(f"B is back, and ready after {took:.1f} s. There the job has {view.state}: {view.reason}")
        self.check(waiting)
        say(f"the {MEANWHILE} questions were answered, rightly; the job that failed is asked for once more")
        self.answer(self.quarters)

    def restart(self):
        began = time.monotonic()
        self.b.start()
        for site in (self.b, self.a):
            site.wait_ready()
        return time.monotonic() - began

    def accounts(self):
        say("6  Nothing was lost, nothing was used twice", head=True)
        ended = [{job.id: job.state for job in site.client.all_jobs() if job.state != "refused"} for site in self.sites]
        states = list(ended[0].values())
        done, failed = states.count("done"), states.count("failed")
        ensure(ended[0] == ended[1] and failed == 1 and done + failed == len(states) == sum(self.begun.values()), f"jobs: {ended}")
        say(f"jobs, the same on both sides: {done} done, {failed} failed, none waits")
        for site in self.sites:
            names = {program.digest: program.name for program in site.client.programs()}
            spent = {names[view.terms.program]: view.spent for view in site.client.approvals()}
            ensure(spent == self.begun, f"{site.name} has spent {spent} uses, {self.begun} jobs have begun")
        say(f"uses spent, the same on both sides: {', '.join(f'{name} {number}' for name, number in self.begun.items())}")
        self.pools()
        for site in self.sites:
            site.stop()
            items = site.command("audit", "journal", site.folder)["items"]
            left = f"{items['small']:,} items left stocks and pool for small jobs, {items['large']:,} those for large ones"
            say(f"{site.name}: {left}, none twice (cenote audit journal)")
        logs = [site.folder / "audit.log" for site in self.sites]
        lines = [self.a.command("audit", "verify", log)["lines"] for log in logs]
        say(f"audit logs: {lines[0]} and {lines[1]} lines, signed and in order (cenote audit verify)")
        found = self.a.command("audit", "diff", *logs)
        ensure(found["equal"], f"the audit logs differ: {found}")
        say(f"both agree on {found['agreed']} jobs (cenote audit diff)")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rows", type=int, default=4096, help="customers of each issuer, a power of two")
    parser.add_argument("--questions", type=int, default=100, help="small requests of the stream")
    parser.add_argument("--blocks", type=int, default=20, help="AES blocks of the stream")
    parser.add_argument("--ready", type=int, help="triples kept ready in each lane; without it, what a new service has")
    parser.add_argument("--cenote", type=pathlib.Path, default="target/release/cenote", help="the command")
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
    say(f"All answers are right. {time.monotonic() - began:.0f} s", head=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
