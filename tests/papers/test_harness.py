"""What all papers share: words, cases and rows, runs, pictures, the folder."""

from __future__ import annotations

import csv

import pytest
from matplotlib.figure import Figure
from tests.strategies import Instance

import fanwise as fw
from fanwise.papers.case import Case, Row, grouped, pick, rows_of, share
from fanwise.papers.course import Course, timed
from fanwise.papers.curves import curve_figure, listing_along
from fanwise.papers.page import save_reproduction
from fanwise.papers.panels import (
    Axis,
    Curve,
    Panel,
    curve_of,
    draw,
    draw_bars,
    row_of_axes,
    share_legend,
    star,
    style_of,
)
from fanwise.papers.paper import Paper, Series, rounded
from fanwise.papers.words import Writer, holds
from fanwise.workload.plot_style import BLUE

CONTENT = {
    "title": "example: one figure",
    "source": "A paper.",
    "columns": ["figure", "panel", "x", "series", "quantity", "run", "ours", "paper"],
    "settings": {"beta": 0.2, "small": {"sizes": [1]}, "paper": {"sizes": [1, 2, 3]}},
    "numbers": {"told": 0.5},
    "notes": ["At {scale:percent} of its size.", {"when": "scale < 1", "say": "Beta is {beta}."},
              {"when": "scale > 1", "say": "Never."}],
    "series": {
        "gpa": {"label": "GPA", "style": "blue - o"},
        "shared": {"label": "Shared", "algorithm": "random", "settings": {"shared": True}},
    },
    "phrases": {"size": [{"when": "scale < 1", "say": "At {scale:percent}."}]},
    "comparisons": {
        "support": [
            "4", "{panel}: support", "{told:g}",
            [[{"when": "-0.1 <= ours - told <= 0.1", "say": "Agrees."}, "Differs."], "{size}"],
        ],
        "exact": ["4", "q", "", "", 1],
    },
    "captions": {"fig4": "Fig. 4: {panel}", "two": "Two."},
    "curves": {
        "fig4": {"of": "4", "quantity": "support", "axes": ["ratio", "support"]},
        "two": {"of": "4", "quantity": ["support", "edges"], "series": ["gpa"],
                "axes": ["x", "support", "edges"]},
    },
    "axes": {"ratio": {"label": "budget ratio", "is_log": True},
             "support": {"low": 0.0, "high": 1.0}},
    "tables": {"support": {"title": "Support, {panel}", "along": "ratio {x}", "format": ".2f",
                           "quantity": "support", "note": "{size}"}},
}  # fmt: skip


@pytest.fixture
def course():
    paper = Paper("example", CONTENT)
    return Course(paper, paper.settings(0.5, {}), 0.5, 7)


def cases():
    for panel, lift in (("FB", 0.0), ("TW", 0.2)):
        for x in (0.1, 0.2):
            results = {
                "budget": [{"max_edges": 9}],
                "gpa": [{"support": x + lift, "edges": 3}, {"support": x + lift + 0.2, "edges": 5}],
                "shared": [{"support": x, "edges": 1}],
            }
            yield Case("4", {"panel": panel, "x": x}, results)
    yield Case("5", {"panel": "FB", "x": 1.0}, {"gpa": [{"support": 1.0}]})


def test_words_are_said_where_they_hold():
    writer = Writer({"end": "of {of:number}", "size": [{"when": "of > 5", "say": "Many {end}."}]})
    values = {"of": 1200, "share": 0.125, "usd": 3.0}
    assert writer.say("{share:percent} {end}, {usd:money}", values) == "12.5% of 1,200, $3.00"
    assert writer.say(["A.", {"when": "of < 5", "say": "Few."}, "{size}"], values) == (
        "A. Many of 1,200."
    )
    choice = [[{"when": "of < 5", "say": "Few."}, {"when": "share < 1", "say": "Some."}, "All."]]
    assert writer.say(choice, values) == "Some."
    assert writer.say(choice, {"of": 9, "share": 1}) == "All."
    nested = [[{"when": "of < 5", "say": ["Few,", "{end}."]}, ["Many,", [[], "it is."]]]]
    assert writer.say(nested, values) == "Many, it is."
    with pytest.raises(KeyError, match="unknown"):
        writer.say("{unknown}", values)


