"""What a sync tells of itself."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class SyncReport:
    """What a sync did.

    Attributes:
        added: New documents.
        updated: Documents whose bytes, or whose chunker, changed.
        deleted: Documents that are gone or no longer meant by a pattern.
        unchanged: The others.
        skipped: Name to reason: files that are never indexed.
        failed: Name to reason: files that should be indexed and could not be read.
        warnings: Patterns that name nothing, and why something was kept.
        held: Documents that seem gone and are kept; see `forgetting`.
        stopped: Whether it ended early because it was asked to.
        masked: Secret values in what was read.
    """

    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    held: int = 0
    stopped: bool = False
    masked: int = 0

    @property
    def changed(self) -> bool:
        """Whether the index is another one than before."""
        return bool(self.added or self.updated or self.deleted)
