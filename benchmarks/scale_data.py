"""Give the figures that docs/scale.md computes with: measured, taken from a source, or assumed.

The measured ones are in `data/scale_rates.json` and `data/scale_instance.json`, which the scripts
of these names write. The page names the sources of the others.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median, pvariance
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("data") / "scale_rates.json"
INSTANCE = FILE.with_name("scale_instance.json")

DIMENSIONS = 384
VECTOR_BYTES = 4 * DIMENSIONS
SIZES = (10**6, 10**8, 10**10)
DEVELOPERS = 10_000
COMMITS_PER_HOUR = 10_000

# Taken from a source (see the page).
DISKANN_MEMORY = 0.125 + 0.10
"""Share of the vectors that DiskANN keeps in memory: codes and cached nodes."""
DISKANN_DEGREE, SECTOR = 56, 4096
SEGMENT_BYTES = 1 << 30
MAX_PARTITIONS, MAX_SHARDS = 1024, 16
FREE_MEMORY = 0.1
"""Share of the memory that Milvus leaves free."""
L4_LARGE_TOKENS = 0.54 * 115_000
"""Tokens a second of bert-large on an NVIDIA L4."""
LARGE_PARAMETERS = 24 * 12 * 1024**2
SMALL_PARAMETERS = 12 * 12 * DIMENSIONS**2
"""Parameters of the layers of the two models: 12 times the square of the width in each layer."""

# Assumed.
SMALL_MODEL_EFFICIENCY = 0.5
"""How much of the GPU's rate a model of a fourteenth of the size reaches."""
KEY_BYTES = 500
"""Bytes per chunk of keys, names of repository, layer and path, card and symbols, in all rows."""
NODE_BYTES = 64 << 30
REPLICAS = 2
REPOSITORY_CHUNKS = 10_000
ACTIVE, QUESTIONS_PER_HOUR = 0.5, 20
"""Share of developers who work in the busiest hour, and the questions of each, or of its agent."""
UTILISATION = 0.6


class Questions(NamedTuple):
    """The seconds of one question: samples that are drawn independently of each other.

    Attributes:
        embedding: The instance embeds it.
        ranking: The instance ranks what the engine finds.
        search: The engine searches once.
    """

    embedding: Sequence[float]
    ranking: Sequence[float]
    search: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean seconds on an instance."""
        return fmean(self.embedding) + fmean(self.ranking)

    @property
    def variation(self) -> float:
        """The variance on an instance divided by the square of the mean."""
        return (pvariance(self.embedding) + pvariance(self.ranking)) / self.mean**2


class Push(NamedTuple):
    """What a push of a commit costs; see `scale_commits.Commit`."""

    repository: int
    files: int
    hidden: int
    chunks: int
    cards: int
    sent_bytes: int
    client_ms: float
    server_ms: float
    changes: Sequence[int]


class Repository(NamedTuple):
    """The size of a repository, and of the list of its files that a push begins with."""

    files: int
    chunks: int
    begin_bytes: int


class Rates:
    """The measured figures."""

    def __init__(self, data: Mapping[str, Any], instance: Mapping[str, Any]) -> None:
        cards, asked, engine = data["cards"], data["questions"], data["engine"]
        self.cards: float = median(cards["cards_per_core_second"])
        self.tokens: float = cards["tokens_per_card"]
        self.words: float = cards["different_words_per_chunk"]
        self.text_bytes: int = cards["bytes_per_chunk"]["text"] + cards["bytes_per_chunk"]["names"]
        self.questions = Questions(
            [each / 1000 for each in asked["embedding_ms"]],
            [each / 1000 for each in instance["instance_ms"]],
            [each / 1000 for each in engine["hnsw_search_ms"]],
        )
        self.pushes = [Push(*row) for row in data["commits"]]
        self.repositories = {name: Repository(**row) for name, row in data["repositories"].items()}
        self.hnsw_bytes: int = engine["hnsw_bytes_per_vector"]
        self.ivf_bytes: int = engine["ivf_sq8_bytes_per_vector"]
        self.built: int = engine["hnsw_vectors_built_per_core_second"]

    @property
    def gpu_cards(self) -> float:
        """Cards a second of one GPU: taken for a larger model, scaled, and halved."""
        scaled = L4_LARGE_TOKENS * LARGE_PARAMETERS / SMALL_PARAMETERS
        return SMALL_MODEL_EFFICIENCY * scaled / self.tokens

    @property
    def begin_bytes_per_file(self) -> float:
        """Bytes of one file in the list that a push begins with."""
        rows = self.repositories.values()
        return sum(row.begin_bytes for row in rows) / sum(row.files for row in rows)

    @property
    def chunks_per_file(self) -> float:
        """Chunks of a file, over all repositories."""
        rows = self.repositories.values()
        return sum(row.chunks for row in rows) / sum(row.files for row in rows)

    def mean(self, of: Callable[[Push], float]) -> float:
        """Return the mean over the pushes."""
        return fmean(map(of, self.pushes))


@cache
def rates() -> Rates:
    """Return the measured figures of the data file."""
    return Rates(*(json.loads(file.read_text(encoding="utf-8")) for file in (FILE, INSTANCE)))


def variation(values: Sequence[float]) -> float:
    """Return the variance divided by the square of the mean."""
    return pvariance(values) / fmean(values) ** 2


class Table(NamedTuple):
    """A table of the page."""

    name: str
    head: Sequence[str]
    rows: Iterable[Sequence[str]]

    def markdown(self) -> str:
        """Return it as Markdown."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(value: float, digits: int = 2) -> str:
    """Return a number with so many significant digits and separators: `1,200`, `0.34`.

    >>> shown(1234.5), shown(0.3456), shown(12.34), shown(0)
    ('1,200', '0.35', '12', '0')
    """
    if not value:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 else f"{rounded:,g}"


def size(value: float) -> str:
    """Return bytes in a decimal unit.

    >>> size(1.68e9), size(2_500), size(3.1e13)
    ('1.7 GB', '2.5 kB', '31 TB')
    """
    for unit, power in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= power:
            return f"{shown(value / power)} {unit}"
    return f"{shown(value)} B"
