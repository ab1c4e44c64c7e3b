"""A push writes what changed, and seldom anything else."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from code_intel.shared.layers import MAX_HIDDEN, MAX_LAYERS, BaseFile, LayerPlan, plan_layers
from code_intel.shared.records import Generation

SETTINGS = "s"
COMMITS = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["1", "2", ""]), max_size=4),
    max_size=40,
)
"""Changes of files; an empty text deletes one."""


class Branch:
    """Plans the pushes of a branch, and keeps what its layers contain."""

    def __init__(self) -> None:
        self.base: Generation | None = None
        self.seen: dict[str, BaseFile] = {}
        self.contents: dict[str, dict[str, str]] = {}

    def push(self, files: Mapping[str, str]) -> LayerPlan:
        """Plan a push; the layers then show these files, each once."""
        plan = self.plan(files)
        if plan.new:
            self.contents[plan.new] = {path: files[path] for path in plan.files}
        seen: dict[str, BaseFile] = {}
        for number, layer in enumerate(plan.layers):
            seen = {path: file for path, file in seen.items() if path not in layer.hides}
            assert not seen.keys() & self.contents[layer.id].keys()
            seen |= {path: BaseFile(text, number) for path, text in self.contents[layer.id].items()}
        assert {path: file.digest for path, file in seen.items()} == files
        self.base = Generation(
            plan.generation, "r", "c", plan.tree, SETTINGS, "", plan.layers, 1, 1, ""
        )
        self.seen = seen
        return plan

    def plan(
        self, files: Mapping[str, str], repository: str = "r", settings: str = SETTINGS
    ) -> LayerPlan:
        return plan_layers(repository, settings, files, self.base, self.seen)


@given(COMMITS)
def test_the_layers_show_the_files_of_each_commit(commits: list[dict[str, str]]) -> None:
    branch = Branch()
    files = {f"rest{number}": "0" for number in range(30)}
    branch.push(files)
    for commit in commits:
        files = {path: text for path, text in (files | commit).items() if text}
        assert len(branch.push(files).layers) <= MAX_LAYERS


def test_a_large_layer_is_not_written_again_for_small_commits() -> None:
    branch = Branch()
    files = {f"rest{number}": "0" for number in range(5000)}
    written = [len(branch.push(files).files)]
    for number in range(200):
        files |= {f"rest{number % 50}": f"{number + 1}", f"new{number}": "1"}
        written.append(len(branch.push(files).files))
    assert written[0] == 5000
    assert max(written[1:]) < 500
    assert sum(written[1:]) < 10 * 2 * 200


def test_a_push_that_hides_too_much_writes_everything() -> None:
    branch = Branch()
    files = {f"{number}.py": "x" for number in range(MAX_HIDDEN + 2)}
    branch.push(files)
    some = {path: "y" if number < MAX_HIDDEN else "x" for number, path in enumerate(files)}
    assert len(branch.plan(some).layers) == 2
    assert len(branch.plan(dict.fromkeys(files, "y")).layers) == 1


def test_layers_of_other_settings_and_repositories_are_not_used() -> None:
    branch = Branch()
    branch.push({"a": "1", "b": "1"})
    changed = {"a": "2", "b": "1"}
    assert len(branch.plan(changed).layers) == 2
    assert len(branch.plan(changed, settings="others").layers) == 1
    assert len(branch.plan(changed, repository="other").layers) == 1
