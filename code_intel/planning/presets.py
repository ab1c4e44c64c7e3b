"""Named expectations and strategies for the most frequent questions (seed 003 §9.4).

A preset fills missing inputs of a plan. Its keywords are added to those of the goal, because the
preset only says which kind of place is wanted. Each has one pattern with an alternative for each
language: `patternMatch` counts pairs of a result and a pattern.

A project's own presets are in `.gistdex/config.json` under `presets`, and replace shipped ones.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from code_intel.config.reading import printable_key
from code_intel.errors import ConfigError, UsageError
from code_intel.planning.patterns import all_compiled
from code_intel.planning.records import (
    MAX_KEYWORDS,
    MAX_MATCHES,
    MAX_RULES,
    MAX_WORD_CHARS,
    InitialMode,
    Mode,
    Refinement,
    Strategy,
)

MAX_PRESET_NAME_CHARS, MAX_ABOUT_CHARS = 64, 300
PRESET_REMEDY = "Correct or remove the preset; docs/plans.md has an example."
KIND, WORDS_TOO = 0.75, 0.8
"""Minimum scores of shipped presets, without and with keywords. Places of the right kind that have
nothing of the goal reach 0.51 and 0.79 at a similarity of 0.85 to the last query.
"""


class Preset(NamedTuple):
    """Expectations and a strategy under a name; None and empty mean what a plan has without it."""

    name: str
    about: str
    ja: str = ""
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    min_matches: int | None = None
    confidence: float | None = None
    mode: Mode | None = None
    strategy: Strategy | None = None

    def expects(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Return the goal's own keywords and the preset's, each once whatever its case."""
        words: dict[str, str] = {}
        for word in (*own, *self.keywords):
            words.setdefault(word.casefold(), word)
        return tuple(words.values())


def _any(*alternatives: str) -> tuple[str, ...]:
    """Return one expression that finds any of them, `^` and `$` at every line."""
    return ("(?m)" + "|".join(alternatives),)


