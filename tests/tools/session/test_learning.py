"""The map learns words, rejections and failures from sessions, with the real model."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from code_intel.cli.main import main
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn as learn_pair
from code_intel.learned.learn import reconfirm
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement, FileReference
from programs import git
from projects import Caller
from served import AGREEMENTS, gateway, settings_of
from shop_sessions import (
    FEE,
    FEE_FILE,
    LOGIN,
    LOGIN_FILE,
    ask,
    change,
    claim,
    explore,
    learn,
    score,
    start,
    succeed,
    verify,
)

pytestmark = [pytest.mark.anyio, pytest.mark.model]

TERM = "ログイン画面"
WORDS = "サインイン機能"


def model(shop: Path) -> Any:
    return gateway(shop, embedding="faithful")


@pytest.fixture(scope="module")
def learned_shop(embedded_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let a session learn the login in a copy of the shop."""
    root = tmp_path_factory.mktemp("learned") / "shop"
    shutil.copytree(embedded_shop, root, symlinks=True)

    async def teach() -> None:
        async with model(root) as call:
            assert (await learn(call, root, TERM, LOGIN, LOGIN_FILE))["cached_pairs"]

    anyio.run(teach)
    return root


@pytest.fixture
def shop(learned_shop: Path, tmp_path: Path) -> Path:
    """Copy the project that has learned the login."""
    return Path(shutil.copytree(learned_shop, tmp_path / "shop", symlinks=True))


async def confirm(call: Caller, shop: Path, words: str) -> dict[str, Any]:
    """Ask with `words`, verify what the map offers, change the file, report success."""
    answer = await ask(call, words)
    assert answer["next_phase"] == "VERIFICATION", answer
    await verify(call, LOGIN, LOGIN_FILE)
    await call("find_references", symbol=LOGIN)
    return await succeed(call, shop, LOGIN_FILE)


async def reject(call: Caller, words: str) -> None:
    answer = await ask(call, words)
    assert answer["next_phase"] == "VERIFICATION", answer
    assert await verify(call, LOGIN, LOGIN_FILE, "rejected") == "EXPLORATION"


def experiences(shop: Path) -> list[tuple[str, str, str]]:
    with open_state(shop / ".code-intel") as state:
        return [(found.kind, found.wording, found.detail) for found in state.experiences()]


async def test_alias_of_two_sessions_scores_like_the_term(shop: Path) -> None:
    async with model(shop) as call:
        first = await score(call, WORDS, LOGIN)
        assert (await confirm(call, shop, WORDS))["map_sync"] == "done"
        assert VERIFICATION_SCORE <= first <= await score(call, WORDS, LOGIN) < READY_SCORE
        await confirm(call, shop, "ｻｲﾝｲﾝ機能")  # the same words, in another width
        assert await score(call, WORDS, LOGIN) == 1.0
        assert (await ask(call, WORDS))["next_phase"] == "READY"
        (file,) = (shop / AGREEMENTS).glob("*.md")
        assert file.read_text(encoding="utf-8").count('- "') == 1


async def test_symbol_renamed_by_the_session_is_learned_under_its_new_name(
    shop: Path,
) -> None:
    async with model(shop) as call:
        await ask(call, WORDS)
        await verify(call, LOGIN, LOGIN_FILE)
        source = shop / LOGIN_FILE
        text = source.read_text(encoding="utf-8")
        source.write_text(text.replace("def login(", "def sign_in("), encoding="utf-8")
        outcome = await call("record_outcome", outcome="success")
        assert [pair["symbol"] for pair in outcome["cached_pairs"]] == ["AuthService.sign_in"], (
            outcome["note"]
        )
        (row,) = (await call("list_agreements"))["agreements"]
        assert (row["nl_term"], row["symbol"]) == (TERM, "AuthService.sign_in")
        assert (row["status"], row["aliases"]) == ("valid", [WORDS])


