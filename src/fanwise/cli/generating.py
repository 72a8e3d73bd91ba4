"""What ``fanwise generate`` does for every generator: options, run, write, show.

A generator's command is declared as a function with its options and its help. All that was typed
goes to the generator of the same names; the function may return what replaces some of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanwise.cli import console, options
from fanwise.cli.parameters import make_argument, set_signature
from fanwise.planning.family import load

if TYPE_CHECKING:
    from fanwise.progress import Progress
    from fanwise.workload.content import ContentWorkload
    from fanwise.workload.topic import TopicWorkload

Declared = Callable[..., Mapping[str, Any] | None]
Save = Callable[..., None]


def generator_command(
    declared: Declared, target: str, save: Save, *shared: Callable[..., None]
) -> Callable[..., None]:
    """Return the command of a generator.

    Parameters
    ----------
    declared
        Has the options of this generator alone, and the help.
    target
        The generator, ``module:function``.
    save
        Runs it, writes and shows the workload: one of the two below.
    shared
        Have the options that it shares with others, which follow its own.
    """
    own = signature(declared, eval_str=True).parameters
    of_others = [
        option for group in shared for option in signature(group, eval_str=True).parameters.values()
    ]

    @wraps(declared)
    def command(*, out: Path, overwrite: bool, json: bool, **typed: Any) -> None:
        plain = {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value in typed.items()
        }
        plain |= declared(**{name: plain[name] for name in own}) or {}
        save(
            lambda progress: load(target)(**plain, progress=progress),
            out,
            overwrite=overwrite,
            json=json,
        )

    return set_signature(
        command,
        [
            make_argument("out", options.Out),
            *(make_argument(one.name, one.annotation, one.default) for one in own.values()),
            *(make_argument(one.name, one.annotation, one.default) for one in of_others),
            make_argument("seed", options.Seed, 0),
            make_argument("overwrite", options.Overwrite, False),
            make_argument("json", options.Json, False),
        ],
    )


def save_topic_workload(
    make: Callable[[Progress], TopicWorkload], out: Path, *, overwrite: bool, json: bool
) -> None:
    """Generate, write and show a topic workload."""
    from fanwise.workload.topic.files import write_workload

    def count(workload: TopicWorkload) -> dict[str, Any]:
        return {
            "topics": workload.num_topics,
            "subscribers": workload.num_subscribers,
            "pairs": workload.num_pairs,
            "period_seconds": workload.period_seconds,
            "mean_rate": float(workload.rates.mean()),
        }

    _save(make, write_workload, count, out, overwrite=overwrite, json=json)


def save_content_workload(
    make: Callable[[Progress], ContentWorkload], out: Path, *, overwrite: bool, json: bool
) -> None:
    """Generate, write and show a content workload."""
    from fanwise.workload.content.files import write_content_workload

    def count(workload: ContentWorkload) -> dict[str, Any]:
        return {
            "subscribers": workload.num_subscribers,
            "brokers": workload.num_brokers,
            "leaves": len(workload.leaves),
            "event_dims": workload.event_dims,
            "network_dims": workload.network_dims,
        }

    _save(make, write_content_workload, count, out, overwrite=overwrite, json=json)


def _save(
    make: Callable[[Progress], Any],
    write: Callable[..., Any],
    count: Callable[[Any], dict[str, Any]],
    out: Path,
    *,
    overwrite: bool,
    json: bool,
) -> None:
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import WORKLOAD

    refuse_existing(out, WORKLOAD, overwrite=overwrite)
    begun = time.perf_counter()
    with console.progress() as progress:
        workload = make(progress)
        with progress.step("Writing"):
            write(workload, out, overwrite=overwrite)
    show({"out": str(out), **workload.origin, **count(workload)}, out, begun, json=json)


def show(facts: dict[str, Any], out: Path, begun: float, *, json: bool) -> None:
    """Print what was generated, for programs or for people."""
    seconds = round(time.perf_counter() - begun, 3)
    if json:
        console.print_json({**facts, "seconds": seconds})
        return
    rows = [
        (name.replace("_", " "), value)
        for name, value in facts.items()
        if name not in ("out", "generator")
    ]
    console.out().print(console.facts(str(out), [*rows, ("seconds", seconds)]))
