"""A small storm of moves under load: nothing lost, nothing doubled, everybody has one home."""

from __future__ import annotations

from benchmarks.brokers_storm import Sizes, rows, storm

TINY = Sizes(
    brokers=4, clients=40, moves=100, rate=100.0, move_rate=40.0, fan_out=4.0, processes=1, seed=3
)


def test_clients_that_are_moved_again_and_again_get_everything_once(tmp_path):
    result = storm(TINY, tmp_path / "storm")
    assert (result.lost, result.doubled, result.unwanted, result.rejected) == (0, 0, 0, 0)
    assert result.moved >= TINY.moves
    assert result.expected > 500
    # Each move is a way from one broker to the next, as the client sees it.
    assert len(result.pauses) >= result.moved
    for one in rows(TINY, result):
        print(one["what"], "|", one["measured"])