async def test_symbol_deleted_by_the_session_is_not_learned(shop: Path) -> None:
    async with model(shop) as call:
        await start(call, "送料の計算")
        await explore(call, FEE, FEE_FILE)
        source = shop / FEE_FILE
        source.write_text('"""Shipping is free."""\n', encoding="utf-8")
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == []
        assert len((await call("list_agreements"))["agreements"]) == 1


async def test_repeated_reports_of_a_session_count_once(shop: Path) -> None:
    async with model(shop) as call:
        await confirm(call, shop, WORDS)
        for _ in range(5):
            again = await succeed(call, shop, LOGIN_FILE)
            assert again["cached_pairs"] == []
        assert await score(call, WORDS, LOGIN) < READY_SCORE
        counted = [kind for kind, wording, _ in experiences(shop) if wording == "サインイン機能"]
        assert sorted(counted) == ["accepted", "confirmed", "offered"]


async def test_alias_removed_from_the_file_no_longer_counts(shop: Path) -> None:
    async with model(shop) as call:
        for _ in range(2):
            await confirm(call, shop, WORDS)
        (file,) = (shop / AGREEMENTS).glob("*.md")
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f'aliases:\n  - "{WORDS}"\n', ""), encoding="utf-8")
        assert text != file.read_text(encoding="utf-8")
        assert await score(call, WORDS, LOGIN) < READY_SCORE


async def test_rejected_words_no_longer_find_the_symbol(
    shop: Path,
) -> None:
    async with model(shop) as call:
        await confirm(call, shop, WORDS)
        await reject(call, WORDS)
        assert await score(call, WORDS, LOGIN) < VERIFICATION_SCORE
        assert await score(call, "ｻｲﾝｲﾝ機能", LOGIN) < VERIFICATION_SCORE
        assert (await ask(call, WORDS))["source"] == "forest"
        assert (await ask(call, TERM))["next_phase"] == "READY"
        with open_state(shop / ".code-intel") as state:
            assert state.alias_sessions() == {}
        hit = (await call("search_map", query=WORDS))["results"][0]
        assert "rejected in these words" in hit["why"]


@pytest.mark.covers(
    "answer.revert_to_exploration: silenced",
    "answer.submit_verification: silenced",
    "row.silenced: nl_term symbol query days undo",
)
async def test_a_rejection_names_what_it_silences_and_the_command_that_undoes_it(
    shop: Path,
) -> None:
    async with model(shop) as call:
        await ask(call, TERM)
        command = shlex.split((await call("revert_to_exploration"))["silenced"]["undo"])
        assert (await ask(call, TERM))["source"] == "forest"
        project = ["--project", str(shop)]
        assert await to_thread.run_sync(main, [*command[1:], *project]) == 0
        assert (await ask(call, TERM))["next_phase"] == "READY"
        await ask(call, WORDS)
        shown = await call("get_session_status")
        evidence = {"tool": "find_definitions", "target": LOGIN, "result": "another", "files": []}
        rejected = await call(
            "submit_verification",
            verified=[
                {"hypothesis": text, "status": "rejected", "evidence": evidence}
                for text in shown["semantic"]["hypotheses"]
            ],
        )
        assert rejected["silenced"]["query"] == WORDS
        assert "silenced" in rejected["message"]


async def test_a_reverted_session_without_an_agreement_silences_nothing(shop: Path) -> None:
    async with gateway(shop) as call:
        await start(call, "shipping fee")
        await explore(call, FEE, FEE_FILE)
        answer = await call("revert_to_exploration")
        assert "silenced" not in answer
        assert "silenced" not in answer["message"]


