"""The shipped programs: vectors, manifests, real data, gallery, notebooks."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import sys

import pytest

import cenote

# Manifests are read with tomllib, and lifelines needs Python 3.11 as well.
pytest.importorskip("tomllib")

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from programs import gallery, notebooks, plots, shipped, vectors  # noqa: E402
from programs.common import close  # noqa: E402

#: How far the fixed-point results of the vectors may be from floating point.
TOLERANCE = {"logistic": 4e-4, "log_rank": 2e-5, "kaplan_meier": 5e-6}

VECTORS = [
    pytest.param(name, program, vector, id=f"{program}-{vector['case']}-{number}")
    for name in shipped.NAMES
    for program, own in shipped.stored_vectors(name).items()
    for number, vector in enumerate(own)
]
JOBS = [
    pytest.param(name, sequence["jobs"], id=f"{name}-{sequence['case']}-{number}")
    for name in shipped.STANDING
    for number, sequence in enumerate(shipped.stored_jobs(name))
]


def function(name, program):
    return getattr(shipped.module(name, "program"), program)


def compiled(name, program, vector):
    made = function(name, program).compile(**vector["parameters"])
    return made, dict(zip(made.inputs, vector["inputs"]))


def standing(name, job):
    made = getattr(shipped.module(name, "standing"), job["program"]).compile(**job["parameters"])
    return made, dict(zip(made.inputs, job["inputs"]))


@pytest.mark.parametrize(("program", "before", "most"), [("logistic", 16_253, 14_447), ("tree", 897, 897)])
def test_optimised_programs_need_no_more_ands(program, before, most):
    (example,) = (one for one in gallery.examples("credit_scoring") if one.name == program)
    made = example.compiled()
    smaller = made.optimised()
    assert made.cost()["ands"] == before
    assert smaller.cost()["ands"] <= most
    assert made.optimised(depth=True).cost()["depth"] <= made.cost()["depth"]
    assert (smaller.name, smaller.outputs) == (made.name, made.outputs)
    assert (smaller.digest != made.digest) is (most < before)
    typical = shipped.stored_vectors("credit_scoring")[program][0]
    made, inputs = compiled("credit_scoring", program, typical)
    # A simulation compares with the Python source too.
    assert made.optimised().simulate(inputs).value == made.simulate(inputs).value


def test_every_folder_is_listed():
    assert sorted(shipped.NAMES) == sorted(path.parent.name for path in shipped.FOLDER.glob("*/program.py"))
    assert sorted(shipped.STANDING) == sorted(path.parent.name for path in shipped.FOLDER.glob("*/standing.py"))


@pytest.mark.parametrize("name", shipped.NAMES)
def test_vectors_are_those_of_the_reference(name):
    assert (shipped.FOLDER / name / "vectors.json").read_text() == vectors.text(name)
    for own in shipped.stored_vectors(name).values():
        assert {"smallest", "typical", "boundary"} <= {vector["case"] for vector in own}


@pytest.mark.parametrize(("name", "program", "vector"), VECTORS)
def test_clear_and_compiled_runs_give_the_vectors(name, program, vector):
    tolerance = TOLERANCE.get(program, 0)
    assert close(function(name, program)(*vector["inputs"], **vector["parameters"]), vector["outputs"], tolerance)
    made, inputs = compiled(name, program, vector)
    run = made.simulate(inputs)
    assert close(run.value, vector["outputs"], tolerance)
    assert not run.overflow


@pytest.mark.parametrize("name", shipped.STANDING)
def test_jobs_are_those_of_the_reference(name):
    assert (shipped.FOLDER / name / "jobs.json").read_text() == vectors.jobs_text(name)
    assert {"smallest", "typical", "boundary", "hostile"} == {sequence["case"] for sequence in shipped.stored_jobs(name)}


@pytest.mark.parametrize(("name", "jobs"), JOBS)
def test_each_job_finds_what_those_before_it_left(name, jobs):
    held = {}
    for job in jobs:
        made, inputs = standing(name, job)
        run = made.simulate(inputs, memories=held)
        assert close(run.value, job["outputs"], 0)
        assert not run.overflow
    # The last one ends the memory.
    assert held == {}


@pytest.mark.parametrize("name", shipped.STANDING)
def test_updates_of_earlier_jobs_are_what_later_ones_see(name):
    """Alone, right after the memory began, requests of a typical sequence are answered otherwise."""
    (jobs,) = (sequence["jobs"] for sequence in shipped.stored_jobs(name) if sequence["case"] == "typical")
    others = 0
    for job in jobs[2:]:
        held = {}
        for one in (jobs[0], job):
            made, inputs = standing(name, one)
            value = made.simulate(inputs, memories=held).value
        others += not close(value, job["outputs"], 0)
    assert others >= 3


@pytest.mark.parametrize("name", shipped.STANDING)
def test_jobs_of_full_size(name):
    held = {}
    for example in gallery.jobs(name):
        result = example.simulate(held)
        example.check(result)
        with pytest.raises(AssertionError):
            example.check(changed(example.expected))
    assert held == {}


@pytest.mark.parametrize("backend", ["yao", "wrk"])
@pytest.mark.parametrize(("name", "program", "vector"), [v for v in VECTORS if v.values[2]["case"] == "typical"])
def test_secure_runs_give_the_vectors_for_the_price(name, program, vector, backend):
    made, inputs = compiled(name, program, vector)
    price = made.price(backend)
    run = made.run_local(inputs, backend=backend)
    assert close(run.value, vector["outputs"], TOLERANCE.get(program, 0))
    for role in ("garbler", "evaluator"):
        assert price[f"{role}_bytes_sent"] == pytest.approx(run.reports[role]["bytes_sent"], rel=0.1)


@pytest.mark.parametrize("name", shipped.NAMES)
def test_manifests_say_what_the_programs_do(name):
    manifest = gallery.manifest(name)
    stored = shipped.stored_vectors(name)
    said_of_jobs = manifest.pop("standing", {})
    assert set(manifest) == {"about", *stored}
    shown = [(compiled(name, program, own[0])[0], manifest[program]) for program, own in stored.items()]
    if name in shipped.STANDING:
        jobs = {job["program"]: job for sequence in shipped.stored_jobs(name) for job in sequence["jobs"]}
        assert set(said_of_jobs) == set(jobs)
        shown += [(standing(name, job)[0], said_of_jobs[program]) for program, job in jobs.items()]
    for made, said in shown:
        assert {key: value["owner"] for key, value in said.get("inputs", {}).items()} == {
            key: port.party for key, port in made.inputs.items()
        }
        assert [output["receivers"] for output in said["outputs"]] == [receiver for receiver, _ in made.outputs.values()]
        for role, least in said.get("smallest_group", {}).items():
            # What a service registers it with: a whole number of that side.
            assert made.inputs[least].party == role
            assert str(made.inputs[least].type).startswith("UInt[")
        assert isinstance(said["repeats_leak"], bool)
        assert said["repeats"]


def test_costs_of_the_paper_are_kept():
    ands = {program: gallery.example(program).ands for program in ("aes128", *gallery.PAPER)}
    assert ands["aes128"] == 6_400
    for program, millions in gallery.PAPER.items():
        assert ands[program] <= millions * 1e6
    # Four for the cell and one for the letters, and a strip starts and ends 31 columns outside of the table.
    assert ands["edit_distance"] < 5.2 * 1024 * 1055


def test_examples_of_the_paper_have_its_sizes_and_real_data():
    from programs.shared_customers.data import issuer
    from programs.similar_patients.data import genotypes
    from programs.similar_patients.reference import bits

    made = {program: gallery.example(program) for program in gallery.PAPER}
    ports = {program: [port.type for port in example.compiled().inputs.values()] for program, example in made.items()}
    assert ports["sort"] == [cenote.Array[cenote.UInt[32], 2048]] * 2
    assert ports["hamming"] == [cenote.Array[cenote.Bit, 2**20]] * 2
    assert len(made["edit_distance"].inputs[0]) == len(made["edit_distance"].inputs[1]) == 1024
    for numbers, name in zip(made["sort"].inputs, "ab"):
        assert numbers == [sum(quarters) for _, quarters in issuer(name)][:2048]
    # Whole people stand beside each other in the two strings, and nobody beside himself.
    _, people = genotypes()
    here, there = ([string[at : at + 4000] for at in range(0, 2**20 - 4000, 4000)] for string in made["hamming"].inputs)
    assert here == [bits(copies) for copies in people[:262]]
    assert there == [bits(copies) for copies in people[116:378]]


def test_loops_stay_loops():
    """The text of a program does not grow with its sizes."""
    for program, small, large in (
        ("edit_distance", {"n": 64, "strip": 8}, {"n": 1024, "strip": 32}),
        ("stable_matching", {"n": 3, "bits": 2}, {"n": 12, "bits": 4}),
        ("stable_matching_ram", {"n": 4, "bits": 3, "block": 2}, {"n": 16, "bits": 5, "block": 8}),
        ("kaplan_meier", {"days": 20, "every": 2}, {"days": 1232, "every": 28}),
        ("log_rank", {"days": 20}, {"days": 1232}),
        ("hot_cards", {"n": 16, "q": 2}, {"n": 4000, "q": 16}),
        ("follow_up", {"n": 16, "q": 2}, {"n": 1067, "q": 8}),
        ("shortest_path", {"n": 5}, {"n": 14}),
    ):
        name = next(name for name in shipped.NAMES if program in shipped.stored_vectors(name))
        one, two = (function(name, program).compile(**sizes) for sizes in (small, large))
        assert len(one.show().splitlines()) == len(two.show().splitlines()) < 120
        assert one.cost()["ands"] < two.cost()["ands"]


@pytest.mark.parametrize(
    ("program", "most"), [("shared_total", 3000), ("shared_by_quarter", 4500), ("shared_groups", 4600), ("top_shared", 3000)]
)
def test_layers_of_a_network_are_a_few_statements_each(program, most):
    """The text grows with the layers of the merging network, never with their exchanges."""
    sizes = [len(function("shared_customers", program).compile(n=n).to_bytes()) for n in (1024, 2048, 4096)]
    assert sizes[2] < most
    assert 0 < sizes[2] - sizes[1] < 400
    assert 0 < sizes[1] - sizes[0] < 400


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="strips of 32 rows do not make 100"):
        function("edit_distance", "edit_distance").compile(n=100)
    for program in ("shared_total", "shared_by_quarter", "top_shared"):
        with pytest.raises(ValueError, match="power of two"):
            function("shared_customers", program).compile(n=3)


def test_shared_customers_are_those_of_the_demonstration():
    """What `make demo` shows, as Rust code of another demonstration computed it from the same tables."""
    total, quarters, groups, top, median = (example.expected for example in gallery.examples("shared_customers"))
    assert total == [True, 500, 8_605_449]
    assert quarters[1] == [140, 23, 11, 13, 19, 0]
    assert quarters[2] == [1_384_521, 209_201, 141_810, 152_448, 159_162, 0]
    assert groups == [True, [140, 23, 0, 0, 19, 0], [1_384_521, 209_201, 0, 0, 159_162, 0]]
    assert top == [True, [586, 313, 10_902, 2_484, 4_881, 1_760, 6_120, 14_023, 19_667, 9_921]]
    assert median == 4_072


def test_survival_is_what_lifelines_says():
    import lifelines
    import pandas
    from lifelines.statistics import logrank_test
    from programs.survival import data, example

    # The programs give what the reference says, see test_examples_of_full_size; here the reference is compared.
    patients = pandas.DataFrame(data.patients("a") + data.patients("b"), columns=["arm", "day", "event"])
    one, two = (patients[patients.arm == arm] for arm in (0, 1))
    expected = logrank_test(one.day, two.day, one.event, two.event)
    rank, curves = gallery.examples("survival")
    told = next(rank.report(rank.expected))
    assert told == f"log-rank statistic {expected.test_statistic:.4f}, p = {expected.p_value:.2g}"
    for group, curve in zip((one, two), curves.expected):
        fitted = lifelines.KaplanMeierFitter().fit(group.day, group.event)
        days = [example.EVERY * (period + 1) - 1 for period in range(len(curve))]
        assert [f"{share:.4f}" for share in curve] == [f"{share:.4f}" for share in fitted.predict(days)]


def test_models_tell_good_from_bad_loans():
    from programs.credit_scoring import data, reference, train

    known, unseen = data.split()
    assert (len(known), len(unseen)) == (800, 200)
    forms, bad = [data.applicant(loan) for loan in unseen], [loan[2] for loan in unseen]
    card, questions, weights = train.scorecard(known, 500), train.tree(known), train.logistic(known)
    risks = {
        "scorecard": [-reference.scorecard(card, form)[0] for form in forms],
        "tree": [reference.tree(questions, form) for form in forms],
        "logistic": [reference.logistic(weights, form) for form in forms],
    }
    for name, least in (("scorecard", 0.73), ("tree", 0.65), ("logistic", 0.74)):
        assert area(risks[name], bad) > least, name


def area(risks, bad):
    """The probability that a bad loan has a higher risk than a good one."""
    pairs = [(x > y) + (x == y) / 2 for x, b in zip(risks, bad) if b for y, g in zip(risks, bad) if not g]
    return sum(pairs) / len(pairs)


def test_a_list_of_ten_thousand_cards_costs_what_its_map_does():
    from programs.hot_cards.data import RANGES, luhn, stream

    for n, q in ((256, 16), (10_000, 16)):
        # Keys of 54 bits, reasons of 4, days of 16: in order or not, today's expiries, and for each payment a look-up and a report.
        parts = (n - 1) * (54 + 2) + n - 2, n * (16 + 1), q * n * (54 + 4), q * (n * (2 * 54 + 4 + 16 + 2) + 1)
        # Whether a payment is a report, whether the list is good for it and for its answers; and the day on which reports end.
        assert function("hot_cards", "hot_cards").compile(n=n, q=q).cost()["ands"] == sum(parts) + 9 * q + 13
    assert [luhn(number) for number in (411111111111111, 555555555555444, 7992739871)] == [4111111111111111, 5555555555554444, 79927398713]
    entries, payments = stream(10_000, 16)
    numbers = [card for card, *_ in entries + payments]
    assert len({card for card, *_ in entries}) == 10_000
    assert {number // 10**10 for number in numbers} == set(RANGES)
    assert [luhn(number // 10) for number in numbers] == numbers
    # A card that is reported is found later in the same run.
    (example,) = gallery.examples("hot_cards")
    _, _, hot, _, taken = example.expected
    cards = example.inputs[2]["card"]
    assert any(taken[k] and cards[k] in cards[k + 1 :] and not hot[k] for k in range(16))


def test_shortest_ways_are_those_of_floyd_and_warshall():
    from programs.shortest_path.data import streets
    from programs.shortest_path.program import shortest_path
    from programs.shortest_path.reference import shortest_path as reference

    _, roads = streets()
    n = len(roads)
    lengths = [[0 if a == b else roads[a][b] or 10**6 for b in range(n)] for a in range(n)]
    for k, a, b in itertools.product(range(n), repeat=3):
        lengths[a][b] = min(lengths[a][b], lengths[a][k] + lengths[k][b])
    for start, goal in itertools.product(range(n), repeat=2):
        found, length, path = reference(roads, start, goal)
        assert (found, length) == (True, lengths[start][goal])
        assert (path[0], path[-1]) == (goal, start)
        assert length == sum(roads[b][a] for a, b in itertools.pairwise(path))
        if (start + goal) % 9 == 0:
            assert close(shortest_path(roads, start, goal, n=n), [found, length, path], 0)


def test_matchings_are_stable():
    from programs.stable_matching.reference import stable_matching, unstable_pairs

    for own in shipped.stored_vectors("stable_matching").values():
        for vector in own:
            wishes, ranks = vector["inputs"]
            assert not unstable_pairs(wishes, ranks, vector["outputs"])
    # In the examples not everybody wants the same, and no two lists of lenders are alike.
    for example, wanted in zip(gallery.examples("stable_matching"), (7, 20)):
        assert len({tuple(wished) for wished in example.inputs[0]}) >= wanted
        assert len({tuple(ranks) for ranks in example.inputs[1]}) == 8
    # A wrong matching is noticed.
    wishes, ranks = shipped.stored_vectors("stable_matching")["stable_matching"][1]["inputs"]
    assert unstable_pairs(wishes, ranks, stable_matching(wishes, ranks)[::-1])


def test_a_memory_matches_more_for_less():
    def ands(program, n, **sizes):
        return function("stable_matching", program).compile(n=n, bits=n.bit_length(), **sizes).cost()["ands"]

    assert gallery.example("stable_matching_ram").ands == ands("stable_matching_ram", 64) < 0.45 * ands("stable_matching", 64)
    assert ands("stable_matching_ram", 128, block=4) < 0.25 * ands("stable_matching", 128)
    with pytest.raises(ValueError, match="blocks of 8 wishes do not make 12"):
        ands("stable_matching_ram", 12)


def test_a_search_costs_one_look_at_all_rows_and_many_cost_less():
    def cost(q, depth=16):
        return function("binary_search", "binary_search").compile(depth=depth, q=q).cost()

    # At a secret place one AND for each bit of a row and one for the row; and a comparison, two choices, a bit for each look.
    rows = 2**16
    assert rows * 40 <= cost(4)["ands"] / 4 <= rows * 40 + 200
    assert cost(1024)["ands"] / 1024 < 0.25 * rows * 40
    assert any(memory["levels"] for memory in cost(1024)["memories"])
    assert {memory["reads"] for memory in cost(3)["memories"]} == {3}
    # A text that grows with the looks, not with the rows.
    lines = [len(function("binary_search", "binary_search").compile(depth=depth, q=2).show().splitlines()) for depth in (8, 12, 16)]
    assert lines[2] - lines[1] == lines[1] - lines[0] < 60


def test_searches_find_what_looking_at_all_ranges_does():
    from programs.binary_search.data import ranges
    from programs.binary_search.reference import binary_search, columns

    own = ranges(2**16)
    assert own == ranges(2**16)
    assert (len(own), own[0][0]) == (2**16, 0)
    addresses = [own[5][0], own[77][0] - 1, own[-1][0], 2**32 - 1, 0, 2**31]
    last = [max(k for k, (start, _) in enumerate(own) if start <= address) for address in addresses]
    assert binary_search(columns(own), addresses) == [[True] * 6, [own[k][1] for k in last]]


@pytest.mark.parametrize("name", shipped.NAMES)
def test_examples_of_full_size(name):
    """On the backend ``plain``, and on ``wrk`` where that takes a moment."""
    for example in gallery.examples(name):
        for backend in ("plain", "wrk") if example.ands < 50_000 else ("plain",):
            result = example.run_local(backend)
            example.check(result)
            assert list(example.report(result)) == list(example.report(example.expected))


def test_a_wrong_result_is_noticed():
    for name in shipped.NAMES:
        for example in gallery.examples(name):
            with pytest.raises(AssertionError):
                example.check(changed(example.expected))


def changed(result):
    """A result that differs a little, in one place."""
    if isinstance(result, dict):
        return dict(zip(result, changed(list(result.values()))))
    if isinstance(result, (list, tuple)):
        return [*result[:-1], changed(result[-1])]
    return not result if isinstance(result, bool) else result + (1e-3 if isinstance(result, float) else 1)


def test_the_gallery_is_current():
    assert gallery.PAGE.read_text() == gallery.page(), "run make gallery"


def test_the_gallery_shows_all_sources_and_prices():
    page = gallery.PAGE.read_text()
    for name in shipped.NAMES:
        folder = shipped.FOLDER / name
        own = (folder / "program.py").read_text()
        for source in [own] + [path.read_text() for path in folder.glob("standing.py")]:
            for line in source.split('"""', 2)[2].splitlines():
                assert line in page
        # What a program takes from beside it is shown as well.
        for part in re.findall(r"^from \.(\w+) import", own, re.M):
            assert f"<summary>{part}.py</summary>" in page
    for backend, least in (("yao", 32), ("wrk", 150)):
        price = gallery.example("sort").compiled().price(backend)
        moved = price["garbler_bytes_sent"] + price["evaluator_bytes_sent"]
        assert moved > least * gallery.example("sort").ands
        assert f"| {gallery.size(moved)} |" in page
    assert [gallery.size(number) for number in (7, 999, 999.5, 12_345, 999_600, 8.91e9)] == [
        *("7 B", "999 B", "1.00 kB", "12.3 kB", "1.00 MB", "8.91 GB")
    ]