PRESETS = (
    Preset(
        "definition",
        "Where something is defined or implemented.",
        "何かが定義・実装されている場所。",
        patterns=_any(
            r"^[ \t]*"
            r"(?:(?:export|default|public|private|abstract|final|async|pub(?:\(\w+\))?)[ \t]+)*(?:"
            r"(?:def|func|fn|function|fun)[ \t]+(?:\([^)\n]*\)[ \t]*)?[\w$]+[(<\[]"
            r"|(?:class|interface|trait|enum|record|struct|impl)\b[^.,\n]*[({:<]"
            r"|type[ \t]+\w+(?:<[^\n]*>)?(?:[ \t]*=|[ \t]+(?:struct|interface|func)\b)"
            r"|const[ \t]+\w+[ \t]*=[ \t]*(?:async[ \t]*)?\()",
            r"^[ \t]*(?:public|private|protected|static)[ \t][\w<>\[\], \t]*\w\([^;\n]*\{",
        ),
        confidence=KIND,
        min_matches=1,
        strategy=Strategy(initial="specific"),
    ),
    Preset(
        "configuration",
        "Configuration: settings, defaults, environment variables, configuration files.",
        "設定項目、既定値、環境変数、設定ファイル。",
        keywords=("config",),
        patterns=_any(
            r"\bos\.(?:environ|getenv|Getenv|LookupEnv)\b",
            r"\b(?:process|import\.meta)\.env\b",
            r"\bSystem\.get(?:env|Property)\(",
            r"\benv::var",
            r"@(?:Value|ConfigurationProperties)\(",
            r"\b(?:define|load|read|parse|merge)_?[Cc]onfig\w*\(",
            r"\b(?:class|struct|interface|type|record)[ \t]+\w*(?:Config|Settings|Options)\b",
            r"\b(?:CONFIG|SETTINGS|OPTIONS|DEFAULTS?)(?:_\w+)?\b[^=\n]{0,40}=",
            r"^\[[\w.\-]+\][ \t]*$",
        ),
        confidence=WORDS_TOO,
        strategy=Strategy(rules=("add settings", "add default")),
    ),
    Preset(
        "tests",
        "Tests, and what they expect.",
        "何かのテストと、その期待値。",
        keywords=("test",),
        patterns=_any(
            r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*\(",
            r"\bself\.assert\w+\(|@pytest\.",
            r"\b(?:describe|it|test)(?:\.\w+)*\([ \t\n]*['\"`]|\bexpect\([^\n]*\)\.",
            r"^func[ \t]+(?:Test|Benchmark|Fuzz)\w*\(",
            r"@(?:ParameterizedTest|Test)\b",
            r"#\[(?:\w+::)?test\b|\bassert\w*!?\(",
        ),
        confidence=WORDS_TOO,
        strategy=Strategy(rules=("add test",)),
    ),
    Preset(
        "errors",
        "How errors are raised, caught and reported.",
        "失敗の送出、捕捉、通知のしかた。",
        keywords=("error",),
        patterns=_any(
            r"^[ \t]*except\b[^\n]*:[ \t]*(?:#.*)?$",
            r"^[ \t]*raise[ \t]+[A-Za-z_][\w.]*[ \t]*(?:\(|from\b|$)",
            r"\bclass[ \t]+\w*(?:Error|Exception)\b",
            r"\bcatch[ \t]*(?:\([^)\n]*\))?[ \t]*\{|\bthrow[ \t]+new[ \t]+\w+",
            r"\berr[ \t]*!=[ \t]*nil\b|\berrors\.(?:New|Is|As|Join)\(|\bfmt\.Errorf\(",
            r"\bResult<|\bErr\(|\.map_err\(",
        ),
        confidence=WORDS_TOO,
        strategy=Strategy(rules=("add exception",)),
    ),
    Preset(
        "api",
        "Interfaces: routes, exported names, entry points.",
        "外から呼べるもの。経路、公開された名前、入口。",
        patterns=_any(
            r"\b(?:app|api|router|server|mux|http)\."
            r"(?:(?i:get|post|put|patch|delete)|route|use|Handle(?:Func)?)\(",
            r"@(?:Get|Post|Put|Patch|Delete|Request)(?:Mapping)?\(",
            r"#\[(?:get|post|put|patch|delete)\(",
            r"^export\s+(?:default\s+)?(?:async\s+)?(?:function|class|const|interface|type)\b",
            r"\bmodule\.exports\b|^__all__\b|^if __name__ ==",
            r"^func\s+(?:\([^)\n]*\)[ \t]*)?(?:main|[A-Z]\w*)\(",
            r"^[ \t]*public\s+(?:\w+\s+)*(?:class|interface|void main)\b",
            r"^[ \t]*pub\s+(?:async\s+)?(?:fn|struct|trait|enum)[ \t]|\bfn main\(",
        ),
        confidence=KIND,
        strategy=Strategy(rules=("add handler", "add endpoint")),
    ),
    Preset(
        "data",
        "Data models and schemas: stored data, fields and types.",
        "データモデルとスキーマ。何が保存され、どんな項目と型か。",
        patterns=_any(
            r"@dataclass\b"
            r"|\((?:[\w.]+,[ \t]*)*(?:\w+\.)?(?:BaseModel|Model|TypedDict|NamedTuple)\)",
            r"(?i:\bcreate[ \t]+table[ \t]+[^\n(]{1,80}\()",
            r"^[ \t]*(?:export[ \t]+)?(?:interface[ \t]+\w+[^\n]*\{|type[ \t]+\w+[ \t]*=[ \t]*\{)",
            r"\bz\.object\(",
            r"^type[ \t]+\w+[ \t]+struct\b",
            r"^[ \t]*(?:pub(?:\(\w+\))?[ \t]+)?struct[ \t]+\w+[^.\n]*[{(;]|#\[derive\(",
            r"@(?:Entity|Table|Column)\b|\brecord[ \t]+\w+[ \t]*\(",
            r"^(?:message|model)[ \t]+\w+[ \t]*\{",
        ),
        confidence=KIND,
        strategy=Strategy(rules=("add schema", "add model")),
    ),
    Preset(
        "concurrency",
        "Concurrency: tasks, threads, locks, queues.",
        "並行して動くもの。タスク、スレッド、ロック、キュー。",
        patterns=_any(
            r"\basync[ \t]+(?:def|with|for)[ \t]+[\w(.]+[^\n]*:"
            r"|\b(?:threading|asyncio|anyio|multiprocessing)\.\w+",
            r"\basync[ \t]+(?:function|fn|move|\()|\bawait[ \t]+[\w.]+\(|\.await\b",
            r"\bPromise\.(?:all|race|any)\w*\(|\bnew[ \t]+Worker\(",
            r"\bgo[ \t]+(?:func\(|[\w.]+\()"
            r"|\bsync\.(?:Mutex|RWMutex|WaitGroup|Once)\b|\bmake\(chan\b",
            r"\bsynchronized[ \t]*(?:\(|\w+[ \t]+\w+\()",
            r"\b(?:ExecutorService|CompletableFuture|ReentrantLock)\b",
            r"\b(?:tokio|std::sync|thread)::\w+|\b(?:Arc|Mutex|RwLock)<",
        ),
        confidence=KIND,
        strategy=Strategy(rules=("add lock", "add async")),
    ),
    Preset(
        "performance",
        "Performance: caches, batches, measurements, buffers.",
        "速さを左右するもの。キャッシュ、まとめ処理、計測、バッファ。",
        patterns=_any(
            r"@(?:functools\.)?(?:lru_cache|cache|cached_property)\b|@Cacheable\b",
            r"\b\w*[Cc]ache\w*(?:\.(?:get|set|put|has|entry|delete)\(|\[|[ \t]*=[ \t])",
            r"\b(?:useMemo|useCallback|memoize|memo)\(",
            r"\bexecutemany\(|\b\w*[Bb]atch\w*(?:\(|[ \t]*=[ \t])",
            r"\bperf_counter\w*\(|\bperformance\.now\(|\btime\.Since\("
            r"|\bnanoTime\(|\bInstant::now\(",
            r"\b[Bb]enchmark\w*\(|\bwith_capacity\(|\bsync\.Pool\b|\bmake\(\[\][\w.]+,[^)\n]*,",
        ),
        confidence=KIND,
        strategy=Strategy(rules=("add cache", "add batch")),
    ),
    Preset(
        "security",
        "Security: authentication, permissions, input validation, secrets.",
        "守るもの。認証、権限、入力の検査、秘密情報。",
        patterns=_any(
            r"\b(?i:(?:check|verify|validate|require|ensure|is|has|can)_?\w*"
            r"(?:password|token|permission|auth|signature|csrf|role|access|admin)\w*\()",
            r"\b(?i:(?:sanitize|escape|quote)\w*\()",
            r"\b(?:bcrypt|argon2|hmac|hashlib|secrets|jwt|sha2)(?:\.|::)\w+|\bcrypto[./]\w+",
            r"\b(?:compare_digest|timingSafeEqual|ConstantTimeCompare|constant_time_eq)\b",
            r"@(?:PreAuthorize|RolesAllowed|Secured|login_required)\b|\bMessageDigest\b",
        ),
        confidence=KIND,
        strategy=Strategy(rules=("add auth", "add permission")),
    ),
)
"""The shipped ones, in the order in which they are listed."""

_Words = list[Annotated[str, Field(min_length=1, max_length=MAX_WORD_CHARS)]]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, defer_build=True
    )