async def test_success_restores_a_rejected_term(shop: Path) -> None:
    async with model(shop) as call:
        await ask(call, TERM)
        answer = await call("revert_to_exploration", reason="about something else")
        assert ("rejected", TERM, "revert") in experiences(shop)
        undo = f"code-intel map confirm {shlex.join((TERM, LOGIN))}"
        assert answer["silenced"] == {
            "nl_term": TERM, "symbol": LOGIN, "query": TERM, "days": 30, "undo": undo,
        }  # fmt: skip
        assert "30 days" in answer["message"]
        assert "silenced.undo" in answer["message"]
        assert (await call("search_smart"))["source"] == "forest"
        assert (await ask(call, TERM))["source"] == "forest"
        await explore(call, LOGIN, LOGIN_FILE)
        assert (await succeed(call, shop, LOGIN_FILE))["cached_pairs"]
        assert (await ask(call, TERM))["next_phase"] == "READY"


async def test_two_rejecting_sessions_prevent_ready_until_a_success(
    shop: Path,
) -> None:
    async with model(shop) as call:
        await reject(call, WORDS)
        assert (await ask(call, TERM))["next_phase"] == "READY"
        await reject(call, "ログイン")
        doubted = await ask(call, TERM)
        assert (doubted["next_phase"], doubted["guards"]) == ("VERIFICATION", ["undisputed"])
        assert "rejected it: 2" in str(doubted["results"][0]["agreement"]["reasons"])
        await verify(call, LOGIN, LOGIN_FILE)
        await call("find_references", symbol=LOGIN)
        await succeed(call, shop, LOGIN_FILE)
        assert (await ask(call, TERM))["next_phase"] == "READY"
        assert await score(call, WORDS, LOGIN) < VERIFICATION_SCORE


async def test_failures_after_a_map_answer_prevent_ready_until_a_success(shop: Path) -> None:
    async with model(shop) as call:
        for number in (1, 2):
            assert (await ask(call, TERM))["next_phase"] == "READY", number
            for _ in range(3):
                failed = await call("record_outcome", outcome="failure")
                assert TERM in failed["note"]
        assert (await ask(call, TERM))["guards"] == ["undisputed"]
        assert await verify(call, LOGIN, LOGIN_FILE) == "READY"
        assert TERM not in (await call("record_outcome", outcome="failure"))["note"]
        await succeed(call, shop, LOGIN_FILE)
        assert (await ask(call, TERM))["next_phase"] == "READY"


@pytest.mark.covers("rule.outcome.corrected")
async def test_a_corrected_outcome_keeps_agreements_from_before_the_session(shop: Path) -> None:
    async with model(shop) as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"
        assert TERM in (await call("record_outcome", outcome="failure"))["note"]
        assert ("failed", TERM, "ready") in experiences(shop)
        corrected = await call("record_outcome", outcome="partial")
        assert "corrects the outcome failure" in corrected["note"]
        assert "failed" not in {kind for kind, _, _ in experiences(shop)}
        assert (await ask(call, TERM))["next_phase"] == "READY"


