"""Define the headings of agreements and notes in the languages of the setting `language`.

Files are written in the language of the setting; all languages are read (docs/decisions/0083).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.records import Language


class Headings(NamedTuple):
    """The headings and labels of one language.

    Attributes:
        split: The label of a symbol's words.
        evidence: The heading of the evidence.
        files: The heading of the related files.
        session: The heading of the session.
        frames: The label of the query frames.
        notes: The heading of text that does not belong to the format.
        context: The heading of a decision's context.
        decision: The heading of what was decided.
        consequences: The heading of its consequences.
    """

    split: str
    evidence: str
    files: str
    session: str
    frames: str
    notes: str
    context: str
    decision: str
    consequences: str


HEADINGS: Mapping[Language, Headings] = MappingProxyType(
    {
        "ja": Headings(
            split="シンボル（分解）",
            evidence="根拠 (Code Evidence)",
            files="関連ファイル",
            session="セッション情報",
            frames="成功時の QueryFrame",
            notes="メモ",
            context="背景 (Context)",
            decision="決定 (Decision)",
            consequences="結果 (Consequences)",
        ),
        "en": Headings(
            split="Symbol (split)",
            evidence="Code Evidence",
            files="Related Files",
            session="Session",
            frames="Successful QueryFrame",
            notes="Notes",
            context="Context",
            decision="Decision",
            consequences="Consequences",
        ),
    }
)
