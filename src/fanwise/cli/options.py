"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Workload = Annotated[
    Path, typer.Argument(metavar="DIR", help="A workload folder.", show_default=False)
]
PlanFolder = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan folder.", show_default=False)
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder to write; must not exist.", show_default=False)
]
Tau = Annotated[
    str | None,
    typer.Option(
        help="Events per period that satisfy a subscriber, or 'column'. "
        "Default: the workload's column tau.",
        show_default=False,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing output.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Makes every random choice repeatable.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", min=0, help="Seconds after which the best plan so far is kept."),
]
TimeLimitEach = Annotated[
    float | None,
    typer.Option("--time-limit", min=0, help="Seconds for each run that can stop early."),
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
