"""How long `import fanwise` and `fanwise --help` take beyond bare Python."""

from __future__ import annotations

from benchmarks.measuring import row, time_processes

LIMIT = 0.5


def run() -> list[dict]:
    bare = time_processes("-c", "pass")
    rows = []
    for what, arguments in (
        ("import fanwise", ("-c", "import fanwise")),
        ("fanwise --help", ("-m", "fanwise", "--help")),
    ):
        timing = time_processes(*arguments)
        extra = timing.median - bare.median
        rows.append(
            row(
                what,
                f"{extra:.3f} s above bare Python ({bare})",
                f"<= {LIMIT} s",
                met=extra <= LIMIT,
                seconds=timing._asdict(),
                bare=bare._asdict(),
            )
        )
    return rows