def test_conditions_compare_values_and_call_nothing():
    assert holds("-1 <= a - b <= 1 and name != 'x'", {"a": 2, "b": 3, "name": "y"})
    assert not holds("(a > 1) == (b > 1)", {"a": 2, "b": 0})
    for condition in ("__import__('os')", "a.real", "[a]", "abs(a) < 1", "a[0]"):
        with pytest.raises(ValueError, match="only names"):
            holds(condition, {"a": 1})


def test_compared_numbers_have_few_digits():
    assert rounded(0.123456) == 0.123
    assert rounded(1234.5) == 1230.0
    assert rounded(0.123456, 4) == 0.1235
    assert rounded(12345) == 12345
    assert str(rounded(-0.01, 1)) == "0.0"


def test_a_comparison_is_made_of_its_entry(course):
    found = course.paper.compare("support", 0.5556, panel="FB", told=0.5, scale=0.5)
    assert (found.figure, found.quantity, found.paper) == ("4", "FB: support", "0.5")
    assert (found.ours, found.remark) == (0.556, "Agrees. At 50%.")
    assert course.paper.compare("support", 0.7, panel="", told=0.5, scale=1).remark == "Differs."
    assert course.paper.compare("exact", 0.26).ours == 0.3


def test_settings_follow_the_scale():
    paper = Paper("example", CONTENT)
    assert vars(paper.settings(0.99, {})) == {"beta": 0.2, "sizes": [1]}
    assert vars(paper.settings(1.0, {"beta": 0.5})) == {"beta": 0.5, "sizes": [1, 2, 3]}
    assert paper.series["gpa"] == Series("GPA", "gpa", "blue - o")
    assert paper.series["shared"].settings == {"shared": True}


def test_rows_have_every_run_and_the_papers_number():
    rows = list(rows_of(cases(), lambda case, series, quantity: "0.5" * (series == "gpa")))
    assert len(rows) == 4 * 7 + 1
    assert rows[3].cells(CONTENT["columns"]) == ["4", "FB", 0.1, "gpa", "support", 1, 0.1 + 0.2,
                                                 "0.5"]  # fmt: skip
    assert Row("3", {"panel": "FB"}, "s", "q", 1.0).cells(["x", "panel", "ours"]) == [
        None, "FB", 1.0,
    ]  # fmt: skip


def test_cases_are_picked_grouped_and_averaged():
    all_cases = list(cases())
    assert len(pick(all_cases)) == 5
    assert len(pick(all_cases, "4", "5", panel="FB")) == 3
    assert pick(all_cases, "4", panel="TW", x=0.2) == [all_cases[3]]
    assert {key: len(own) for key, own in grouped(all_cases, "panel").items()} == {"FB": 3, "TW": 2}
    assert list(grouped(all_cases[:2], "panel", "x")) == [("FB", 0.1), ("FB", 0.2)]
    assert all_cases[0].mean("gpa", "support") == pytest.approx(0.2)
    assert all_cases[0].ratio("gpa", "shared", "edges") == 4.0
    assert share(0.0, 0.0) == 1.0


def test_curves_are_what_cases_say(course):
    def more(panel, own):
        yield star(course.paper.series["gpa"], 0.2, 0.9)

    figure = curve_figure(course.paper, "fig4", cases(), more=more, titles={"FB": "Friends"},
                          levels=lambda case, quantity: (0.25,))  # fmt: skip
    assert [axes.get_title() for axes in figure.axes] == ["Friends", "TW"]
    gpa, shared, mark, level = figure.axes[1].get_lines()
    assert gpa.get_xdata().tolist() == [0.1, 0.2]
    assert gpa.get_ydata() == pytest.approx([0.4, 0.5])
    assert (gpa.get_color(), gpa.get_marker(), gpa.get_label()) == (BLUE, "o", "GPA")
    assert shared.get_ydata() == pytest.approx([0.1, 0.2])
    assert (mark.get_marker(), level.get_ydata()[0]) == ("*", 0.25)
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_xlabel()) == ("log", "budget ratio")
    assert figure.axes[0].get_ylim() == (0.0, 1.0)
    assert [axes.get_ylabel() for axes in figure.axes] == ["support", ""]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["GPA", "Shared"]


