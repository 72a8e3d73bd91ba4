"""Ctrl-C is 130 and SIGTERM 143, at any moment of any command, and nothing half-written is left.

Real processes and real signals. When a signal comes is counted in calls (see ``signalled.py``) or
told by what is on disk, never by a clock.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.assign.small_places import content_of
from tests.strategies import Instance
from tests.wire.small_wirings import wiring_of

import fanwise as fw

SIGNALLED = Path(__file__).with_name("signalled.py")
INSTANCE = Instance(
    [30.0, 20.0, 50.0, 7.0, 11.0, 3.0],
    [[0, 1], [1, 2], [2], [0, 3], [3], [1, 3], [4, 5], [0, 5], [2, 4], [1, 5]],
    tau=25.0,
)
COMMANDS = {
    "select": ("select", "{topics}", "--tau", "25", "--capacity", "50%", "--out", "{out}"),
    "select exact": (
        *("select", "{topics}", "--tau", "25", "--capacity", "50%", "-a", "exact"),
        *("--out", "{out}"),
    ),
    "provision": ("provision", "{topics}", "--tau", "25", "--out", "{out}"),
    "connect": ("connect", "{topics}", "--max-degree", "2", "--out", "{out}"),
    "assign": ("assign", "{content}", "--lbf", "4", "--lbf-max", "4", "--out", "{out}"),
    "wire": ("wire", "{wiring}", "--out", "{out}"),
    "verify": ("verify", "{topics}", "{plan}"),
    "report": ("report", "--workload", "{topics}", "{plan}", "--out", "{out}"),
    "sweep": ("sweep", "select", "{topics}", "--tau", "25", "--out", "{out}"),
    "compare": (
        *("compare", "provision", "{topics}", "--tau", "25", "--algorithms", "gsp+cbp,rsp+ffbp"),
        *("--plots", "{out}"),
    ),
    "generate": ("generate", "spotify", "--scale", "0.0005", "--out", "{out}"),
    "stats": ("stats", "{topics}", "--plots", "{out}"),
}
PLANNING = ("select", "select exact", "provision", "connect", "assign", "wire")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    home = tmp_path_factory.mktemp("inputs")
    fw.write_workload(INSTANCE.workload(), home / "topics")
    fw.write_workload(content_of(INSTANCE), home / "content")
    fw.write_workload(wiring_of(INSTANCE), home / "wiring")
    problem = fw.Selection(INSTANCE.workload(), tau=25.0, capacity="50%")
    problem.solve("greedy").save(home / "plan")
    return home


def spell(name, inputs, out):
    words = {path.name: path for path in inputs.iterdir()}
    return [word.format(out=out, **words) for word in COMMANDS[name]]


def run_with_signal(moment, number, arguments):
    return subprocess.run(
        [sys.executable, SIGNALLED, str(moment), str(int(number)), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_at_any_moment(inputs, tmp_path, name):
    """Early, and while at work, by either signal: the status, one line, nothing half."""
    check_moments(inputs, tmp_path, name, [(0.1, 0.99)])


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_at_many_moments(inputs, tmp_path, name):
    tenths = [tenth / 10 for tenth in range(10)]
    check_moments(inputs, tmp_path, name, [(tenth, tenth + 0.1) for tenth in tenths])


def check_moments(inputs, tmp_path, name, shares):
    """Send a signal early, and once within each share of the calls that the command makes."""
    whole = tmp_path / "whole"
    whole.mkdir()
    done = run_with_signal(0, signal.SIGINT, spell(name, inputs, whole / "out"))
    assert done.returncode == 0, done.stderr
    calls = int(done.stderr.split()[-1])
    rng = random.Random(name)
    moments = [rng.randint(1, 30), *(int(calls * rng.uniform(*share)) for share in shares)]
    for moment in moments:
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        home = tmp_path / f"{moment}-{number.name}"
        home.mkdir()
        done = run_with_signal(moment, number, spell(name, inputs, home / "out"))
        told = (name, moment, calls, number.name, done.stderr)
        assert done.returncode == 128 + number, told
        assert "Traceback" not in done.stderr, told
        words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
        assert done.stderr.splitlines()[-1] == f"fanwise: {words[number]}", told
        left = os.listdir(home)
        assert left in ([], ["out"]), told  # whole, or not there
        if left and name in PLANNING:
            check_kept_plan(home / "out", spell(name, inputs, "")[1], number)
        elif left and (whole / "out").is_dir():
            assert sorted(os.listdir(home / "out")) == sorted(os.listdir(whole / "out")), told


def check_kept_plan(folder, workload, number):
    """A plan that is there is whole and verifies; Ctrl-C is told unless it came after the end."""
    plan = fw.read_plan(folder, fw.read_workload(workload))
    assert plan.verify()
    said = json.loads((folder / "plan.json").read_text())["stopped"]
    if number == signal.SIGTERM:
        assert said != "interrupted"


def start(*arguments):
    """Start fanwise, with signals as a terminal has them."""
    return subprocess.Popen(
        [sys.executable, "-m", "fanwise", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def hears_signals(process):
    """Whether a process catches SIGTERM by now."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