class _Expected(_Part):
    keywords: Annotated[_Words, Field(max_length=MAX_KEYWORDS)] = []
    content_patterns: list[str] = []
    min_matches: Annotated[int, Field(ge=1, le=MAX_MATCHES)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class _Strategy(_Part):
    initial_mode: InitialMode | None = None
    refinement_method: Refinement = "hybrid"
    expansion_rules: Annotated[_Words, Field(max_length=MAX_RULES)] = []


class _Own(_Part):
    about: Annotated[str, Field(max_length=MAX_ABOUT_CHARS)] = ""
    expected_results: _Expected = _Expected.model_construct()
    strategy: _Strategy | None = None
    evaluation_mode: Mode | None = None


def read(name: str, value: object) -> Preset:
    """Return a preset of config.json.

    Raises:
        ConfigError: A key is unknown or a value invalid, such as `presets.NAME.strategy`.
    """
    field = f"presets.{printable_key(name)}"
    if not name or len(name) > MAX_PRESET_NAME_CHARS or not name.isprintable():
        raise ConfigError(
            f"{field}: a preset's name has 1 to {MAX_PRESET_NAME_CHARS} readable characters.",
            hint=PRESET_REMEDY,
            details={"field": field},
        )
    try:
        own = _Own.model_validate(value)
        all_compiled(
            own.expected_results.content_patterns, f"{field}.expectedResults.contentPatterns"
        )
    except UsageError as error:
        raise ConfigError(error.message, hint=error.hint, details=error.details) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join([field, *(printable_key(str(part)) for part in first["loc"])])
        raise ConfigError(
            f"{field}: {first['msg']}.", hint=PRESET_REMEDY, details={"field": field}
        ) from None
    expected = own.expected_results
    return Preset(
        name,
        own.about,
        keywords=tuple(expected.keywords),
        patterns=tuple(expected.content_patterns),
        min_matches=expected.min_matches,
        confidence=expected.confidence,
        mode=own.evaluation_mode,
        strategy=_strategy(own.strategy) if own.strategy else None,
    )


def _strategy(own: _Strategy) -> Strategy:
    return Strategy(own.initial_mode, own.refinement_method, tuple(own.expansion_rules))


def known(user: Mapping[str, Preset]) -> dict[str, Preset]:
    """Return all presets by name; shipped ones first, replaced by the project's own."""
    return {preset.name: preset for preset in PRESETS} | dict(user)


def chosen(name: str, user: Mapping[str, Preset]) -> Preset:
    """Return the preset of a name.

    Raises:
        UsageError: There is no such preset; it names all presets.
    """
    presets = known(user)
    if name not in presets:
        raise UsageError(
            f"There is no preset {name[:MAX_PRESET_NAME_CHARS]!r}.",
            hint=f"Use one of {', '.join(map(printable_key, presets))}, or leave it out.",
            details={"field": "preset"},
        )
    return presets[name]
