"""Ask a server for the agreements of other repositories."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from code_intel.chunking.words import query_words
from code_intel.errors import CodeIntelError
from code_intel.shared.agreements.wire import (
    AGREEMENTS,
    MAX_TERMS,
    FindAgreements,
    FoundAgreements,
)
from code_intel.shared.wire import vector_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from code_intel.shared.connection import Connection


def ask_map(
    connection: "Connection",
    query: str,
    vector: "NDArray[np.float32] | None",
    model: str,
    seconds: float,
    repositories: Sequence[str] = (),
) -> FoundAgreements:
    """Return the agreements of other repositories that may answer a question.

    The server gets the tokens and the vector of the question, without secrets.

    Raises:
        SharedIndexError: The server does not answer in time, or its answer cannot be used.
    """
    text = "" if vector is None else vector_text(np.ascontiguousarray(vector, "<f4").tobytes())
    own = own_name(connection)
    question = FindAgreements(
        tuple(dict.fromkeys(query_words(query)))[:MAX_TERMS],
        text,
        model if text else "",
        own,
        tuple(repositories),
    )
    found = connection.client.ask(AGREEMENTS, question, seconds)
    others = tuple(each for each in found.agreements if each.repository != own)
    return found._replace(agreements=others)


def own_name(connection: "Connection") -> str:
    """Return the name of the project on the server, or nothing if it has none."""
    try:
        return connection.repository
    except CodeIntelError:
        return ""
