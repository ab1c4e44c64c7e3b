"""The pages of commands: registries with their problems, a search, and the prompt of a command."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from httpx2 import Response

from command_projects import GROUP, INSTRUCTION, executable, prompted, stocked
from page_client import PageClient, opened_page, text_of
from registry_files import configured, document, written

HOSTILE = "<script>alert('x')</script> & \"quoted\" {{ 'a' ~ 'bc' }}"
PROGRAM = '#!/bin/sh\necho ran >> "$PWD/ran"\ncat\necho "got: $*"\n'
RAN = "ran"

pytestmark = pytest.mark.usefixtures("empty_home")


@pytest.fixture
def project(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", "prompts")
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    return shop


@pytest.fixture
def page(project: Path) -> Iterator[PageClient]:
    with opened_page(project) as opened:
        yield opened


@pytest.fixture
def running(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a program render the prompts; return the project."""
    program = executable(project.parent, PROGRAM)
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", program)
    return stocked(project)


def address(name: dict[str, str], **options: str) -> str:
    return f"/commands/show?{urlencode(name | options)}"


def run(page: PageClient, fields: dict[str, str]) -> Response:
    """Send the form that runs a program."""
    return page.client.post("/commands/run", data={**fields, "csrf": page.access.csrf})


def prompt_of(found: str) -> str:
    """Return what the copy button copies."""
    (target,) = re.findall(r'data-copy="(\w+)"', found)
    match = re.search(rf'<pre[^>]* id="{target}">\n(.*?)</pre>', found, re.DOTALL)
    assert match
    return html.unescape(match[1])


def test_without_commands_the_page_says_where_they_would_be(page: PageClient) -> None:
    text = page.text("/commands")
    assert "This project has no commands yet." in text
    assert ".agent/climpt/registry.json" in text


def test_a_registry_is_listed_with_its_problems(page: PageClient, project: Path) -> None:
    stocked(project, {**GROUP, "description": "Group"}, {**GROUP, "description": "Again"})
    text = page.text("/commands")
    assert "Registry climpt For tests .agent/climpt/registry.json · 1.0.0" in text
    assert "climpt-git group-commit unstaged-changes Group" in text
    assert "Problems: 1" in text


def test_each_agent_has_its_registry_and_a_broken_one_says_why(
    page: PageClient, project: Path
) -> None:
    configured(project, climpt=".agent/climpt/registry.json", other="o.json", broken="b.json")
    stocked(project)
    written(project, document({**GROUP, "description": "Of the other"}), "o.json")
    written(project, b"{", "b.json")
    text = page.text("/commands")
    assert "climpt 7 other 1 broken cannot be used" in text
    assert "Of the other" in page.text("/commands?agent=other")
    broken = page.text("/commands?agent=broken")
    assert "b.json cannot be used" in broken
    assert "climpt 7" in page.text("/commands?agent=missing")


def test_a_broken_config_is_reported(page: PageClient, project: Path) -> None:
    written(project, b"{", ".agent/climpt/config/registry_config.json")
    assert "registry_config.json cannot be used" in page.text("/commands", 409)


def test_a_long_registry_has_pages(page: PageClient, project: Path) -> None:
    rows = [{"c1": "a", "c2": "b", "c3": f"n{n}", "description": f"No. {n}"} for n in range(130)]
    stocked(project, *rows)
    assert "1 to 100 of 130" in page.text("/commands")
    last = page.get("/commands?page=2")
    assert "No. 129" in last
    assert 'href="/commands?agent=climpt&amp;page=1"' in last


def test_a_search_finds_commands_by_purpose(page: PageClient, project: Path) -> None:
    stocked(project)
    text = page.text("/commands?q=commit+my+changes")
    assert "climpt-git group-commit unstaged-changes" in text
    assert "Generate C3L" not in text
    assert "climpt-git group-commit" in page.text("/commands?q=コミット")
    none = page.text("/commands?q=xyzzy")
    assert "No command is likely." in none
    assert "unlikely" in none


def test_a_prompt_is_rendered_with_options_and_can_be_copied(
    page: PageClient, project: Path
) -> None:
    stocked(project)
    found = page.get(address(GROUP, stdin="first line\r\n二行目 {uv-x}"))
    assert prompt_of(found) == (
        "# Group commits\n\nLook at every change, first line\n二行目 {uv-x}, "
        "and commit what belongs together.\n"
    )
    assert ">\nfirst line\n二行目 {uv-x}</textarea>" in found
    assert 'data-key="c"' in found
    assert "Rendered from .agent/climpt/prompts/climpt-git/group-commit" in page.text(
        address(GROUP)
    )
    detailed = page.get(address(GROUP, edition="detailed", file="README.md"))
    assert "Begin with README.md." in prompt_of(detailed)
    assert '<option value="detailed" selected>' in detailed