@pytest.mark.covers("answer.record_outcome.silenced", "rule.learning.counted")
async def test_success_with_another_symbol_rejects_the_map_answer(shop: Path) -> None:
    async with model(shop) as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"
        await call("find_definitions", symbol=FEE)
        await call("confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=f"{FEE} is it")
        change(shop, FEE_FILE)
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == []
        assert outcome["silenced"]["undo"] == f"code-intel map confirm {shlex.join((TERM, LOGIN))}"
        assert ("rejected", TERM, "another symbol") in experiences(shop)
        assert (await ask(call, TERM))["source"] == "forest"


async def test_work_on_the_offered_symbol_counts_for_it(shop: Path) -> None:
    async with model(shop) as call:
        await ask(call, TERM)
        await call("find_definitions", symbol=FEE)
        await call(
            "confirm_symbol_relevance", relevant_symbols=[FEE], code_evidence=f"{FEE} is a part"
        )
        await succeed(call, shop, LOGIN_FILE)
        assert {kind for kind, _, _ in experiences(shop)} == {"confirmed", "offered", "accepted"}
        assert (await ask(call, TERM))["next_phase"] == "READY"


async def test_confidence_follows_the_similarity_of_a_symbol(
    shop: Path,
) -> None:
    async with model(shop) as call:
        await start(call, "パスワードの検証")
        symbols = ["verify_password", FEE]
        proposed = await call(
            "validate_symbol_relevance", target_feature=TERM, symbols=[LOGIN, *symbols]
        )
        assert proposed["cached_matches"] == [LOGIN]
        await call("find_definitions", symbol=FEE)
        await call(
            "confirm_symbol_relevance", relevant_symbols=symbols, code_evidence=" ".join(symbols)
        )
        mapped = (await call("get_session_status"))["exploration"]["mapped_symbols"]
        confidence = {row["name"]: row["confidence"] for row in mapped}
        assert confidence["verify_password"] > 2 * confidence[FEE]
        assert confidence[FEE] < 0.3


async def test_rejection_outlives_the_process(shop: Path) -> None:
    async with model(shop) as call:
        await reject(call, WORDS)
    async with model(shop) as call:
        assert await score(call, WORDS, LOGIN) < VERIFICATION_SCORE
    for file in (shop / ".code-intel").glob("state.db*"):
        file.unlink()
    async with model(shop) as call:
        assert await score(call, WORDS, LOGIN) >= VERIFICATION_SCORE
        assert (await ask(call, TERM))["guards"][:2] == ["valid", "confirmed"]


async def test_alias_of_two_agreements_needs_verification(shop: Path) -> None:
    settings = settings_of(shop)
    fee = Agreement("配送料の計算", FEE, ("returns the fee",), (FileReference(FEE_FILE, 1),))
    learn_pair(settings, fee, confirmed=True)
    for nl_term, symbol in ((TERM, LOGIN), ("配送料の計算", FEE)):
        for number in range(2):
            reconfirm(
                settings,
                (nl_term, symbol),
                alias=WORDS,
                session_id=f"s{number}",
                digest="",
                evidence=("e",),
                files=(),
            )
    async with model(shop) as call:
        assert await score(call, WORDS, LOGIN) == await score(call, WORDS, FEE) == 1.0
        answer = await ask(call, WORDS)
        assert answer["next_phase"] == "VERIFICATION"
        assert "margin" in answer["guards"]


async def test_term_of_another_agreement_becomes_no_alias(shop: Path) -> None:
    async with model(shop) as call:
        await call("add_agreement", nl_term=WORDS, symbol="GoneService", code_evidence="once was")
        outcome = await confirm(call, shop, WORDS)
        assert "it is the term of GoneService" in outcome["note"]
        with open_state(shop / ".code-intel") as state:
            assert state.alias_sessions() == {}


async def test_outcome_log_has_the_band_and_the_way_to_ready(shop: Path) -> None:
    async with model(shop) as call:
        await confirm(call, shop, WORDS)
        await ask(call, TERM)
        await succeed(call, shop, LOGIN_FILE)
    log = shop / ".code-intel" / "logs" / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(r["band"], r["ready_by"]) for r in records] == [
        ("forest", "understanding"),
        ("verification", "verification"),
        ("ready", "map"),
    ]


@pytest.mark.covers("rule.short_circuit.files")
async def test_a_confirmed_agreement_opens_only_files_that_name_its_symbol(shop: Path) -> None:
    (file,) = (shop / AGREEMENTS).glob("*.md")
    text = file.read_text(encoding="utf-8")
    named = f"- `{LOGIN_FILE}"
    notes = shop / "NOTES.md"
    notes.write_text("Call login first.\n", encoding="utf-8")
    padded = text.replace(named, f"- `{FEE_FILE}`\n- `NOTES.md`\n{named}", 1)
    file.write_text(padded, encoding="utf-8")
    git(shop, "add", "-f", str(file))
    git(shop, "commit", "-qm", "Agreed")
    async with model(shop) as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"
        explored = (await call("get_session_status"))["exploration"]["explored_files"]
        assert sorted(explored) == ["NOTES.md", LOGIN_FILE]
        assert not (await call("check_write_target", file_path=FEE_FILE))["allowed"]


