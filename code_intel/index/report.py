"""Describe the result of a sync."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class SyncReport:
    """What a sync did.

    Attributes:
        added: Number of new documents.
        updated: Number of documents that have new content or were parsed again.
        deleted: Number of documents whose file disappeared or is no longer covered by a pattern.
        unchanged: Number of other documents.
        skipped: Files that are never indexed, with the reason, by name.
        failed: Files that could not be read, with the reason, by name.
        warnings: Which patterns match no folder, and why documents are held.
        held: Number of documents that are kept although their file seems deleted; see `deletions`.
        stopped: Whether the sync ended early because it was asked to.
        masked: Number of secret values masked in the files that were read.
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
        """Return whether the sync changed the index."""
        return bool(self.added or self.updated or self.deleted)
