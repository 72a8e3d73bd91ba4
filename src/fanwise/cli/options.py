"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.durations import parse_duration
from fanwise.errors import FanwiseError, ParameterError


def _time_limit(text: str) -> float:
    try:
        return float(parse_duration(text, "--time-limit", may_be_zero=True))
    except ParameterError as error:
        # Typer would say less of what is a ValueError too.
        raise FanwiseError(str(error)) from None


Workload = Annotated[
    Path, typer.Argument(metavar="DIR", help="A workload folder.", show_default=False)
]
PlanFolder = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan folder.", show_default=False)
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder to write; must not exist.", show_default=False)
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace an output of the same kind that fanwise wrote, once the new one is whole. "
        "Anything else that is there, or in it, is left alone: exit status 2.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Makes every random choice repeatable.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        parser=_time_limit,
        metavar="TIME",
        help="After this time the best plan so far is kept: seconds, or as in 1h30m.",
    ),
]
TimeLimitEach = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        parser=_time_limit,
        metavar="TIME",
        help="Time for each run that can stop early: seconds, or as in 1h30m.",
    ),
]
Gap = Annotated[
    float | None,
    typer.Option("--gap", min=0, help="Stop at this certified gap, 0.01 for one percent."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A tuning knob of the algorithm; repeatable."),
]
NoProof = Annotated[
    bool,
    typer.Option(
        "--no-proof",
        help="Leave out the certificate of the bound; verify cannot check the bound then.",
    ),
]