def test_a_style_may_be_short():
    assert style_of(Series("", style="blue")) == (BLUE, "-", "")
    assert style_of(Series("", style="#123456 -- x")) == ("#123456", "--", "x")


def test_several_quantities_have_a_panel_each(course):
    figure = curve_figure(course.paper, "two", pick(cases(), panel="FB"))
    assert [axes.get_ylabel() for axes in figure.axes] == ["support", "edges"]
    assert figure.axes[1].get_lines()[0].get_ydata().tolist() == [4, 4]
    assert not figure.legends  # one series needs none


def test_bars_stand_in_groups():
    figure, row = row_of_axes(2)
    for axes in row:
        draw_bars(axes, {"a": [1, 2], "b": [3, 4]}, [{"color": BLUE}, {"color": "#FFFFFF"}],
                  ["one", "two"])  # fmt: skip
    share_legend(figure, row, columns=2)
    heights = [patch.get_height() for patch in row[0].patches]
    assert heights == [1, 2, 3, 4]
    middles = [patch.get_x() + patch.get_width() / 2 for patch in row[0].patches]
    assert middles == pytest.approx([-0.21, 0.79, 0.21, 1.21])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_a_band_and_hollow_marks_are_drawn():
    best = curve_of(Series("best", style="ink - D"), [1, 2], [3, 4], band=([2, 3], [4, 5]))
    figure = draw(
        [Panel([best, Curve([1], [2], "step", BLUE, is_step=True)], Axis("x"), Axis("y"))]
    )
    assert len(figure.axes[0].collections) == 1
    assert figure.axes[0].get_lines()[0].get_markerfacecolor() == "none"
    assert figure.axes[0].get_lines()[1].get_drawstyle() == "steps-post"


def test_a_table_has_a_row_for_each_series(course):
    found = listing_along(course.paper, "support", pick(cases(), "4", panel="FB"), [["more", "-"]],
                          panel="FB", scale=0.5)  # fmt: skip
    assert (found.title, found.note) == ("Support, FB", "At 50%.")
    assert found.columns == ["", "ratio 0.1", "ratio 0.2"]
    assert found.rows == [["GPA", "0.20", "0.30"], ["Shared", "0.10", "0.20"], ["more", "-"]]


def test_work_is_timed_by_the_given_clock():
    ticks = iter((0.0, 2.0, 5.0, 6.0))
    assert timed(lambda: "done", 2, lambda: next(ticks)) == ([2.0, 1.0], "done")


def test_a_run_is_the_plan_of_the_same_seed_and_knobs():
    workload = Instance([3.0, 2.0, 1.0], [[0, 1], [1, 2], [0, 2], [0, 1, 2]], tau=1.0).workload()
    problem = fw.Connection(workload, max_degree=2)
    course = Course.of("connect", 1.0, seed=3)
    series = course.paper.series["random-maximum-shared"]
    outcome, seconds = course.solve(problem, series)
    plan = problem.solve("random-maximum", seed=3, shared=True)
    assert outcome.tables["edges"].equals(plan.tables["edges"])
    assert seconds >= 0
    other, _ = course.solve(problem, series, seed=5)
    assert other.tables["edges"].equals(
        problem.solve("random-maximum", seed=5, shared=True).tables["edges"]
    )


def test_the_folder_holds_page_table_and_pictures(course, tmp_path):
    figures = course.drawn({"fig4": Figure()}, panel="FB")
    done = course.finish(
        notes={"beta": 0.3}, rows=rows_of(cases()), tables=(), figures=figures,
        comparisons=[course.paper.compare("support", 0.5, panel="FB", told=0.5, scale=1)],
    )  # fmt: skip
    assert done.notes == ["At 50% of its size.", "Beta is 0.3."]
    names = save_reproduction(done, tmp_path / "out")
    assert set(names) == {path.name for path in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words in ("example: one figure", "FB: support", "Agrees.", "Fig. 4: FB"):
        assert words in page
    with open(tmp_path / "out" / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 29
    assert rows[1] == {"figure": "4", "panel": "FB", "x": "0.1", "series": "gpa",
                       "quantity": "support", "run": "0", "ours": "0.1", "paper": ""}  # fmt: skip
