"""Print a run: ``python -m fanwise.brokers.simulation SEED``."""

from __future__ import annotations

import sys

from fanwise.brokers.simulation.run import simulate


def main(arguments: list[str]) -> int:
    """Print the trace of a seed and what was not in order at its end; 1 if anything was not."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        print("usage: python -m fanwise.brokers.simulation SEED", file=sys.stderr)
        return 2
    outcome = simulate(int(arguments[0]))
    for time, what, who, *rest in outcome.trace:
        print(f"{time:10.4f}  {who:10} {what:12}", *rest)
    print(f"{outcome.steps} steps, {outcome.seconds:g} virtual seconds")
    for remain in outcome.remains:
        print(f"remains: {remain}")
    return 1 if outcome.remains else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
