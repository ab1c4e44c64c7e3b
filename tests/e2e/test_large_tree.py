"""A large tree is searched while it is indexed; an interrupted run is resumed."""

from pathlib import Path

from large_tree import measure

FILES = 1200
"""Few enough for a test; `benchmarks/large_tree.py --files 100000` measures a large project."""
MEMORY_MB = 150


def test_a_large_tree_is_searched_while_it_is_indexed_and_resumed_after_a_kill(
    tmp_path: Path,
) -> None:
    row = measure(tmp_path / "tree", FILES)
    assert 0 < row.known_then < FILES
    assert row.kept >= FILES // 2
    assert FILES - row.kept <= row.resumed < FILES
    assert row.peak_mb < MEMORY_MB
