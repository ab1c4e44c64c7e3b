"""Describe the result of a sync."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class SyncReport:
    """What a sync did.

    Attributes:
        added: Number of new documents.
        updated: Number of documents with new content, or parsed again.
        deleted: Number of documents that are gone or no longer covered by a pattern.
        unchanged: Number of other documents.
        skipped: Name to reason: files that are never indexed.
        failed: Name to reason: files that could not be read.
        warnings: Patterns without files, and why documents are held.
        held: Number of documents that seem gone and are kept; see `deletions`.
        stopped: Whether the sync ended early on request.
        masked: Number of secret values in the files that were read.
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
        """Whether the sync changed the index."""
        return bool(self.added or self.updated or self.deleted)
