"""Agreements as the previous program wrote them: values as entered, and its own file names."""

from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.chunking.agreement import AgreementProblem, canonical, notes_of, read, render
from code_intel.learned.files.agreements import find, load_all, make_key, write
from code_intel.records import FileReference

TERMS = [
    *("ログイン機能", "認証: ログイン", "C# の設定 #12", "[draft] login", "*args の展開"),
    *("&str", "!important", "- 一覧", "“引用”", '"quoted" term', "it's", "a | b", "> 100件"),
    *("`login`", "{x}", "@me", "%d", "? 何", "null", "012", "~", "key: [a, b]"),
    *("tab\tinside", "\\d+", "日本語（括弧）", ""),
]


def written_before(
    nl_term: str,
    symbol: str = "AuthService",
    evidence: str = "（根拠なし）",
    files: str = "（なし）",
    frame: str = "",
) -> str:
    """Return a file as that program wrote it, title and values unescaped."""
    head = (
        f"---\ndoc_type: agreement\nnl_term: {nl_term}\nsymbol: {symbol}\n"
        f"symbol_normalized: Auth Service\n"
        "similarity: 0.850\nsession_id: session_20250112_143000\nintent: MODIFY\n"
        "learned_at: 2025-01-12T14:35:00.123456\n---\n"
    )
    return (
        f"{head}\n# {nl_term} → {symbol}\n\n**シンボル（分解）**: Auth Service\n\n"
        f"## 根拠 (Code Evidence)\n\n{evidence}\n"
        f"\n## 関連ファイル\n\n{files}\n{frame}"
    )


@pytest.mark.parametrize(
    "nl_term", [term for term in TERMS if term and "\t" not in term and not term.startswith('"')]
)
def test_term_is_the_rest_of_its_line(nl_term: str) -> None:
    found = read(written_before(nl_term))
    assert found.nl_term == nl_term
    assert (found.symbol, found.similarity, found.intent) == ("AuthService", 0.85, "MODIFY")
    assert found.learned_at == "2025-01-12T14:35:00.123456+00:00"
    assert read(render(found)) == canonical(found)


def test_placeholders_are_read_as_empty() -> None:
    found = read(written_before("a"))
    assert (found.evidence, found.files, found.frame) == ((), (), ())
    assert notes_of(written_before("a")) == ""


def test_evidence_and_frame_are_read() -> None:
    evidence = (
        "login() checks it:\n\n```python\n# a comment\n## 関連ファイル\nx = 1\n```\n\n- and a list"
    )
    frame = "\n## QueryFrame\n\n- **target_feature**: ログイン機能\n- **observed_issue**: a: b\n"
    found = read(
        written_before("a", evidence=evidence, files="- `src/auth.py`\n- `src/b.py:7`", frame=frame)
    )
    assert found.evidence == (
        "login() checks it:",
        "```python\n# a comment\n## 関連ファイル\nx = 1\n```",
        "and a list",
    )
    assert found.files == (FileReference("src/auth.py"), FileReference("src/b.py", 7))
    assert found.frame == (("target_feature", "ログイン機能"), ("observed_issue", "a: b"))
    assert read(render(found)) == canonical(found)


def test_term_that_ends_the_front_matter_is_invalid() -> None:
    broken = written_before("x\n---\nsymbol: Evil\nnl_term: 送料")
    with pytest.raises(AgreementProblem) as caught:
        read(broken)
    assert caught.value.kind == "invalid"


def test_files_keep_their_names_when_updated(tmp_path: Path) -> None:
    names = ["ログイン機能_AuthService.md", "login_auth.md", "unnamed_unnamed.md", "team/x y.md"]
    for number, name in enumerate(names):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(written_before(f"term {number}"), encoding="utf-8")
    for number, name in enumerate(names):
        entry = find(tmp_path, make_key(f"term {number}", "AuthService"))
        assert entry is not None
        assert entry.agreement is not None
        assert write(tmp_path, replace(entry.agreement, similarity=0.9)) == tmp_path / name
        assert "similarity: 0.900" in (tmp_path / name).read_text(encoding="utf-8")
    assert sorted(str(e.path.relative_to(tmp_path)) for e in load_all(tmp_path)) == sorted(names)
