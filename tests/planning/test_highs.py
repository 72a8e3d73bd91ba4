"""The door to HiGHS: what goes in, what comes out, limits, starts, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from fanwise.planning.highs import Answer, Matrix, Model, Rows, Solver, by_row


def model_of(cost, rows, **changes):
    """A program over columns between 0 and 1; rows are (columns, values, lower, upper)."""
    written = Rows()
    for row in rows:
        written.add(*row)
    entries = {
        "cost": np.array(cost, dtype=float),
        "lower": np.zeros(len(cost)),
        "upper": np.ones(len(cost)),
        "matrix": written.matrix,
        "row_lower": written.lower,
        "row_upper": written.upper,
    }
    return Model(**(entries | changes))


def knapsacks(num_columns, num_rows, **options):
    """As much value as fits several knapsacks at once, and the solver that is asked for it."""
    rng = np.random.default_rng(0)
    columns = list(range(num_columns))
    rows = []
    for _ in range(num_rows):
        sizes = rng.integers(1, 100, num_columns)
        rows.append((columns, sizes.tolist(), -np.inf, float(sizes.sum() // 2)))
    values = rng.integers(1, 100, num_columns)
    return Solver(model_of(values, rows, is_whole=True, is_maximised=True), **options)


def test_a_linear_program():
    """Half of the dearer column is left out: 3 x + 2 y with x + y <= 1.5."""
    answer = Solver(model_of([3, 2], [([0, 1], [1, 1], -np.inf, 1.5)], is_maximised=True)).solve()
    assert (answer.status, answer.is_feasible) == ("optimal", True)
    assert answer.values.tolist() == [1.0, 0.5]
    assert answer.objective == answer.bound == 4.0
    assert answer.infeasibility == answer.gap == 0


def test_an_offset_is_added():
    assert Solver(model_of([1.0], [], lower=np.ones(1), offset=2.5)).solve().objective == 3.5


def test_a_program_of_whole_columns():
    model = model_of(
        [5, 4, 3], [([0, 1, 2], [2, 3, 1], -np.inf, 3.5)], is_maximised=True, is_whole=True
    )
    answer = Solver(model).solve()
    assert np.round(answer.values).tolist() == [1, 0, 1]
    assert answer.objective == pytest.approx(8)
    assert answer.bound == pytest.approx(8)
    assert len(answer.duals) == 0
    assert answer.stopped(0.0) == "exhausted"


def test_some_columns_may_be_whole():
    model = model_of(
        [1, 1],
        [([0, 1], [1, 1], -np.inf, 1.5), ([1], [1], -np.inf, 0.7)],
        is_maximised=True,
        is_whole=np.array([False, True]),
    )
    assert Solver(model).solve().values.tolist() == pytest.approx([1, 0])


def test_by_column_and_by_row_are_the_same_program():
    rows, columns = np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0])
    values = np.array([1.0, 2.0, 3.0, 4.0])
    cost, most = [1, 1], np.array([3.0, 2.0])
    limits = {"row_lower": np.full(2, -np.inf), "row_upper": most, "is_maximised": True}
    row_wise = model_of(cost, [], matrix=by_row(rows, columns, values, 2), **limits)
    transposed = by_row(columns, rows, values, 2)
    column_wise = model_of(cost, [], matrix=transposed, is_by_column=True, **limits)
    one, other = Solver(row_wise).solve(), Solver(column_wise).solve()
    assert one.values.tolist() == other.values.tolist()
    matrix = np.array([[4.0, 2.0], [1.0, 3.0]])
    assert (matrix @ one.values <= most + 1e-9).all()
    assert one.objective == pytest.approx(most @ np.linalg.solve(matrix.T, [1, 1]))


def test_rows_without_entries():
    matrix = by_row(np.array([2]), np.array([0]), np.array([1.0]), 4)
    assert matrix.starts.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("is_whole", [False, True])
def test_infeasible(is_whole):
    model = model_of([1, 1], [([0, 1], [1, 1], 3.0, np.inf)], is_whole=is_whole)
    answer = Solver(model).solve()
    assert answer.status == "infeasible"
    assert not answer.is_feasible
    assert answer.bound is None
    assert answer.stopped(0.0) == "work"


def test_unbounded():
    """Nothing holds the column; where HiGHS cannot tell that from infeasible, it has failed."""
    model = model_of([1], [([0], [1], 0.0, np.inf)], upper=np.array([np.inf]), is_maximised=True)
    answer = Solver(model).solve()
    assert answer.status in ("unbounded", "failed")
    assert answer.bound is None


@pytest.mark.parametrize("is_maximised", [False, True])
def test_duals_are_what_a_limit_is_worth(is_maximised):
    """The objective changes with a row's limit as its dual says, whichever way and side."""
    sign = 1 if is_maximised else -1
    limits = [(-np.inf, 1.5), (0.25, np.inf)]
    rows = [([0, 1], [1, 1]), ([2], [1])]

    def solve(shift):
        moved = [(*row, low + by, high + by) for row, (low, high), by
                 in zip(rows, limits, shift, strict=True)]  # fmt: skip
        cost = [3 * sign, 2 * sign, -sign]
        return Solver(model_of(cost, moved, is_maximised=is_maximised)).solve()

    answer = solve((0, 0))
    changes = [(solve(shift).objective - answer.objective) / 0.125
               for shift in ((0.125, 0), (0, 0.125))]  # fmt: skip
    assert answer.duals.tolist() == pytest.approx(changes)
    assert answer.duals.tolist() == pytest.approx([2 * sign, -sign])


