"""docs/results.md: the evaluation of POOL (CCS 2017), measured again: ``python -m programs.tables [--quick] [--hour]``.

Everything is measured by ``cenote bench`` and ``cenote params`` of the command in CENOTE_BIN, or target/release. What the paper says stands
beside it as quoted: it is from other machines.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

from . import drawing

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs/results.md"
FIGURES = ROOT / "docs/results"
LINES = {"loopback": [], "LAN": ["--mbit", "2500", "--rtt-ms", "0.5"], "WAN": ["--mbit", "200", "--rtt-ms", "20"]}
#: ANDs of pools of table 5: the paper has the first and 35 million. These functions use both up.
POOLS = (35_000, 1_000_000)

#: Seconds of table 3.
FILL = {
    "and": {10_000: 0.34, 100_000: 2.94, 1_000_000: 29.5, 10_000_000: 411.4},
    "mux8": {10_000: 1.92, 100_000: 18.82, 1_000_000: 188.53, 10_000_000: 2374.3},
}
#: The most cores of multiplexers of 8 bits that `cenote` takes in a stored pool.
MOST_MUX8 = 1_200_000
#: Bytes of table 4: garbler, evaluator.
STORED = {"and": (288, 240), "mux8": (1856, 1584)}
#: Seconds and GB of table 5 with pools of 35K and 35M, by line.
APPLICATIONS = {
    "sort of 4,096 numbers": {"LAN": ((149.3, 27.0), (87.1, 15.9)), "WAN": ((1168, None), (662.6, 13.7))},
    "Hamming distance of 2^20 bits": {"LAN": ((36.9, 6.42), (24.9, 3.8)), "WAN": ((268.9, None), (160, 5.0))},
    "edit distance of 1,024 symbols": {"LAN": ((1247, 215), (741.2, 127)), "WAN": ((9450, 213), (5333, None))},
    "access, one tree": {"LAN": ((46.6, 6.38), (31.4, 3.96)), "WAN": ((279.6, None), (174.7, None))},
    "access, recursive": {"LAN": ((15.4, 1.9), (11.2, 1.08)), "WAN": ((83.2, None), (48.0, None))},
}
#: Least pools of table 6, by rho and size of buckets.
LEAST = {
    40: {3: 479_000, 4: 7_673, 5: 1_073},
    64: {3: 1_960_000_000, 4: 1_963_000, 5: 68_300},
    80: {3: 501_800_000_000, 4: 79_150_000, 5: 1_093_000},
}
#: The most leaky ANDs that a pool of `cenote` has.
MOST_LEAKY = 1 << 28
#: ANDs an hour of the paper's service.
HOURLY = 278_000_000


@dataclasses.dataclass
class Job:
    """A function of table 5, and the part of it that is run where the whole takes too long."""

    whole: list
    part: list
    said: str


JOBS = {
    "sort of 4,096 numbers": Job(["sort", "--n", "4096"], ["sort", "--n", "512"], "512 numbers"),
    "Hamming distance of 2^20 bits": Job(["hamming", "--bits", "1048576"], ["hamming", "--bits", "131072"], "2^17 bits"),
    "edit distance of 1,024 symbols": Job(
        ["edit", "--n", "1024", "--bits", "2"], ["edit", "--n", "1024", "--bits", "2", "--rows", "32"], "32 rows"
    ),
}
ACCESSES = {"access, one tree": "--flat", "access, recursive": "--recursive"}
#: As many gates as the largest circuit of Kreuter, shelat and Shen (USENIX Security 2012).
LARGE_EDIT = ["edit", "--n", "22200", "--bits", "2"]
#: ANDs above which a part is run, by line.
LONG = {"loopback": 10_000_000, "LAN": 10_000_000, "WAN": 1_000_000}


def command():
    """The command that is measured."""
    return os.environ.get("CENOTE_BIN", str(ROOT / "target/release/cenote"))


def cenote(arguments):
    """What a command of `cenote` answers."""
    answer = subprocess.run([command(), *arguments, "--json"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise RuntimeError(f"cenote {' '.join(arguments)}: {answer.stderr.strip() or answer.stdout}")
    return json.loads(answer.stdout)


def bench(arguments):
    """A measurement."""
    print("cenote bench", *arguments, file=sys.stderr, flush=True)
    return cenote(["bench", *arguments])


def params(*arguments):
    """Derived parameters."""
    return cenote(["params", *map(str, arguments)])


def number(value, digits=3):
    """A figure with so many digits that count, or a dash."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{float(text):g}"


