"""The generated registry that latency is measured on."""

from pathlib import Path

from benchmarks.command_latency import DOMAINS, project, questions, registry
from code_intel.registry.loading import Registries


def test_ten_thousand_commands_are_a_registry_with_as_many_names(tmp_path: Path) -> None:
    assert registry(10_000) == registry(10_000)
    project(tmp_path / "project", 10_000, tmp_path / "cache")
    loaded = Registries(tmp_path / "project", tmp_path / "home").of()
    assert loaded.registry.notes == ()
    assert len({command.key for command in loaded.registry.commands}) == 10_000


def test_every_question_is_asked_once_and_has_its_words_in_the_registry() -> None:
    english, japanese = questions(200)
    assert len({*english, *japanese}) == 400
    assert all(
        any(question.endswith(f"for {domain}") for domain in DOMAINS) for question in english
    )
    assert not any(question.isascii() for question in japanese)