def test_the_figures_are_current(tmp_path):
    plots.draw(tmp_path)
    for name in plots.FIGURES:
        made, stored = ((folder / f"{name}.svg").read_text() for folder in (tmp_path, plots.FOLDER))
        assert plots.texts(made) == plots.texts(stored) != []
        assert len(stored) < 60_000


@pytest.mark.parametrize("name", shipped.NAMES)
def test_notebooks_are_current(name):
    stored = (shipped.FOLDER / name / f"{name}.ipynb").read_text()
    assert stored == notebooks.notebook(name), "run make gallery"
    # They run alone: nothing is imported from the folder that they are in, and each program has a cell of its own.
    code = ["".join(cell["source"]) for cell in json.loads(stored)["cells"] if cell["cell_type"] == "code"]
    assert not any(re.search(r"^from \.", text, re.M) for text in code)
    programs = len(shipped.stored_vectors(name)) + len(gallery.manifest(name).get("standing", {}))
    assert [text.count("@cn.program") for text in code] == [0] + [1] * programs + [0] * (len(code) - 1 - programs)


@pytest.mark.parametrize("path", sorted(shipped.FOLDER.glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(path, monkeypatch):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert not any(cell.outputs or cell.execution_count for cell in cells), "clear the outputs before committing"
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(cenote.__file__).parents[1]), prepend=":")
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=folder).execute()


def test_programs_print_their_results(capsys):
    from programs.auction import example
    from programs.common import main

    main(example.examples(), [])
    assert capsys.readouterr().out == "auction (2,502 ANDs, backend plain)\n  bidder 4 of the second house wins and pays $385.61\n"