def test_variables_that_the_prompt_uses_have_a_field(page: PageClient, project: Path) -> None:
    stocked(project)
    prompted(project, INSTRUCTION, "Write for {uv-audience} about {uv-topic}.\n")
    found = page.get(address(INSTRUCTION, **{"uv-topic": "税"}))
    assert 'name="uv-audience" value=""' in found
    assert 'name="uv-topic" value="税"' in found
    assert "Write for {uv-audience} about 税." in prompt_of(found)
    more = page.get(address(INSTRUCTION, more="audience=users\nuv-topic=tax=1"))
    assert prompt_of(more) == "Write for users about tax=1.\n"


def test_what_is_missing_is_named_as_its_field_is(page: PageClient, project: Path) -> None:
    stocked(project)
    found = page.get(address(GROUP))
    assert '<a href="#field-stdin">Fill in “Input text”.</a>' in found
    assert "was not replaced" not in found
    assert "Copy c The prompt still has placeholders without a value." in text_of(found)
    filled = page.text(address(GROUP, stdin="x"))
    assert "Fill in" not in filled
    assert "placeholders" not in filled
    other = page.text(address(GROUP, stdin="x", **{"uv-audience": "users"}))
    assert "The prompt does not use uv-audience." in other


def test_the_default_edition_is_one_choice(page: PageClient, project: Path) -> None:
    stocked(project)
    (choices,) = re.findall(r'name="edition">(.*?)</select>', page.get(address(GROUP)), re.DOTALL)
    assert re.findall(r'value="(.*?)"', choices) == ["", "detailed"]
    assert "default (default value)" in choices


def test_a_hint_at_the_input_file_needs_its_field(page: PageClient, project: Path) -> None:
    takes = {"edition": ["default"], "adaptation": [], "file": False, "stdin": True}
    stocked(project, {**GROUP, "description": "Group", "options": takes})
    text = page.text(address(GROUP))
    assert "At most 1,500 characters. " in text
    assert "input file" not in text


def test_commands_without_a_prompt_are_marked_in_the_list(page: PageClient, project: Path) -> None:
    stocked(project)
    text = page.text("/commands")
    assert "climpt-git group-commit unstaged-changes Group file" in text
    assert "climpt-git decide-branch working-branch no prompt " in text
    assert "no prompt" in page.text("/commands?q=branch")


def test_programs_need_no_prompt_in_the_list(running: Path) -> None:
    with opened_page(running) as page:
        assert "no prompt" not in page.text("/commands")


def test_options_that_a_command_does_not_list_are_folded(page: PageClient, project: Path) -> None:
    stocked(project)
    unlisted = page.get(address(INSTRUCTION))
    assert unlisted.index("More options") < unlisted.index('name="destination"')
    listed = page.get(address(GROUP))
    assert listed.index('name="edition"') < listed.index("More options")
    assert 'name="destination"' not in listed, "the command does not take it"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"edition": "none"}, "options.edition"),
        ({"destination": "x.md"}, "does not take it"),
        ({"file": "../outside"}, "outside"),
        ({"file": ".env"}, "options.file"),
        ({"uv-x": "-rf"}, "options.uv-x"),
        ({"uv- x": "1"}, "is not an option"),
        ({"more": "novalue"}, "A further variable is not NAME=VALUE."),
    ],
)
def test_a_wrong_option_is_explained_beside_the_form(
    page: PageClient, project: Path, options: dict[str, str], said: str
) -> None:
    stocked(project)
    found = page.get(address(GROUP, **options), 400)
    assert said in html.unescape(found)
    assert "<textarea" in found
    assert "data-copy" not in found


def test_a_command_without_a_prompt_says_so(page: PageClient, project: Path) -> None:
    stocked(project, {"c1": "a", "c2": "b", "c3": "c", "description": "No prompt"})
    text = page.text(address({"c1": "a", "c2": "b", "c3": "c"}), 409)
    assert "There is no prompt" in text


@pytest.mark.parametrize("name", [{}, {"c1": "a", "c2": "b", "c3": "c"}, {"agent": "x"}])
def test_an_unknown_command_is_an_error_page(
    page: PageClient, project: Path, name: dict[str, str]
) -> None:
    stocked(project)
    status = 409 if "agent" in name else 404
    assert "Traceback" not in page.text(address(name), status)


def test_several_commands_of_one_name_are_all_described(page: PageClient, project: Path) -> None:
    stocked(project, {**GROUP, "description": "First"}, {**GROUP, "description": "Second"})
    text = page.text(address(GROUP))
    assert "The registry has 2 commands of this name. The first is used." in text
    assert "First" in text
    assert "Second" in text


