"""Open files for writing by quotes of them, for add_explored_files and submit_understanding."""

from collections.abc import Sequence

from code_intel.chunking.languages import row_of
from code_intel.errors import RequirementError
from code_intel.forest.text.grep import confined
from code_intel.session import steps
from code_intel.session.open_files import is_open
from code_intel.session.state import Session, Step
from code_intel.session.understanding.files import FileClaim, FileClaimFacts, file_lacks
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.context.quoted_code import quoted_code
from code_intel.tools.context.uses.relations import is_mention
from code_intel.tools.context.write_facts import is_boilerplate, write_facts


async def open_by_quote(
    context: GatewayContext, session: Session, claims: Sequence[FileClaim]
) -> Step:
    """Return the step that opens the files.

    Raises:
        RequirementError: A claim lacks something; the hint says what.
    """
    existing = await run_in_thread(existing_files, context.root, [claim.file for claim in claims])
    real = [
        claim._replace(file=confined(context.root, claim.file)) if claim.file in existing else claim
        for claim in claims
    ]
    known = (await write_facts(context, session, [claim.file for claim in real])).files
    facts = [
        FileClaimFacts(
            given.file in existing,
            claim.file in session.permitted_files
            or (claim.file in known and is_open(known[claim.file])),
            (await quoted_code(context, session, [claim.quote], claim.file)).get(claim.quote),
            _is_boilerplate(claim),
            not row_of(claim.file).complete,
            claim.file in known and bool(known[claim.file].relation),
        )
        for given, claim in zip(claims, real, strict=True)
    ]
    lacks = [
        lack for claim, each in zip(real, facts, strict=True) for lack in file_lacks(claim, each)
    ]
    if lacks:
        first = list(dict.fromkeys(hit for lack in lacks for hit in lack.first_hits))
        remedies = ". ".join(dict.fromkeys(lack.then for lack in lacks))
        raise RequirementError(
            f"{lacks[0].symbol} {lacks[0].why}.",
            hint=f"{remedies}. Then call submit_understanding again.",
            details={
                "missing_requirements": [lack.line for lack in lacks],
                "current_phase": session.phase.value,
                **({"first_hits": first} if first else {}),
            },
        )
    quoted = [
        (claim.file, claim.quote.strip("\r\n"))
        for claim, each in zip(real, facts, strict=True)
        if not each.is_open
    ]
    return steps.open_by_quote([claim.file for claim in real], quoted)


def _is_boilerplate(claim: FileClaim) -> bool:
    """Return whether all lines of a quote could stand in any file."""
    is_code = row_of(claim.file).complete
    return all(
        is_boilerplate(line) or (is_code and is_mention(line, line.strip()))
        for line in claim.quote.splitlines()
    )
