"""Two small registries with scores worked out by hand."""

from code_intel.registry import Command

THREE = (
    Command("git", "group-commit", "unstaged-changes", "group file changes"),
    Command("git", "decide-branch", "working-branch", "decide branch"),
    Command("meta", "build", "frontmatter", "build c3l frontmatter"),
)
SEVEN = (
    Command(
        "climpt-git", "decide-branch", "working-branch", "Decide whether to create a new branch"
    ),
    Command(
        "climpt-git", "find-oldest", "descendant-branch", "Find and merge the oldest related branch"
    ),
    Command("climpt-git", "group-commit", "unstaged-changes", "Commit changes in semantic groups"),
    Command(
        "climpt-git",
        "list-select",
        "pr-branch",
        "List branches with a PR and select the next target",
    ),
    Command(
        "climpt-git", "merge-up", "base-branch", "Merge a derived branch into its parent branch"
    ),
    Command("climpt-meta", "build", "frontmatter", "Generate C3L v0.5 frontmatter"),
    Command("climpt-meta", "create", "instruction", "Create a new instruction file"),
)
"""The commands that seed 001 lists, with descriptions in English."""
