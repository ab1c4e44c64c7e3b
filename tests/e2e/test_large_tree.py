"""A tree that takes a while: answered from the first moments on, resumed, within bounded memory."""

from pathlib import Path

from large_tree import measure

FILES = 1200
"""As many as are quick; `benchmarks/large_tree.py --files 100000` takes what people have."""
MEMORY_MB = 150


def test_a_large_tree_is_searched_while_it_is_indexed_and_a_killed_run_is_gone_on_with(
    tmp_path: Path,
) -> None:
    row = measure(tmp_path / "tree", FILES)
    assert 0 < row.known_then < FILES
    assert row.kept >= FILES // 2
    assert FILES - row.kept <= row.resumed < FILES
    assert row.peak_mb < MEMORY_MB