LONG = ("--time-limit", "10m", "--gap", "0")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Workloads on which best is busy for long."""
    home = tmp_path_factory.mktemp("large")
    from fanwise.workload.generators.spotify import spotify

    fw.write_workload(spotify(scale=0.002), home / "topics")
    return home


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
@pytest.mark.parametrize("family", ["select", "provision", "connect"])
def test_best_is_ended_from_outside(large, tmp_path, family, number):
    """As soon as it listens: while it imports, reads, compiles or searches."""
    options = {"select": ("--tau", 27, "--capacity", "10%"), "provision": ("--tau", 27),
               "connect": ("--max-degree", 3)}  # fmt: skip
    with start(family, large / "topics", *options[family], *LONG,
               "--out", tmp_path / "plan") as process:  # fmt: skip
        wait_for(lambda: hears_signals(process), process)
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    if number == signal.SIGTERM:
        assert os.listdir(tmp_path) == []


def test_ctrl_c_in_a_search_keeps_the_plan(large, tmp_path):
    """The plan is whole, verifies, and says that it was interrupted."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from fanwise.select import best\n"
        "original = best._alternate\n"
        "def interrupted(*arguments):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return original(*arguments)\n"
        "best._alternate = interrupted\n"
        "from fanwise.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "select", large / "topics", "--tau", "27", "--capacity",
         "10%", *LONG, "--out", tmp_path / "plan"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    plan = fw.read_plan(tmp_path / "plan", fw.read_workload(large / "topics"))
    assert plan.stopped == "interrupted"
    assert plan.verify()
    assert plan.bound is not None
    assert os.listdir(tmp_path) == ["plan"]


STUCK = """
import ctypes, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import fanwise.cli.app
from fanwise.cli import main, signals
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import WORKLOAD

def work(arguments):
    # Like a kernel: Python gets no turn in there, but others may.
    with atomic_folder(sys.argv[1], WORKLOAD) as folder:
        (folder / "half").write_text("")
        while True:
            try:
                while True:
                    sys.stderr.write("ready\\n")
                    ctypes.CDLL(None).sleep(1000)
            except BaseException:
                pass

signals.GRACE = 0.5
fanwise.cli.app.run = work
main.main()
"""


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
    ids=lambda numbers: "+".join(number.name for number in numbers),
)
def test_the_second_signal_ends_at_once(tmp_path, numbers):
    """Also where the main thread never comes back; SIGTERM alone after a grace."""
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, tmp_path / "w"], stderr=subprocess.PIPE, text=True
    ) as process:
        for number in numbers:
            assert process.stderr.readline() == "ready\n"
            process.send_signal(number)
        said = process.communicate()[1]
    assert process.returncode == 128 + numbers[-1]
    assert "ended at once" in said
    assert os.listdir(tmp_path) == []


def test_a_signal_that_is_ignored_stays_ignored(inputs, tmp_path):
    """As for what runs behind nohup."""
    with subprocess.Popen(
        [sys.executable, "-m", "fanwise", "stats", inputs / "topics"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as process:  # fmt: skip
        wait_for(lambda: hears_signals(process), process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (0, "")


def test_signals_are_left_as_they_were(run, inputs):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert run("stats", inputs / "topics").status == 0
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert signal.set_wakeup_fd(-1) == -1


def test_a_reader_that_has_gone_is_no_traceback(inputs):
    with subprocess.Popen(
        [sys.executable, "-m", "fanwise", "stats", inputs / "topics", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode in (0, 1)
    assert "Traceback" not in said


def test_a_plan_whose_bound_is_interrupted_is_kept(run, inputs, tmp_path, monkeypatch):
    from fanwise.select.problem import Selection

    def interrupted(self, outcome, run):
        raise KeyboardInterrupt

    monkeypatch.setattr(Selection, "prove", interrupted)
    done = run("select", inputs / "topics", "--tau", 25, "--capacity", "50%", "-a", "greedy",
               "--out", tmp_path / "plan")  # fmt: skip
    assert done.status == 130
    plan = fw.read_plan(tmp_path / "plan")
    assert (plan.stopped, plan.bound, plan.gap) == ("interrupted", None, None)


LOST_IN_A_FINALISER = """
import os, signal, time
from fanwise.cli.signals import Listener

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(10))

try:
    with Listener().listening(to_the_end=False):
        Dropped()
        time.sleep(60)
        print("lost")
except KeyboardInterrupt:
    print("heard")
"""


def test_a_signal_that_python_drops_in_a_finaliser_is_sent_again():
    done = subprocess.run(
        [sys.executable, "-c", LOST_IN_A_FINALISER], capture_output=True, text=True, check=False,
        # Tests that run behind nohup ignore Ctrl-C, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert done.stdout == "heard\n"
    assert done.stderr == ""
