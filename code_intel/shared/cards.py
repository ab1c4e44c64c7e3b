"""Say by what chunks and generations are known to every machine."""

from code_intel import __version__
from code_intel.index.sync import CHUNKER
from code_intel.shared.layers import digest_of


def card_digest(identity: str, card: str) -> str:
    """Return the digest of a model's identity and a card; empty for a chunk without a card."""
    return digest_of("card", identity, card) if identity and card else ""


def settings_digest(identity: str, chunk_size: int) -> str:
    """Return the digest of what decides on the chunks of a file: version, chunker and model."""
    return digest_of("settings", __version__, CHUNKER, str(chunk_size), identity)
