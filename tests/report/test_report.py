from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from fanwise.cli import report as report_command
from fanwise.errors import InputError, OutputExistsError, VerificationError
from fanwise.formatting import money, percent
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.facts import fleet_passages
from fanwise.provision.problem import Provisioning
from fanwise.report import page
from fanwise.report.page import Facts, Picture, Report, Table, Text, Verdict
from fanwise.report.plans import overview_section, plan_section
from fanwise.report.workloads import ingest_section, workload_section
from fanwise.select.problem import Selection
from fanwise.workload.plot_style import new_axes
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import write_workload
from fanwise.workload.topic.statistics import workload_statistics

ATTACK = "<script>alert('&')</script>\"><img src=x onerror=alert(1)>"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Reads a page strictly: every tag closed in order, ids unique."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.text, self.addresses = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        assert not any(name.startswith("on") for name in values), attributes
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [values[name] for name in ("src", "href", "srcset") if name in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and "style" not in self.open:
            self.text.append(data.strip())


def read(report):
    text = report.html()
    parsed = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    # nothing is fetched: no link leads outside, no style imports anything
    without_pictures = re.sub(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<iframe", without_pictures)
    for address in parsed.addresses:
        assert address.startswith(("data:image/", "#section-")), address[:80]
    targets = {address[1:] for address in parsed.addresses if address.startswith("#")}
    assert targets <= set(parsed.ids)
    return parsed


@pytest.fixture(scope="module")
def workload():
    random = np.random.default_rng(4)
    subscriber, topic = np.nonzero(random.random((60, 12)) < 0.3)
    names = [ATTACK, *(f"artist {number}" for number in range(11))]
    return TopicWorkload.from_arrays(
        random.integers(1, 90, 12), subscriber, topic, num_subscribers=60, topic_names=names
    )


@pytest.fixture(scope="module")
def plan(workload):
    return Selection(workload, tau=30, capacity="40%").solve("greedy", seed=1)


def some_figure(num_points=10):
    figure, axes = new_axes()
    axes.plot(np.random.default_rng(0).random(num_points), ".", label=ATTACK)
    return figure


def test_every_kind_of_item_is_shown():
    report = Report("A title", "and what it is about").section(
        "First",
        [
            Text("A paragraph."),
            Facts([("topics", 1234), ("nothing", None), ("list", [1, "a"])], "Sizes"),
            Facts([("objective", 0.5)], is_prominent=True),
            Table(["name", "count"], [("a", 1), ("b", 20000)], "Rows", "All of them."),
            Verdict(True, "Holds."),
            Verdict(False, "Does not."),
            Picture("A cloud", some_figure()),
        ],
    )
    parsed = read(report)
    for text in ("A title", "and what it is about", "First", "A paragraph.", "1,234", '[1, "a"]',
                 "0.5", "20,000", "All of them.", "✓ Holds.", "✗ Does not.", "A cloud",
                 "Sizes", "Rows"):  # fmt: skip
        assert text in parsed.text
    assert parsed.tags.count("img") == 1
    assert report.failures == ["Does not."]
    assert 'class="number">20,000' in report.html()
    assert "<nav" not in report.html()


def test_sections_are_listed_and_linked():
    report = Report("Three")
    for title in ("one", "two", "three"):
        report.section(title, [])
    parsed = read(report)
    assert [a for a in parsed.addresses if a.startswith("#")] == [
        "#section-1",
        "#section-2",
        "#section-3",
    ]


def test_all_text_is_escaped():
    items = [
        Text(ATTACK),
        Facts([(ATTACK, ATTACK)], ATTACK),
        Facts([(ATTACK, {"key": ATTACK})], is_prominent=True),
        Table([ATTACK], [[ATTACK], [[ATTACK]]], ATTACK, ATTACK),
        Verdict(False, ATTACK),
        Picture(ATTACK, some_figure()),
    ]
    report = Report(ATTACK, ATTACK)
    for _ in range(3):
        report.section(ATTACK, items)
    parsed = read(report)
    assert "script" not in parsed.tags
    assert parsed.tags.count("img") == 3
    assert parsed.text.count(ATTACK) >= 3 * 8


def test_pictures_are_vectors_until_they_grow_too_large(monkeypatch):
    assert Picture("", some_figure()).address().startswith("data:image/svg+xml;base64,")
    monkeypatch.setattr(page, "MAX_SVG_BYTES", 1000)
    kind, _, content = Picture("", some_figure()).address().partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(content).startswith(b"\x89PNG")


def test_names_of_topics_cannot_inject(workload, plan):
    report = Report("Plan").add(workload_section(workload), plan_section(plan, workload))
    parsed = read(report)
    assert ATTACK in parsed.text  # the table of topics shows it, as text
    assert "script" not in parsed.tags
    assert parsed.tags.count("img") == len(plan.figures()) + 5


def test_workload_section_shows_the_statistics(workload):
    statistics = workload_statistics(workload)
    parsed = read(Report("W").add(workload_section(workload, statistics)))
    for text in ("60", f"{workload.num_pairs:,}", "1 day", "Distributions"):
        assert text in parsed.text
    assert parsed.tags.count("figure") == 5


def test_workload_section_of_nothing():
    parsed = read(Report("W").add(workload_section(TopicWorkload.from_arrays([], [], []))))
    assert parsed.tags.count("figure") == 5


def test_ingest_section_shows_counts_and_reasons():
    section = ingest_section(
        {
            "rows_read": 1000,
            "bad_rows": {"no timestamp": 3, "<b>empty</b> topic": 2},
            "inputs": {"publications": {"rows": 900, "bad": 4}, "subscriptions": {"rows": 100}},
            "quarantine": {},
        }
    )
    parsed = read(Report("I").add(section))
    for text in ("rows read", "1,000", "Bad rows", "no timestamp", "<b>empty</b> topic", "Inputs",
                 "publications", "900"):  # fmt: skip
        assert text in parsed.text
    assert "b" not in parsed.tags
    assert parsed.tags.count("table") == 2


def test_ingest_section_flattens_bad_rows_by_reason():
    section = ingest_section(
        {
            "period_seconds": 3600,
            "from": None,
            "publications": {"rows": 10, "bad": {"no_topic": 2, "no time": 1}, "events": 7},
            "subscriptions": {"rows": 5, "bad": {}, "duplicates": 0},
        }
    )
    facts, publications, subscriptions = section.items
    assert facts.cells() == [("period seconds", "3,600"), ("from", "–")]  # noqa: RUF001
    assert publications.rows == (
        ["rows", 10], ["bad: no topic", 2], ["bad: no time", 1], ["events", 7]
    )  # fmt: skip
    assert subscriptions.rows == (["rows", 5], ["bad", 0], ["duplicates", 0])


def test_ingest_section_of_nothing():
    assert ingest_section({}).items == []


def test_plan_section_shows_the_certificate(workload, plan):
    parsed = read(Report("P").add(plan_section(plan, workload)))
    assert f"{int(plan.objective):,}" in parsed.text
    assert plan.id in parsed.text
    assert any(text.startswith("✓ Verified") for text in parsed.text)
    for text in ("capacity percent", "40", "served", "The first 8 of 12 rows.", "greedy"):
        assert any(text in found for found in parsed.text), text


def shown(plan, workload) -> str:
    return " ".join(read(Report("P").add(plan_section(plan, workload))).text)


def test_plan_section_says_how_good_a_plan_is(workload, plan):
    best = Selection(workload, tau=12, capacity="40%").solve("exact")
    assert best.gap == 0
    text = shown(best, workload)
    assert "The plan is optimal: it meets the bound." in text
    assert "proven upper bound" in text
    assert "stopped by" in text
    worse = Selection(workload, tau=12, capacity="40%").solve("random", seed=4)
    assert worse.gap > 0
    assert f"No plan can reach more than {worse.bound:g}" in shown(worse, workload)
    nothing = replace(plan, bound=None, gap=None, proof=None)
    assert "No bound is known" in shown(nothing, workload)
    assert "The plan breaks a limit" in shown(replace(plan, feasible=False, gap=None), workload)


def test_a_bound_that_was_not_checked_is_a_claim(workload):
    problem = Selection(workload, tau=12, capacity="40%")
    worse = problem.solve("random", seed=4)
    unproven = replace(worse, proof=None)
    forged = replace(worse, bound=worse.objective, gap=0.0)
    by_solver = replace(forged, algorithm="best", proof=replace(worse.proof, kind="solver"))
    by_solver = replace(by_solver, id=by_solver.compute_id())
    for plan, says in (
        (unproven, "a claim that nobody can check"),
        (forged, "nothing is known of how good it is"),
        (by_solver, f"No plan can reach more than {worse.bound:g}"),
    ):
        text = shown(plan, workload)
        assert says in text
        assert "claimed upper bound" in text
        for word in ("proven upper bound", "certified gap", "The plan is optimal"):
            assert word not in text
    parsed = read(Report("P").add(overview_section([worse, unproven, by_solver])))
    assert sum("(claimed)" in text for text in parsed.text) == 2


def test_a_false_plan_is_shown_as_such(workload, plan):
    false = replace(plan, objective=plan.objective + 1)
    with pytest.raises(VerificationError) as error:
        false.verify()
    report = Report("P").add(plan_section(false, workload))
    assert report.failures == [f"Verification failed: {error.value}"]
    assert read(report).tags.count("img") == 0


def test_a_plan_of_another_workload_is_shown_with_ids(workload, plan):
    other = TopicWorkload.from_arrays([1.0], [0], [0])
    report = Report("P").add(plan_section(plan, other))
    assert len(report.failures) == 1
    assert ATTACK not in read(report).text


def test_overview_puts_plans_side_by_side(workload, plan):
    other = Selection(workload, tau=30, capacity="40%").solve("random", seed=1)
    parsed = read(Report("P").add(overview_section([plan, other])))
    assert {"greedy", "random", "objective", "gap"} <= set(parsed.text)


MACHINES = [Machine("slow", 2.0, 0.0006), Machine("fast", 3.0, 0.0012)]


def provisioning(workload, algorithm="gsp+ffbp", **options):
    options = {"tau": 60, "instance": "auto", "catalogue": MACHINES, **options}
    return Provisioning(workload, message_bytes=1e4, **options).solve(algorithm)


def test_a_provisioning_is_shown_in_money(workload):
    plan = provisioning(workload, reserve="10%", max_cost=1.0)
    plan = replace(plan, metrics={**plan.metrics, "cost_naive": 2 * plan.objective,
                                  "savings": plan.objective})  # fmt: skip
    parsed = read(Report("R").add(plan_section(plan, workload)))
    text = parsed.text
    after = {name: text[index + 1] for index, name in enumerate(text[:-1])}
    assert after["total cost"] == money(plan.objective)
    assert after["outgoing traffic"].startswith(money(plan.metrics["cost_outgoing"]))
    assert after["the naive plan costs"] == money(2 * plan.objective)
    assert after["saved against it"] == f"{money(plan.objective)} (50%)"
    assert after["no plan costs less than"] == money(plan.bound)
    assert text.count("no plan costs less than") == 1
    assert after["is there a plan for $1.00?"].startswith("no")
    assert any("10% of every machine is kept free" in words for words in text)


def test_machines_are_summed_up_by_type(workload):
    plan = provisioning(workload)
    vms = plan.tables["vms"].to_pylist()
    *_, table = fleet_passages(plan)
    assert [row[0] for row in table.rows] == sorted({vm["instance"] for vm in vms})
    for name, count, rent, used, least, most in table.rows:
        of_type = [vm for vm in vms if vm["instance"] == name]
        moved = [vm["in_bytes"] + vm["out_bytes"] for vm in of_type]
        fill = [of / vm["capacity_bytes"] for of, vm in zip(moved, of_type, strict=True)]
        assert count == len(of_type)
        assert rent == f"{money(sum(vm['usd_per_hour'] for vm in of_type))} an hour"
        assert used == percent(sum(moved) / sum(vm["capacity_bytes"] for vm in of_type))
        assert (least, most) == (percent(min(fill)), percent(max(fill)))


def test_a_provisioning_of_nothing_is_shown(workload):
    plan = provisioning(workload, tau=0, max_cost=0.0)
    assert plan.objective == 0
    parsed = read(Report("R").add(plan_section(plan, workload)))
    assert "$0.00" in parsed.text


@pytest.mark.parametrize(
    ("gap", "says"),
    [(0.0, "0%"), (3e-8, "less than 0.01%"), (0.02, "2%"), (None, "–")],  # noqa: RUF001
)
def test_gaps_without_useless_digits(workload, plan, gap, says):
    parsed = read(Report("R").add(overview_section([replace(plan, gap=gap)])))
    assert says in parsed.text


def test_wide_pictures_take_the_whole_page():
    wide, narrow = new_axes(width=10)[0], new_axes()[0]
    text = Report("R").section("P", [Picture("w", wide), Picture("n", narrow)]).html()
    assert text.count('<figure class="wide">') == 1
    assert text.count("<figure>") == 1


def test_the_same_report_is_the_same_page(workload):
    pages = [Report("W").add(workload_section(workload)).html() for _ in range(2)]
    assert pages[0] == pages[1]


def test_save_is_atomic(tmp_path):
    path = tmp_path / "new" / "report.html"
    report = Report("Saved").section("S", [Text("héllo – 日本")])  # noqa: RUF001
    assert report.save(path) == path
    assert path.read_text(encoding="utf-8") == report.html()
    with pytest.raises(OutputExistsError, match="exists already"):
        report.save(path)
    Report("Again").save(path, overwrite=True)
    assert "Again" in path.read_text(encoding="utf-8")
    with pytest.raises(OutputExistsError, match="is a folder"):
        report.save(tmp_path, overwrite=True)
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_failed_save_leaves_nothing(tmp_path):
    broken = Report("B").section("S", [Picture("not a figure", None)])
    with pytest.raises(AttributeError):
        broken.save(tmp_path / "new" / "report.html")
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="cannot be"):
        Report("B").save(blocked / "report.html")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def run():
    app = typer.Typer()
    app.callback()(lambda: None)
    report_command.register(app)
    return lambda *arguments: CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def folders(tmp_path, workload, plan):
    write_workload(workload, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    return tmp_path


def test_command_writes_a_page(run, folders):
    out = folders / "report.html"
    result = run("--workload", folders / "workload", folders / "plan", "--out", out, "--json",
                 "--title", "My <plan>")  # fmt: skip
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["failures"] == []
    text = out.read_text(encoding="utf-8")
    assert "<h1>My &lt;plan&gt;</h1>" in text
    assert "select: greedy" in Page(text).text


def test_command_without_plans(run, folders):
    out = folders / "report.html"
    assert run("--workload", folders / "workload", "--out", out).exit_code == 0
    assert run("--workload", folders / "workload", "--out", out).exit_code != 0
    assert run("--workload", folders / "workload", "--out", out, "--overwrite").exit_code == 0


def test_command_fails_on_a_false_plan_but_writes_the_page(run, folders):
    file = folders / "plan" / "plan.json"
    header = json.loads(file.read_text(encoding="utf-8"))
    header["objective"] += 1
    file.write_text(json.dumps(header), encoding="utf-8")
    out = folders / "report.html"
    result = run("--workload", folders / "workload", folders / "plan", "--out", out)
    assert isinstance(result.exception, VerificationError)
    assert "✗ Verification failed" in out.read_text(encoding="utf-8")