async def test_merged_agreement_opens_no_file_outside_the_project(shop: Path) -> None:
    (shop.parent / "secret.py").write_text("def login():\n    return 1\n", encoding="utf-8")
    (file,) = (shop / AGREEMENTS).glob("*.md")
    text = file.read_text(encoding="utf-8")
    named = f"- `{LOGIN_FILE}"
    assert named in text
    file.write_text(
        text.replace(named, f"- `../secret.py:1`\n- `/etc/passwd`\n{named}", 1), encoding="utf-8"
    )
    git(shop, "add", "-f", str(file))
    git(shop, "commit", "-qm", "Agreed")
    async with model(shop) as call:
        assert (await ask(call, TERM))["next_phase"] == "READY"
        explored = (await call("get_session_status"))["exploration"]["explored_files"]
        assert explored == [LOGIN_FILE]
        for outside in ("../secret.py", "/etc/passwd", str(shop.parent / "secret.py")):
            assert not (await call("check_write_target", file_path=outside))["allowed"]


@pytest.mark.covers("rule.learning.changed")
@pytest.mark.parametrize("edit", ["nothing", "comment", "blank", "mode", "another", "elsewhere"])
async def test_a_success_without_a_change_in_the_symbol_teaches_nothing(
    indexed_shop: Path, tmp_path: Path, edit: str
) -> None:
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop", symlinks=True))
    source = root / LOGIN_FILE
    text = source.read_text("utf-8")
    async with gateway(root) as call:
        await start(call, "login")
        await explore(call, LOGIN, LOGIN_FILE)
        if edit == "comment":
            source.write_text(text.replace("        user =", "        # who\n        user ="))
        elif edit == "blank":
            source.write_text(text.replace("        user =", "\n        user ="))
        elif edit == "mode":
            source.chmod(0o755)
        elif edit == "another":
            source.write_text(text.replace("self.tokens.revoke(token)", "self.tokens.drop(token)"))
        elif edit == "elsewhere":
            change(root, FEE_FILE)
        outcome = await call("record_outcome", outcome="success")
        assert (outcome["cached_pairs"], outcome["agreement_files"]) == ([], [])
        reported = "nothing has changed" if edit in {"nothing", "mode"} else "has not changed since"
        assert reported in outcome["note"]
        change(root, LOGIN_FILE)
        again = await call("record_outcome", outcome="success")
        assert again["cached_pairs"] == [{"nl_term": "login", "symbol": LOGIN}]


@pytest.mark.covers("rule.learning.files")
async def test_an_agreement_names_the_changed_files_and_its_own(shop: Path) -> None:
    async with model(shop) as call:
        await start(call, "送料の計算")
        await call("search_text", pattern="def ", path="src/auth")
        await explore(call, FEE, FEE_FILE)
        change(shop, FEE_FILE)
        (shop / "CHANGES.md").write_text("Fees.\n", encoding="utf-8")
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == [{"nl_term": "送料の計算", "symbol": FEE}]
        (row,) = (await call("list_agreements", nl_term="送料の計算"))["agreements"]
        assert row["status"] == "valid"
        assert {file.partition(":")[0] for file in row["files"]} - {LOGIN_FILE} == {
            FEE_FILE,
            "CHANGES.md",
        }
        assert "[Written before the last change; now: `assert" in row["evidence"][0]


async def test_a_term_that_names_another_symbol_is_learned_unconfirmed(shop: Path) -> None:
    async with model(shop) as call:
        await start(call, "verify_password")
        await explore(call, LOGIN, LOGIN_FILE)
        outcome = await succeed(call, shop, LOGIN_FILE)
        assert "the term names verify_password exactly" in outcome["note"]
        rows = (await call("list_agreements", nl_term="verify_password"))["agreements"]
        assert [row["status"] for row in rows] == ["unconfirmed"]
        assert (await ask(call, "verify_password"))["next_phase"] != "READY"