def test_a_prompt_file_of_a_client_is_rendered_whatever_the_runner(
    running: Path,
) -> None:
    file = running / ".claude/commands/git/fix.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Fix\n---\nFix $1 after !`touch ran`.\n", "utf-8")
    with opened_page(running) as page:
        name = {"c1": "claude", "c2": "commands.git", "c3": "fix"}
        found = page.get(address(name, **{"uv-1": "#7"}))
        assert prompt_of(found) == "Fix #7 after !`touch ran`."
        assert "1 shell command in the prompt: left as text, not run." in found
        assert 'href="/code?file=.claude%2Fcommands%2Fgit%2Ffix.md"' in found
        unfilled = page.get(address(name))
        assert 'name="uv-1" value=""' in unfilled
        assert '<a href="#field-uv-1">Fill in “Argument 1”.</a>' in unfilled
        assert "has no value" not in unfilled
    assert not (running / RAN).exists()


def test_looking_at_a_command_starts_no_program(running: Path) -> None:
    with opened_page(running) as page:
        text = page.text(address(GROUP, edition="detailed"))
        assert "prompter --config=climpt-git group-commit unstaged-changes" in text
        assert "--edition=detailed" in text
        assert "Run the program" in text
        assert "Registry" in page.text(f"/commands/run?{urlencode(GROUP)}"), "it leads to the list"
    assert not (running / RAN).exists()


def test_a_program_runs_by_a_form_with_the_token(running: Path) -> None:
    with opened_page(running) as page:
        form = page.get(address(GROUP, stdin="a\r\nb", edition="detailed"))
        fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form))
        assert fields["stdin"] == "a\nb"
        refused = page.client.post("/commands/run", data=fields | {"csrf": "x"})
        assert refused.status_code == 403
        assert not (running / RAN).exists()
        done = run(page, fields)
        assert done.status_code == 200
        assert prompt_of(done.text) == (
            "a\nbgot: --config=climpt-git group-commit unstaged-changes --edition=detailed\n"
        )
        assert "Printed by" in done.text
    assert (running / RAN).read_text("utf-8") == "ran\n"


def test_a_page_that_only_reads_offers_and_starts_no_program(running: Path) -> None:
    with opened_page(running, readonly=True) as page:
        text = page.text(address(GROUP))
        assert "This page only reads, so it starts no program." in text
        assert "Run the program" not in text
        assert run(page, GROUP).status_code == 403
    assert not (running / RAN).exists()


def test_a_page_that_only_reads_renders_prompts(project: Path) -> None:
    stocked(project)
    with opened_page(project, readonly=True) as page:
        assert "# Group commits" in prompt_of(page.get(address(GROUP)))


def test_a_program_that_fails_shows_its_message(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = executable(project.parent, "#!/bin/sh\necho '<b>broken</b>' >&2\nexit 3\n")
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", failing)
    stocked(project)
    with opened_page(project) as page:
        done = run(page, GROUP)
    assert done.status_code == 409
    assert "ended with exit code 3" in done.text
    assert "&lt;b&gt;broken&lt;/b&gt;" in done.text


def test_a_missing_runner_is_explained(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODE_INTEL_COMMAND_RUNNER", "climpt")
    monkeypatch.setenv("PATH", str(tmp_path))
    stocked(project)
    with opened_page(project) as page:
        assert "climpt is not on PATH." in page.text(address(GROUP), 409)


def test_a_long_prompt_is_shown_whole(page: PageClient, project: Path) -> None:
    stocked(project)
    prompted(project, INSTRUCTION, "日本語の行 <b>\n" * 5000)
    assert prompt_of(page.get(address(INSTRUCTION))) == "日本語の行 <b>\n" * 5000


def test_what_registries_say_is_text_never_markup(page: PageClient, project: Path) -> None:
    command = {
        **GROUP,
        "description": HOSTILE,
        "usage": HOSTILE,
        "options": {"edition": ["日本"], "adaptation": [], "file": True, "stdin": True},
    }
    stocked(project, command)
    prompted(project, GROUP, HOSTILE)
    paths = ["/commands", f"/commands?{urlencode({'q': HOSTILE})}", address(GROUP)]
    paths.append(address(GROUP, stdin=HOSTILE, **{"uv-a": HOSTILE}))
    for path in paths:
        found = page.get(path).partition("<main")[2]
        assert "<script" not in found, path
        assert "abc" not in found, path
    assert HOSTILE in prompt_of(page.get(address(GROUP)))
    bad = page.client.get(address({"c1": HOSTILE, "c2": HOSTILE, "c3": HOSTILE}, edition=HOSTILE))
    assert "<script>alert" not in bad.text


def test_a_search_works_if_the_cache_of_the_user_cannot_be_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked(project)
    cache = tmp_path / "no folder"
    cache.write_text("x", "utf-8")
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(cache))
    with opened_page(project) as page:
        text = page.text("/commands?q=commit+my+changes")
    assert "climpt-git group-commit unstaged-changes" in text
