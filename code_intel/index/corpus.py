"""Define the corpora, and which files belong to neither."""

import os
import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from code_intel.chunking.knowledge_page import PAGE_NAME as PAGE
from code_intel.config import KNOWLEDGE_FOLDER, IndexConfig
from code_intel.config.own_files import is_own
from code_intel.records import Corpus

MAX_FILE_BYTES = 1 << 20
"""Maximum bytes of an indexed file; larger ones are data, bundles or dumps."""


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """How the files of a corpus are found.

    Attributes:
        suffixes: Lower-case endings of names; empty for any.
        ignore_rules: Whether .gitignore applies. It does not apply to agreements, because the
            configuration names their folder.
        own_state: Whether files of code-intel itself are included, such as agreements.
        pages: Whether pages of query plans are included, although git ignores them.
        history: Whether the messages of earlier commits are indexed.
    """

    suffixes: tuple[str, ...]
    ignore_rules: bool
    own_state: bool
    pages: bool
    history: bool


CORPORA: dict[Corpus, CorpusRow] = {
    "map": CorpusRow(
        suffixes=(".md",), ignore_rules=False, own_state=True, pages=False, history=False
    ),
    "forest": CorpusRow(suffixes=(), ignore_rules=True, own_state=False, pages=True, history=True),
}

_words = str.split

EXCLUDED_FOLDERS = frozenset(
    _words("""
    .git .hg .svn .jj CVS node_modules bower_components jspm_packages __pycache__ .venv venv .tox
    .nox .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints site-packages
    dist build target out .next .nuxt .svelte-kit .turbo .parcel-cache .cache .gradle .terraform
    .idea coverage htmlcov Pods DerivedData""")
)
"""Folders that are excluded outside git work trees."""
TOOL_MARKERS = {
    "pyvenv.cfg": "",
    "CACHEDIR.TAG": "",
    "modules.txt": "vendor",
    "autoload.php": "vendor",
}
"""Marker files of generated folders, also excluded there → the folder's name; empty for any."""
NEVER_FOLDERS = frozenset({".git", "node_modules"})
"""Folders that are excluded even if no ignore rules apply."""

SECRET_REASON, GENERATED_REASON = "may hold secrets", "generated"
"""Reasons not to index a file. No tool shows files that may hold secrets."""
_SECRETS = _words("""
    .env .env.* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk id_rsa* id_dsa* id_ecdsa*
    id_ed25519* .netrc _netrc .npmrc .pypirc .htpasswd .pgpass credentials .git-credentials
    *.tfstate *.tfstate.* service-account*.json""")
_GENERATED = _words("""
    *.min.js *.min.css *.min.mjs *.map package-lock.json npm-shrinkwrap.json yarn.lock
    pnpm-lock.yaml bun.lock poetry.lock pdm.lock uv.lock pipfile.lock cargo.lock composer.lock
    gemfile.lock go.sum flake.lock""")
REFUSED_NAMES = tuple(
    (reason, re.compile("|".join(translate(pattern) for pattern in patterns)))
    for reason, patterns in ((SECRET_REASON, _SECRETS), (GENERATED_REASON, _GENERATED))
)
"""(reason, regular expression for lower-case names)."""
ALLOWED_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist")

_TESTS = frozenset(_words("test tests __tests__ spec specs testing testdata fixtures e2e"))
_DOCS = frozenset(_words("doc docs documentation examples example docs_src samples benchmarks"))
_PROSE = tuple(_words(".md .rst .txt .adoc .json .yaml .yml .toml .csv .svg"))


def refusal(path: str) -> str:
    """Return why a file with this name is never indexed, or an empty text."""
    return _refusal_of_name(path.rpartition("/")[2])


@lru_cache(maxsize=8192)
def _refusal_of_name(name: str) -> str:
    """Return the same by the name alone; large trees repeat names."""
    folded = name.lower()
    if folded in ALLOWED_NAMES:
        return ""
    return next((reason for reason, names in REFUSED_NAMES if names.match(folded)), "")


def is_page(path: str) -> bool:
    """Return whether a document's folder and name are those of a page of a query plan."""
    if KNOWLEDGE_FOLDER not in path:  # a scan asks this about every file
        return False
    folder, _, name = path.rpartition("/")
    return f"/{folder}".endswith(f"/{KNOWLEDGE_FOLDER}") and bool(PAGE.fullmatch(name))


class OwnNames:
    """Tells the files of code-intel itself from those of a project, by name.

    Args:
        config: The configuration of the index.
    """

    def __init__(self, config: IndexConfig) -> None:
        self._row = CORPORA[config.corpus]
        self._databases = (config.db_path.name, "vectors-map.db", "vectors-forest.db")
        self._plans = ""
        if config.knowledge is not None:
            plans = str(config.knowledge.parents[1]).removeprefix(f"{config.folder}{os.sep}")
            self._plans = f"{plans.replace(os.sep, '/')}/"

    def is_own_file(self, path: str) -> bool:
        """Return whether a POSIX path is a file of code-intel itself, or one that `init` writes."""
        if self._is_page(path):
            return False
        is_database = path.rpartition("/")[2].startswith(self._databases)
        return is_database or (not self._row.own_state and is_own(path))

    def holds(self, path: str) -> bool:
        """Return whether a path is such a file, or the folder of such files itself."""
        return self.is_own_file(path) or self.is_own_file(f"{path}/")

    def is_plan_file(self, path: str) -> bool:
        """Return whether a document is a query plan's file, but not a page of the corpus."""
        return bool(self._plans) and path.startswith(self._plans) and not self._is_page(path)

    def _is_page(self, path: str) -> bool:
        return self._row.pages and is_page(path)


def priority(path: str) -> int:
    """Return a document's priority for embedding: 0 source, 1 documentation and data, 2 tests."""
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0]
    if (
        _TESTS.intersection(folders)
        or stem.startswith("test_")
        or stem.endswith(("_test", "_spec"))
    ):
        return 2
    if ".test." in name or ".spec." in name:
        return 2
    return int(bool(_DOCS.intersection(folders)) or name.endswith(_PROSE))
