"""Hold the sessions and make the query plans of the demo project, through the gateway."""

from pathlib import Path

from code_intel.session import journal
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext, sessions_of
from code_intel.tools.context.searchers import in_process
from code_intel.tools.session.draft_outcome import draft_outcome
from programs import git
from projects import Caller, code_of
from served import gateway, settings_of


async def hold(root: Path) -> None:
    """Hold all sessions, and make the plans."""
    async with gateway(root, embedding="faithful", groups=("plans",)) as call:
        await by_the_map(call, root)
        await refused_write(call)
        await by_the_forest(call, root)
        await objection(call)
        await plans(call)
        handle = await unreported(call, root)
    await draft(root, handle)
    git(root, "checkout", "-q", "--", "src/cart/shipping.py")


async def start(call: Caller, query: str, **slots: str) -> str:
    """Start a session whose slots are quotes of the query; return its handle."""
    frame = {name: {"value": text, "quote": text} for name, text in slots.items()}
    answer = await call("start_session", intent="MODIFY", query=query, **frame)
    return str(answer["session_id"])


async def understand(call: Caller, symbol: str, file: str, explanation: str) -> None:
    """Read a symbol and claim it."""
    quote = code_of(await call("snippets_get", symbol=symbol, path=file))
    await call("find_references", symbol=symbol)
    claim = {"symbol": symbol, "file": file, "explanation": explanation, "quote": quote}
    await call("submit_understanding", symbols_identified=[claim])


def replace(root: Path, file: str, old: str, new: str) -> None:
    """Change a file as the agent does."""
    text = (root / file).read_text("utf-8")
    assert old in text, (file, old)
    (root / file).write_text(text.replace(old, new), encoding="utf-8")


async def by_the_map(call: Caller, root: Path) -> None:
    """Ask in the words of an agreement, change the code, report success."""
    await start(
        call,
        "ログイン機能が空のパスワードを受け付ける",
        target_feature="ログイン機能",
    )
    file = "src/auth/service.py"
    await call("snippets_get", symbol="AuthService.login")
    await call("check_write_target", file_path=file)
    replace(
        root,
        file,
        "        user = self.users",
        "        if not credentials.password:\n"
        "            raise AuthenticationError(credentials.email)\n"
        "        user = self.users",
    )
    await call("record_outcome", outcome="success", analysis={"root_cause": "never checked"})


async def refused_write(call: Caller) -> None:
    """Try to write a file before reading anything, and give up."""
    await start(
        call,
        "Customers who left still receive the newsletter",
        target_feature="newsletter",
        trigger_condition="Customers who left",
        observed_issue="still receive the newsletter",
    )
    await call("check_write_target", file_path="src/notifications/mailer.py")
    await call("record_outcome", outcome="failure", analysis={"root_cause": "no newsletter here"})


async def by_the_forest(call: Caller, root: Path) -> None:
    """Find code that no agreement names, change it, and teach the map."""
    file = "src/users/repository.py"
    await start(
        call,
        "The customer lookup by e-mail fails when the address has capitals",
        target_feature="customer lookup by e-mail",
        trigger_condition="when the address has capitals",
        observed_issue="fails",
    )
    await understand(
        call, "UserRepository.find_by_email", file, "It looks a customer up by e-mail."
    )
    await call("check_write_target", file_path=file)
    replace(root, file, "(email,)", "(email.lower(),)")
    await call("record_outcome", outcome="success", analysis={"root_cause": "compared with case"})


async def objection(call: Caller) -> None:
    """Refuse what the map offers for a request."""
    await start(
        call,
        "The welcome mail is sent twice",
        target_feature="welcome mail",
    )
    status = await call("get_session_status")
    hypotheses = status["semantic"]["hypotheses"]
    await call("find_definitions", symbol="RegistrationService.register")
    evidence = {
        "tool": "find_definitions",
        "target": "RegistrationService.register",
        "result": "it sends one mail",
        "files": ["src/users/registration.py"],
    }
    answers = [{"hypothesis": h, "status": "rejected", "evidence": evidence} for h in hypotheses]
    await call("submit_verification", verified=answers)
    await call("record_outcome", outcome="failure", analysis={"root_cause": "the relay repeats it"})


async def plans(call: Caller) -> None:
    """Make two query plans; the code of the second one changes later."""
    await call(
        "gistdex_query_plan",
        goal="How is the total of a cart computed?",
        expectedResults={"keywords": ["cart", "total", "unit_price"]},
        maxIterations=3,
    )
    await call(
        "gistdex_query_plan",
        goal="Which columns does the export for accounting write?",
        expectedResults={"keywords": ["writerow", "order", "customer"]},
        maxIterations=3,
    )


async def unreported(call: Caller, root: Path) -> str:
    """Change code and report nothing; return the handle of the session."""
    file = "src/cart/shipping.py"
    handle = await start(
        call,
        "送料の計算に離島の地域がない",
        target_feature="送料の計算",
    )
    await call("snippets_get", symbol="shipping_fee")
    await call("check_write_target", file_path=file)
    replace(root, file, "return Decimal(0) if", "return Decimal(0) if zone != 'island' and")
    return handle


async def draft(root: Path, handle: str) -> None:
    """Draft the outcome of a session, as the client's hook does when the agent stops."""
    settings = settings_of(root)
    map_service, forest_service = open_project(settings)
    context = GatewayContext(
        settings,
        in_process(map_service, forest_service),
        map_service.index,
        forest_service.index,
        map_service.embedder,
    )
    session = journal.load(sessions_of(settings), handle)
    drafted = await draft_outcome(context, session, handle)
    assert drafted.draft, "nothing was drafted"
    for index in (context.map, context.forest):
        index.close()