async def test_reading_teaches_unconfirmed_agreements(shop: Path) -> None:
    async with model(shop) as call:
        await start(call, "送料の計算", "INVESTIGATE")
        await explore(call, FEE, FEE_FILE)
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == [{"nl_term": "送料の計算", "symbol": FEE}]
        assert "the intent is read-only" in outcome["note"]
        (row,) = (await call("list_agreements", nl_term="送料の計算"))["agreements"]
        assert row["status"] == "unconfirmed"


@pytest.mark.covers("rule.learning.renewed")
async def test_a_success_through_the_map_renews_the_agreement(shop: Path) -> None:
    async with model(shop) as call:
        for _ in range(3):
            assert (await ask(call, TERM))["next_phase"] == "READY"
            outcome = await succeed(call, shop, LOGIN_FILE)
            assert f"The agreement {TERM} → {LOGIN} is renewed." in outcome["note"]
        (row,) = (await call("list_agreements"))["agreements"]
        assert (row["status"], row["aliases"]) == ("valid", [])


@pytest.mark.covers("rule.learning.counted")
async def test_a_success_elsewhere_counts_against_the_offered_agreement(shop: Path) -> None:
    async with model(shop) as call:
        for _ in range(2):
            assert (await ask(call, TERM))["next_phase"] == "READY"
            change(shop, FEE_FILE)
            outcome = await call("record_outcome", outcome="success")
            assert "counts against the agreement" in outcome["note"]
        kinds = {kind for kind, _, _ in experiences(shop)}
        assert "failed" in kinds
        assert "accepted" not in kinds
        assert (await ask(call, TERM))["guards"] == ["undisputed"]


MIRROR, TAX = "src/mirror/tax.py", "src/shop/tax.py"
TAX_CODE = 'def tax_of_order(order):\n    """Return the tax."""\n    return order * 2\n'


@pytest.mark.covers("rule.learning.one_file", "field.record_outcome.analysis.related_files")
async def test_name_with_several_definitions_is_not_learned_silently(shop: Path) -> None:
    for file in (MIRROR, TAX):
        (shop / file).parent.mkdir(parents=True)
        (shop / file).write_text(TAX_CODE, "utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Add the tax")
    async with gateway(shop) as call:
        handle = await start(call, "tax of an order")
        await call("snippets_get", path=TAX)
        new = {"name": "rounded_tax", "file": TAX, "beside": TAX}
        await claim(call, "tax_of_order")
        await call("submit_understanding", symbols_identified=[], new_symbols=[new])
        change(shop, TAX)
        change(shop, MIRROR)
        await call("search_text", pattern="def ", path=MIRROR)
        outcome = await call("record_outcome", outcome="success")
        assert outcome["cached_pairs"] == []
        assert f"({MIRROR}:1, {TAX}:1)" in outcome["note"]
        assert "analysis.related_files" in outcome["note"]
        again = await call(
            "record_outcome",
            outcome="success",
            analysis={"related_files": [TAX]},
            session_id=handle,
        )
        assert [pair["symbol"] for pair in again["cached_pairs"]] == ["tax_of_order"]
        (row,) = (await call("list_agreements", nl_term="tax of an order"))["agreements"]
        assert row["files"][0] == f"{TAX}:1"


@pytest.mark.covers("rule.learning.one_file")
async def test_definition_that_the_session_changed_is_the_one_learned(shop: Path) -> None:
    for file in (MIRROR, TAX):
        (shop / file).parent.mkdir(parents=True)
        (shop / file).write_text(TAX_CODE, "utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Add the tax")
    async with gateway(shop) as call:
        await start(call, "tax of an order")
        await explore(call, "tax_of_order", TAX)
        change(shop, TAX)
        await call("record_outcome", outcome="success")
        (row,) = (await call("list_agreements", nl_term="tax of an order"))["agreements"]
        assert row["files"] == [f"{TAX}:1"]
