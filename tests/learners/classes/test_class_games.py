"""Regret ≤ tight certificate ≤ certificate ≤ theorem, in games that try everything (`make games` plays thousands)."""

import pytest

from benchmarks.class_games import draw_game, play_game


@pytest.mark.parametrize("seed", range(48))
def test_the_four_numbers_are_in_order(seed: int) -> None:
    game = play_game(draw_game(seed, rows=30))
    assert game.holds, game