def table(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def filling(sizes):
    """Table 3: seconds to fill a pool."""
    rows = []
    for gadget, name in (("and", "AND"), ("mux8", "multiplexer core of 8 bits")):
        for size in sizes:
            most = min(size, MOST_MUX8) if gadget == "mux8" else size
            filled = bench(["pool-fill", "--backend", "jimu", "--gadget", gadget, "--size", str(most)])
            said = f"{most:,}" if most == size else f"{most:,}, the most that a stored pool has"
            rows.append([name, said, f"{100 * filled['check_rate']:.1f} %", number(filled["fill_s"]), number(FILL[gadget][size])])
    for size in (size for size in sizes if size >= 10_000):
        filled = bench(["and", "--backend", f"wrk:pool={size}", "--ands", "1000"])
        rows.append(["leaky AND of `wrk`", f"{size:,}", "-", number(filled["fill_s"]), "-"])
    return table(["item", "pool", "checked", "s", "paper, s"], rows)


def storage():
    """Table 4: bytes of an item at each side."""
    rows = []
    for gadget, name in (("and", "AND"), ("mux8", "multiplexer core of 8 bits")):
        kept = bench(["pool-fill", "--backend", "jimu", "--gadget", gadget, "--size", "10000"])["stored_bytes_per_item"]
        theirs = STORED[gadget]
        rows.append([name, kept["garbler"], kept["evaluator"], *theirs])
    return table(["item", "garbler", "evaluator", "paper: garbler", "evaluator"], rows)


def backends(line):
    """What table 5 is measured with on a line: the largest pool as well where no line is the limit."""
    pools = POOLS if line == "loopback" else POOLS[:1]
    return ["wrk", *(f"jimu:pool={pool}" for pool in pools)]


def applications(quick):
    """Table 5: seconds and GB of the functions of the paper, by line."""
    rows = []
    for line, shape in LINES.items():
        for name, job in JOBS.items():
            ands = bench([*job.whole, "--backend", "plain"])["ands"]
            short = quick or ands > LONG[line]
            # On loopback nothing is quiet but the line: medians.
            often = [] if quick or shape else ["--repeat", "3"]
            for backend in backends(line):
                run = bench([*(job.part if short else job.whole), "--backend", backend, *shape, *often])
                times = ands / run["ands"]
                gigabytes = run["steady_bytes_per_and"] * ands / 1e9
                rows.append(
                    [
                        name,
                        line,
                        f"`{backend}`",
                        f"{ands / 1e6:.2f}",
                        number(run["job_s"] * times),
                        number(gigabytes),
                        job.said if short else "whole",
                        *quoted(name, line),
                    ]
                )
        for name, how in ACCESSES.items():
            for backend in backends(line):
                run = bench(["oram", "--blocks", "10000", "--width", "32", how, "--backend", backend, *shape])
                gigabytes = run["bytes_per_access"] / 1e9
                rows.append(
                    [
                        name,
                        line,
                        f"`{backend}`",
                        f"{run['ands_per_access'] / 1e6:.3f}",
                        number(run["wall_per_access_s"]),
                        number(gigabytes),
                        f"{run['rounds_per_access']:g} rounds",
                        *quoted(name, line),
                    ]
                )
    return table(["function", "line", "here", "M ANDs", "s", "GB", "run", "paper, n = 35K", "n = 35M"], rows)


def sizes_of_memories(quick):
    """An access to memories that begin with zeros, by their size: ANDs, seconds, and memory of the larger side."""
    rows = []
    for blocks in (10_000, 1 << 16, *(() if quick else (1 << 20,))):
        run = bench(["oram", "--blocks", str(blocks), "--width", "32", "--backend", "wrk"])
        rows.append([f"{blocks:,}", f"{run['ands_per_access'] / 1e3:.0f}", number(run["wall_per_access_s"]), f"{peak(run):.0f}"])
    return table(["blocks of 32 bits", "K ANDs", "s", "MB"], rows)


#: The part of the page that stays as it is where nothing of it is run again.
LARGE = "## Large runs\n\n"


def large(wanted):
    """The largest runs: nothing of a program stays in memory. If they are not `wanted`, those that the page has."""
    if not wanted:
        page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        earlier = page.partition(LARGE)[2].partition("\n## ")[0]
        return earlier or "With `TABLES=--large`: 5.9 G gates on `yao`, 1 G ANDs on `wrk`.\n"
    rows = []
    for name, said, backend, arguments in (
        ("edit distance of 22,200 symbols", "5.9 G gates are the largest circuit of KSS12, 8.2 h on 512 cores", "yao", LARGE_EDIT),
        ("1 G ANDs", "-", "wrk", ["and", "--ands", "1000000000"]),
    ):
        run = bench([*arguments, "--backend", backend])
        rows.append([name, f"`{backend}`", f"{run['ands'] / 1e9:.2f}", f"{run['wall_s']:,.0f}", f"{peak(run):.0f}", said])
    return f"{machine()}.\n\n" + table(["run", "backend", "G ANDs", "s", "MB", "beside"], rows)


def peak(run):
    """Memory of the side that takes more, in MB."""
    return max(side["peak_rss_bytes"] for side in run["parties"].values()) / 1e6


def quoted(name, line):
    """What the paper has: seconds and GB; on its LAN, where it has no such line."""
    figures = APPLICATIONS[name].get(line) or APPLICATIONS[name]["LAN"]
    return [f"{number(seconds)} s" + (f", {gigabytes:g} GB" if gigabytes else "") for seconds, gigabytes in figures]


def bucket(size, rho):
    """The bucket of a pool of leaky ANDs, none if it is too small for any."""
    try:
        return params("--backend", "wrk", "--pool", size, "--epsilon-log2", -rho)["bucket"]
    except RuntimeError:
        return None


def least(wanted, rho):
    """The smallest pool whose buckets are that small."""
    low, high = 1, MOST_LEAKY
    found = bucket(high, rho)
    if found is None or found > wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        found = bucket(middle, rho)
        low, high = (low, middle) if found is not None and found <= wanted else (middle + 1, high)
    return low


def smallest():
    """Table 6: the least pools of `wrk`."""
    rows = []
    for rho, theirs in LEAST.items():
        for size, quotation in theirs.items():
            here = least(size, rho)
            rows.append(
                [rho, size, f"{here:,}" if here else f"above 2^{MOST_LEAKY.bit_length() - 1}, the most that is taken", f"{quotation:,}"]
            )
    return table(["rho", "bucket", "leaky ANDs", "paper"], rows)


def sizes_and_costs(quick):
    """Figures 5 and 6: what an AND costs in gates, and in time, by the size of the pool."""
    rows = []
    for power in (10, 12, 14, 16, 18, 20, 21, 22, 23):
        size = 1 << power
        derived = params("--backend", "jimu", "--pool", size, "--epsilon-log2", -40)
        microseconds = None
        if power in (12, 14, 16, 18, 20) and not (quick and power > 16):
            run = bench(["and", "--backend", f"jimu:pool={size}", "--ands", str(300_000 if power < 18 else 1_000_000)])
            microseconds = 1e6 / run["steady_ands_per_s"]
        rows.append((size, derived["bucket"], 100 * derived["check_rate"], derived["gates_per_and"], microseconds))
    return rows


def multiplexers():
    """Figure 7: what pools for multiplexers save."""
    rows = []
    for width in (8, 16, 32, 64):
        run = bench(["mux", "--backend", "jimu", "--width", str(width), "--pool", "20000"])
        rows.append((f"{width} bits", run["time_ratio"], run["bytes_ratio"]))
    job = JOBS["sort of 4,096 numbers"].part
    ways = [bench([*job, "--backend", f"jimu:pool=35000,muxcore={way}"]) for way in ("true", "false")]
    ratios = [ways[0][key] / ways[1][key] for key in ("job_s", "steady_bytes_per_and")]
    rows.append(("sort of 512 numbers", *ratios))
    return rows


def week(hour):
    """Seven days on the counters of a pool, at the speed that is measured; an hour of it for real, if it is asked for."""
    run = bench(["and", "--backend", "wrk", "--ands", "5000000"])
    rate = run["steady_ands_per_s"]
    bounds = [number(run[name]) for name in ("epsilon_log2", "adaptive_epsilon_log2")]
    hourly, in_a_week = rate * 3600 / 1e9, rate * 7 * 86_400 / 1e9
    text = (
        f"`wrk` makes and uses {hourly:.2f} G ANDs an hour (paper: {HOURLY / 1e9:.3f}), so {in_a_week:,.0f} G in seven days, with one pool "
        f"of {run['pool']:,} leaky ANDs that is filled once. However many they are, the bound of the pool is 2^{bounds[0]}, and "
        f"2^{bounds[1]} against a cheater that adapts.\n"
    )
    if hour:
        real = bench(["and", "--backend", "wrk", "--ands", str(int(rate * 3600))])
        text += (
            f"\nAn hour of it, run: {real['ands'] / 1e9:.2f} G ANDs in {real['wall_s']:,.0f} s, {peak(real):.0f} MB at most at a side.\n"
        )
    return text


def machine():
    """The machine, the day and the commit."""
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{model}, {os.cpu_count()} cores, {datetime.date.today()}, commit {commit}"


def draw(costs, savings):
    """Figures 5 to 7."""
    FIGURES.mkdir(exist_ok=True)
    sizes = [row[0] for row in costs]
    figure, axes = drawing.frame("gates for an AND, by the size of the pool", "items of the pool", "gates")
    axes.semilogx(sizes, [row[3] for row in costs], base=2, color=drawing.COLOURS[0], marker="o")
    save(figure, "figure5a")
    figure, axes = drawing.frame("time for an AND, by the size of the pool", "items of the pool", "microseconds")
    timed = [row for row in costs if row[4]]
    axes.semilogx([row[0] for row in timed], [row[4] for row in timed], base=2, color=drawing.COLOURS[0], marker="o")
    axes.set_ylim(bottom=0)
    save(figure, "figure5b")
    figure, axes = drawing.frame("bucket and share that is checked, by the size of the pool", "items of the pool", "items of a bucket")
    axes.semilogx(sizes, [row[1] for row in costs], base=2, color=drawing.COLOURS[0], marker="o", label="bucket")
    axes.set_ylim(bottom=0)
    other = axes.twinx()
    other.semilogx(sizes, [row[2] for row in costs], base=2, color=drawing.COLOURS[1], marker="s", label="checked, %")
    other.set_ylabel("checked, %")
    save(figure, "figure6")
    figure, axes = drawing.frame("with pools for multiplexers, of what it takes without", "", "share")
    for offset, column, name in ((-0.2, 1, "time"), (0.2, 2, "bytes")):
        places = [place + offset for place in range(len(savings))]
        axes.bar(places, [row[column] for row in savings], width=0.36, color=drawing.COLOURS[column - 1], label=name)
    axes.set_xticks(range(len(savings)), [row[0] for row in savings])
    axes.legend(frameon=False)
    save(figure, "figure7")


def save(figure, name):
    """Writes a figure."""
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    drawing.pyplot.close(figure)


def main(arguments=None):
    """Measures all and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small pools and parts of jobs, to see that all runs")
    parser.add_argument("--large", action="store_true", help="the largest runs as well: half an hour more")
    parser.add_argument("--hour", action="store_true", help="one hour of the seven days for real")
    chosen = parser.parse_args(arguments)
    sizes = (10_000, 100_000) if chosen.quick else tuple(FILL["and"])
    costs, savings = sizes_and_costs(chosen.quick), multiplexers()
    draw(costs, savings)
    of_costs = table(
        ["items", "bucket", "checked", "gates an AND", "us an AND"],
        [[f"{size:,}", width, f"{checked:.1f} %", f"{gates:.2f}", number(micros)] for size, width, checked, gates, micros in costs],
    )
    of_savings = table(["what", "time", "bytes"], [[name, f"{seconds:.2f}", f"{octets:.2f}"] for name, seconds, octets in savings])
    part = " With `--quick`: to see that all runs, not to compare." if chosen.quick else ""
    lan, wan = (f"{LINES[name][1]} Mbit/s and {LINES[name][3]} ms there and back" for name in ("LAN", "WAN"))
    PAGE.write_text(
        f"""# The evaluation of POOL, measured again

Written by `make tables`.{part} {machine()}. Columns headed *paper* are quoted from R. Zhu, Y. Huang, D. Cassel, "Pool: scalable
on-demand secure computation service against malicious adversaries", CCS 2017: another machine, another implementation. Both parties run on
one machine, each on one core, as processes of their own. LAN is {lan}, WAN {wan}, both
shaped by `cenote bench`. Pools of ANDs are filled before jobs, those of multiplexers by the job itself; nothing else is ready. Where a part
was run, time and bytes are those of the part, times as many ANDs as the whole has more.

## Filling a pool (table 3)

{filling(sizes)}
## What an item takes at rest (table 4)

Bytes. The garbler of `jimu` makes all but a number and a seal again from its seeds.

{storage()}
## Functions (table 5)

Seconds (on loopback medians of three) and GB both ways; an access reads or writes one of 10,000 blocks of 32 bits. Beside
loopback stands what the paper has for its LAN.

{applications(chosen.quick)}
## Memories by their size

On loopback, twenty accesses to a memory that begins with zeros; buckets that no access came to take no memory.

{sizes_of_memories(chosen.quick)}
{LARGE}{large(chosen.large)}
## Least pools of `wrk` (table 6)

{smallest()}
## Size of the pool (figures 5 and 6)

At 2^-40. ![gates](results/figure5a.svg) ![time](results/figure5b.svg) ![buckets](results/figure6.svg)

{of_costs}
## Multiplexers (figure 7)

With pools of their own, as shares of what it takes without; the job that sorts fills its pools itself. The paper saves about 30 % of the
time of a multiplexer, 6 to 23 % of applications. ![savings](results/figure7.svg)

{of_savings}
## Seven days

{week(chosen.hour)}""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
