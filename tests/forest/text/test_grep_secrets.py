"""Test that secrets are masked in the matches of ripgrep."""

from pathlib import Path

import pytest

from code_intel.errors import UsageError
from code_intel.forest.text.grep import TextQuery, grep
from planted import planted

pytestmark = pytest.mark.anyio

KINDS = planted(3)
BLOCK = KINDS["private key"].text
TOKEN, (VALUE,) = KINDS["GitHub classic"]


@pytest.mark.parametrize("program", ["", "/nowhere/rg"], ids=["ripgrep", "without it"])
async def test_a_match_is_shown_masked(tmp_path: Path, program: str) -> None:
    (tmp_path / "a.py").write_text(f'é = "é"; token = "{TOKEN}"; end = 1\n', encoding="utf-8")
    answer = await grep(tmp_path, TextQuery("token"), program=program)
    (match,) = answer.matches
    masked = "x" + "*" * (len(VALUE) - 1)
    assert match.content == f'é = "é"; token = "ghp_{masked}"; end = 1'
    assert match.spans == (("token", 9, 14),)  # characters, as the line is read


async def test_a_search_for_a_secret_shows_it_masked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f'x = "{TOKEN}"\n', encoding="utf-8")
    (match,) = (await grep(tmp_path, TextQuery(TOKEN))).matches
    assert VALUE not in str(match)
    assert match.spans == (("ghp_x" + "*" * (len(VALUE) - 1), 5, 5 + len(TOKEN)),)


@pytest.mark.parametrize("program", ["", "/nowhere/rg"], ids=["ripgrep", "without it"])
@pytest.mark.parametrize("context", [0, 2, 10])
async def test_lines_of_private_keys_are_masked(tmp_path: Path, context: int, program: str) -> None:
    (tmp_path / "deploy.md").write_text(f"# Keys\n\n{BLOCK}\n\nend of zone\n", encoding="utf-8")
    pattern = "z" if program else "[A-Za-z0-9+/]{5,}"
    question = TextQuery(pattern, context_lines=context, case_sensitive=False)
    answer = await grep(tmp_path, question, program=program)
    assert answer.matches
    for secret in KINDS["private key"].secrets:
        assert not any(secret[i : i + 8] in str(answer.matches) for i in range(len(secret) - 7))
    assert [m.content for m in answer.matches if m.line == 1] in ([], ["# Keys"])


async def test_a_value_named_by_the_line_above_is_masked(tmp_path: Path) -> None:
    value = "7q4Tz9Wm2Kx8vB5n"
    text = f"env:\n- name: DB_PASSWORD\n  value: {value}\n- name: MODE\n  value: fast\n"
    (tmp_path / "deploy.yaml").write_text(text, encoding="utf-8")
    masked, fast = (await grep(tmp_path, TextQuery("value: "))).matches
    assert masked.content == "  value: x***************"
    assert (fast.content, fast.spans) == ("  value: fast", (("value: ", 2, 9),))
    (above,) = (await grep(tmp_path, TextQuery("MODE", context_lines=1))).matches
    assert value not in str(above)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp932", "utf-8-sig"])
async def test_lines_within_a_key_are_masked_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    start = "caf\xe9" if encoding == "latin-1" else "鍵の説明" if encoding == "cp932" else "key"
    (tmp_path / "a.txt").write_bytes(f"{start}\n{BLOCK}\n".encode(encoding))
    answer = await grep(tmp_path, TextQuery("^[A-Za-z0-9+/]{30,}"))
    assert len(answer.matches) == 6
    assert all(set(match.content) == {"x", "*"} for match in answer.matches)


async def test_a_line_is_masked_before_it_is_cut(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("word " * 98 + TOKEN + " rest\n", encoding="utf-8")
    (match,) = (await grep(tmp_path, TextQuery("rest"))).matches
    assert match.content.endswith("ghp_x*****")


@pytest.mark.parametrize("name", ["server.key", "tls.pem", "id_rsa", "credentials", "prod.tfstate"])
async def test_files_that_may_hold_secrets_are_not_searched(tmp_path: Path, name: str) -> None:
    for folder in ("", "sub"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text("needle\n", encoding="utf-8")
    (tmp_path / "z.py").write_text("needle\n", encoding="utf-8")
    answer = await grep(tmp_path, TextQuery("needle", max_results=1))
    assert [m.file for m in answer.matches] == ["z.py"]
    assert not answer.truncated
    with pytest.raises(UsageError) as caught:
        await grep(tmp_path, TextQuery("needle", path=f"sub/{name}"))
    assert caught.value.details["field"] == "path"