def test_nothing_to_decide():
    answer = Solver(model_of([], [], offset=2.0)).solve()
    assert answer.status == "optimal"
    assert len(answer.values) == 0


def test_rows_are_learnt():
    solver = Solver(model_of([2, 1], [], is_maximised=True, is_whole=True))
    assert solver.solve().objective == pytest.approx(3)
    solver.add_row(np.array([0, 1]), np.ones(2), upper=1.0)
    assert solver.solve().objective == pytest.approx(2)
    solver.add_row(np.array([1]), np.ones(1), lower=1.0)
    assert solver.solve().objective == pytest.approx(1)


@pytest.mark.parametrize("options", [{}, {"interior_point": 1e-8}])
def test_columns_are_priced_in(options):
    """Two rows to cover: by a dear column each, then by one that covers both."""
    rows = [([0], [1], 1.0, np.inf), ([1], [1], 1.0, np.inf)]
    solver = Solver(model_of([2, 2], rows), **options)
    assert solver.solve().objective == pytest.approx(4)
    matrix = Matrix(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3))
    solver.add_columns(np.array([1.0, 1.5]), np.zeros(2), np.full(2, np.inf), matrix)
    answer = solver.solve()
    assert answer.objective == pytest.approx(1)
    assert answer.values[2] == pytest.approx(1)


def test_a_start_that_is_optimal_needs_no_search():
    best = knapsacks(30, 5).solve()
    assert best.status == "optimal"
    told = knapsacks(30, 5, max_nodes=0)
    told.start_from(np.round(best.values))
    answer = told.solve()
    assert answer.status == "work"
    assert answer.is_feasible
    assert answer.objective == pytest.approx(best.objective)
    assert answer.bound is None or answer.bound >= best.bound - 1e-6


def test_a_start_that_is_none_does_no_harm():
    told = knapsacks(20, 5)
    told.start_from(np.ones(20))
    assert told.solve().objective == pytest.approx(knapsacks(20, 5).solve().objective)


def test_no_time_is_no_solution_and_more_may_be_given():
    solver = knapsacks(20, 5)
    for seconds in (0.0, -1.0):
        answer = solver.solve(time_limit=seconds)
        assert answer.status == "time"
        assert answer.stopped(0.0) == "limit"
    assert solver.solve().status == "optimal"


def test_limits_on_work():
    answer = knapsacks(60, 30, max_nodes=1).solve()
    assert answer.status == "work"
    assert answer.stopped(0.0) == "work"
    rows = [([i, i + 1], [1.0, 2.0], 1.0, np.inf) for i in range(50)]
    model = model_of(np.arange(1.0, 52.0), rows)
    assert Solver(model).solve().status == "optimal"
    assert Solver(model, max_iterations=0).solve().status in ("work", "optimal")


def test_the_gap_asked_for():
    exact, rough = knapsacks(40, 8).solve(), knapsacks(40, 8, gap=0.2).solve()
    assert exact.gap <= 1e-9
    assert rough.gap <= 0.2
    assert rough.bound >= exact.objective - 1e-6
    assert rough.stopped(0.2) in ("gap", "exhausted")


def test_why_it_stopped():
    assert Answer("optimal", gap=0.0).stopped(0.1) == "exhausted"
    assert Answer("optimal", gap=0.1).stopped(0.1) == "gap"
    assert Answer("optimal", gap=0.1).stopped(0.0) == "work"
    assert Answer("optimal").stopped(0.0) == "work"  # without a bound
    assert Answer("interrupted").stopped(0.1) == "interrupted"


def test_the_same_seed_gives_the_same_answer():
    one, other = (knapsacks(30, 6, seed=7).solve() for _ in range(2))
    assert one.values.tolist() == other.values.tolist()


class Terminated(BaseException):
    """What a handler of SIGTERM raises."""


def terminate(*_):
    raise Terminated


@pytest.fixture
def send_when_found():
    """Have a process send itself a signal as soon as HiGHS has found a solution."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: terminate}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}

    def send(solver, number):
        sent = []

        def press(event):
            if not sent:
                sent.append(event)
                os.kill(os.getpid(), number)

        solver._highs.cbMipImprovingSolution += press

    yield send
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ctrl_c_keeps_what_was_found(send_when_found):
    solver = knapsacks(90, 60)  # takes hours
    send_when_found(solver, signal.SIGINT)
    answer = solver.solve(keeps_found=True)
    assert answer.status == answer.stopped(0.0) == "interrupted"
    assert answer.is_feasible
    assert answer.bound > answer.objective > 0


@pytest.mark.parametrize(
    ("number", "error", "keeps_found"),
    [(signal.SIGINT, KeyboardInterrupt, False), (signal.SIGTERM, Terminated, True)],
)
def test_what_ends_all_work_is_raised(send_when_found, number, error, keeps_found):
    solver = knapsacks(90, 60)
    send_when_found(solver, number)
    with pytest.raises(error):
        solver.solve(keeps_found=keeps_found)


def test_beside_the_main_thread():
    """Signals go to the main thread, which may wait for this one."""
    found = []
    thread = threading.Thread(target=lambda: found.append(knapsacks(20, 5).solve()))
    thread.start()
    thread.join()
    assert found[0].values.tolist() == knapsacks(20, 5).solve().values.tolist()


def test_what_goes_wrong_in_its_thread_is_raised(monkeypatch):
    solver = knapsacks(5, 1)

    def fail():
        raise MemoryError

    monkeypatch.setattr(solver._highs, "run", fail)
    with pytest.raises(MemoryError):
        solver.solve()
