"""Projects of earlier versions; each function creates one in an empty folder."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from projects import file_tree

PAIRS: list[dict[str, Any]] = [
    {
        "nl_term": "ログイン機能",
        "symbol": "AuthService",
        "similarity": 0.8541666,
        "code_evidence": "AuthService.login() checks the password\nand locks after three failures",
        "session_id": "session_20250112_143000",
        "learned_at": "2025-01-12T14:35:00.123456",
    },
    {
        "nl_term": "退会",
        "symbol": "leave()",
        "similarity": 0.5,
        "code_evidence": None,
        "session_id": "session_20250113_090000",
        "learned_at": "2025-01-13T09:10:00",
    },
]
UPSTREAM_AGREEMENT = """\
---
doc_type: agreement
nl_term: ログイン機能
symbol: AuthService
symbol_normalized: Auth Service
similarity: 0.854
session_id: session_20250112_143000
intent: MODIFY
learned_at: 2025-01-12T14:35:00.223456
---

# ログイン機能 → AuthService

**シンボル（分解）**: Auth Service

## 根拠 (Code Evidence)

AuthService.login() checks the password

## 関連ファイル

- `src/auth.py`

## QueryFrame

- **target_feature**: ログイン機能
"""
SEED_AGREEMENT = """\
---
doc_type: agreement
nl_term: ログイン機能
symbol: AuthService
similarity: 0.85
session_id: session_20250112_143000
learned_at: 2025-01-12T14:35:00
---

# ログイン機能 → AuthService

## 根拠 (Code Evidence)

- `AuthService.login()` checks the password

## 関連ファイル

- `src/auth.py:4`
"""


def original(root: Path) -> Path:
    """Install an original devrag beside the project; return its program."""
    program = root.parent / "opt" / "bin" / "devrag"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def servers(root: Path, *names: str, configs: Path | None = None) -> dict[str, Any]:
    """Return the entries that the original's documents tell people to write."""
    gateway = {
        "type": "stdio",
        "command": "/opt/helper/venv/bin/python",
        "args": ["/opt/helper/code_intel_server.py"],
        "env": {"PYTHONPATH": "/opt/helper"},
    }
    found = {}
    for name in names:
        words = ["--config", str(configs / f"{name}.json")] if configs else []
        found[name] = {
            "type": "stdio",
            "command": str(original(root)),
            "args": words,
            "env": {"LD_LIBRARY_PATH": "/usr/local/lib"},
        }
    return found | {"code-intel": gateway}


def write(root: Path, files: Mapping[str, object]) -> Path:
    """Put files into a project: texts as they are, all else as JSON."""
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        path.write_text(text, encoding="utf-8")
    return root


def v37(root: Path) -> Path:
    """v3.7: pairs of version 1, one devrag with a config.json, its database."""
    return write(
        root,
        {
            ".code-intel/learned_pairs.json": {
                "version": 1,
                "updated_at": "2025-01-13T09:10:00",
                "pairs": PAIRS,
            },
            ".mcp.json": {"mcpServers": servers(root, "devrag")},
            "config.json": {
                "document_patterns": ["./documents"],
                "db_path": "./vectors.db",
                "chunk_size": 700,
                "compute": {"device": "auto", "fallback_to_cpu": True},
                "model": {"name": "multilingual-e5-small", "dimensions": 384},
            },
            "vectors.db": "SQLite format 3\0",
        },
    )


def v38_by_script(root: Path) -> Path:
    """v3.8 as its script sets a project up.

    Everything is below .code-intel. Pairs are still of version 1.
    """
    config = {
        "db_path": "./vectors-forest.db",
        "chunk_size": 500,
        "search_top_k": 5,
        "compute": {"device": "auto", "fallback_to_cpu": True},
        "model": {"name": "multilingual-e5-small", "dimensions": 384},
    }
    the_map = config | {"document_patterns": ["./agreements"], "db_path": "./vectors-map.db"}
    (root / "src").mkdir(parents=True)
    return write(
        root,
        {
            ".code-intel/learned_pairs.json": {"version": 1, "updated_at": "", "pairs": PAIRS},
            ".code-intel/agreements/ログイン機能_AuthService.md": UPSTREAM_AGREEMENT,
            ".code-intel/devrag-forest.json": config | {"document_patterns": ["../src", "../lib"]},
            ".code-intel/devrag-map.json": the_map,
            ".mcp.json": {
                "mcpServers": servers(
                    root, "devrag-map", "devrag-forest", configs=root / ".code-intel"
                )
            },
            ".gitignore": "\n# Code Intel MCP Server v3.8\n.code-intel/vectors-*.db\n"
            ".code-intel/learned_pairs.json\n",
        },
    )


def v38_by_seed(root: Path) -> Path:
    """v3.8 as its design says.

    Configs are in the root. Pairs are of version 2 and name their agreement.
    """
    first, second = PAIRS
    model = {"name": "multilingual-e5-small", "dimensions": 384}
    return write(
        root,
        {
            ".code-intel/learned_pairs.json": {
                "version": 2,
                "updated_at": "2025-01-12T14:35:00",
                "embedding_model": "intfloat/multilingual-e5-small",
                "pairs": [
                    first | {"agreement_file": "login_auth.md"},
                    second | {"agreement_file": "leave.md"},
                ],
            },
            ".code-intel/agreements/login_auth.md": SEED_AGREEMENT,
            "devrag-map.json": {
                "document_patterns": ["./.code-intel/agreements"],
                "db_path": "./.code-intel/vectors-map.db",
                "chunk_size": 300,
                "search_top_k": 10,
                "model": model,
            },
            "devrag-forest.json": {
                "document_patterns": ["./documents", "./src"],
                "db_path": "./vectors-forest.db",
                "chunk_size": 500,
                "search_top_k": 5,
                "model": model,
            },
            ".mcp.json": {
                "mcpServers": servers(root, "devrag-map", "devrag-forest", configs=Path())
            },
        },
    )


def later(root: Path) -> Path:
    """What v3.9 and later keep: another index, a config of its own, prompts."""
    return write(
        root,
        {
            ".code-intel/learned_pairs.json": {"version": 1, "updated_at": "", "pairs": PAIRS},
            ".code-intel/config.json": {
                "version": "1.0",
                "embedding_model": "multilingual-e5-small",
                "source_dirs": ["src", "lib"],
                "exclude_patterns": ["**/vendor/**"],
            },
            ".code-intel/chroma/chroma.sqlite3": "",
            ".code-intel/sync_state.json": "{}",
            ".code-intel/context.yml": "doc_research:\n  enabled: true\n",
            ".code-intel/logs/outcomes.jsonl": '{"session_id": "s", "outcome": "success"}\n',
            ".mcp.json": {"mcpServers": servers(root)},
        },
    )


LAYOUTS: Mapping[str, Callable[[Path], Path]] = {
    "v3.7": v37,
    "v3.8 by script": v38_by_script,
    "v3.8 by seed": v38_by_seed,
    "later": later,
}


def tree(root: Path) -> dict[str, bytes]:
    """Return every file of a project except locks by its name."""
    return {name: data for name, data in file_tree(root).items() if not name.endswith(".lock")}


def without_backup(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Leave out the backups of a migration."""
    return {name: data for name, data in files.items() if "/backup/" not in name}
