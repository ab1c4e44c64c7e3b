"""Attempts to open files in READY that have nothing to do with the change (decision 0059)."""

from hostile.agent import LINK, LOGIN, PASSWORDS, SERVICE, VERIFY, Agent, claim
from hostile.attempts import Prize, Write, attempts
from hostile.foreign import FOREIGN, THEME, THEME_FILE, best_line, read, submit

CART, TOKENS = "src/cart/cart.py", "src/auth/tokens.py"
OTHERS = (CART, *FOREIGN.values())
SAYS = f"the change needs it: {LINK}"


async def ready(agent: Agent) -> str:
    """Earn READY by understanding the login."""
    handle = await agent.framed()
    code = await read(agent, handle, LOGIN)
    await agent("find_references", session_id=handle, symbol=LOGIN)
    await submit(agent, handle, claim(LOGIN, code, "login checks the password"))
    assert await agent.phase(handle) == "READY"
    return handle


async def by_boilerplate(agent: Agent) -> Prize:
    handle = await ready(agent)
    await agent("search_text", session_id=handle, pattern="^(import|from) |^$", max_results=1000)
    await agent("add_explored_files", session_id=handle, files=list(OTHERS))
    for file in OTHERS:
        item = {"file": file, "explanation": SAYS, "quote": "from dataclasses import dataclass"}
        await agent("add_explored_files", session_id=handle, files=[item])
    return Write(handle, OTHERS)


async def by_a_list_of_hits(agent: Agent) -> Prize:
    handle = await ready(agent)
    await agent("files_search", session_id=handle, query="password hash token login cart")
    await agent("search_files", session_id=handle, pattern="src")
    await agent("find_references", session_id=handle, symbol=VERIFY)
    return Write(handle, (*OTHERS, PASSWORDS, TOKENS))


async def by_reading(agent: Agent) -> Prize:
    handle = await ready(agent)
    for file in OTHERS:
        await agent("snippets_get", session_id=handle, path=file)
    return Write(handle, (*OTHERS, "src/cart/new.py", "web/src/new.js"))


async def by_foreign_quotes(agent: Agent) -> Prize:
    handle = await ready(agent)
    line = await best_line(agent, handle, LOGIN)
    for symbol, file in FOREIGN.items():
        own = await best_line(agent, handle, symbol)
        await agent("snippets_get", session_id=handle, path=file)
        for quote in (line, own):
            item = {"file": file, "explanation": SAYS, "quote": quote}
            await agent("add_explored_files", session_id=handle, files=[item])
            await submit(agent, handle, claim(file, quote, SAYS))
    return Write(handle, OTHERS)


async def by_further_symbols(agent: Agent) -> Prize:
    handle = await ready(agent)
    for symbol in FOREIGN:
        await submit(agent, handle, claim(symbol, await read(agent, handle, symbol), SAYS))
        evidence = f"{symbol} is part of it: {LINK}"
        await agent(
            "confirm_symbol_relevance",
            session_id=handle,
            relevant_symbols=[symbol],
            code_evidence=evidence,
        )
    return Write(handle, OTHERS)


async def by_prints_of_another_session(agent: Agent) -> Prize:
    first = await ready(agent)
    await agent("snippets_get", session_id=first, path=PASSWORDS)
    await agent("snippets_get", session_id=first, path=CART)
    second = await ready(agent)
    quote = "def verify_password(password: str, stored: str) -> bool:"
    item = {"file": PASSWORDS, "explanation": SAYS, "quote": quote}
    await agent("add_explored_files", session_id=second, files=[item])
    return Write(second, (PASSWORDS, CART))


async def by_lines_that_have_changed(agent: Agent) -> Prize:
    handle = await ready(agent)
    path = agent.root / SERVICE
    path.write_text(path.read_text("utf-8").replace("self.tokens.issue", "self.tokens.sell"))
    return Write(handle, (SERVICE,))


async def by_a_denied_link(agent: Agent) -> Prize:
    handle = await ready(agent)
    await agent("snippets_get", session_id=handle, path=THEME_FILE)
    quote = await best_line(agent, handle, THEME)
    for says in ("it has nothing to do with the login", "ログインとは無関係です"):
        await submit(agent, handle, claim(THEME_FILE, quote, says))
    return Write(handle, (THEME_FILE,))


async def by_a_word_of_a_document(agent: Agent) -> Prize:
    page = agent.root / "docs/login.md"
    page.write_text("# The login\n\nThe login refuses an empty password of the form.\n", "utf-8")
    handle = await ready(agent)
    await agent("snippets_get", session_id=handle, path="docs/login.md")
    quote = "The login refuses an empty password of the form."
    for word in ("password", "form", "self", "return"):
        await submit(agent, handle, {**claim(word, quote, SAYS), "file": "docs/login.md"})
    for file in (PASSWORDS, CART, TOKENS):
        await agent("snippets_get", session_id=handle, path=file)
    return Write(handle, (PASSWORDS, CART, TOKENS))


def pages(agent: Agent) -> tuple[str, ...]:
    """Add files that call other functions of the name `login`; return them."""
    files = tuple(f"src/desk/page_{number}.py" for number in range(12))
    (agent.root / "src/desk").mkdir()
    for file in files:
        text = "def show(page, form):\n    return page.login(form)\n"
        (agent.root / file).write_text(text, "utf-8")
    return files


async def by_a_common_name(agent: Agent) -> Prize:
    files = pages(agent)
    handle = await ready(agent)
    for file in files:
        await agent("snippets_get", session_id=handle, path=file)
    return Write(handle, (*files, "src/desk/new.py"))


async def by_a_common_name_that_is_gone(agent: Agent) -> Prize:
    files = pages(agent)
    handle = await ready(agent)
    for file in files:
        await agent("snippets_get", session_id=handle, path=file)
    assert await agent.may_write(handle, SERVICE)
    service = agent.root / SERVICE
    service.write_text(service.read_text("utf-8").replace("def login(", "def sign_in("), "utf-8")
    return Write(handle, (*files, "src/desk/new.py"))


async def by_a_text_that_verifies(agent: Agent) -> Prize:
    handle = await agent.framed()
    await submit(agent, handle)
    text = f"{LOGIN} checks the password"
    await agent.suppose(handle, text)
    found = ("password", [SERVICE, PASSWORDS, "src/users/registration.py"])
    await agent("search_text", session_id=handle, pattern=found[0])
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle, text, tool="search_text", target=found[0], files=tuple(found[1]))
    return Write(handle, (PASSWORDS, "src/users/registration.py"))


ATTEMPTS = attempts(
    "searching without looking",
    {
        "Imports and blank lines are searched for in every file.": (
            "could stand in any file",
            by_boilerplate,
        ),
        "Files were seen in lists of hits only, in READY.": ("file_not_", by_a_list_of_hits),
        "Unrelated files are read in READY.": ("file_not_related", by_reading),
        "Unrelated files are quoted in READY.": ("plausible", by_foreign_quotes),
        "Unrelated symbols are submitted and confirmed in READY.": (
            "plausible",
            by_further_symbols,
        ),
        "Another session has printed the file to write.": (
            "file_not_related",
            by_prints_of_another_session,
        ),
        "The lines of the file have changed before the first check.": (
            "file_",
            by_lines_that_have_changed,
        ),
        "A word of a document is submitted that other files contain.": (
            "file_not_related",
            by_a_word_of_a_document,
        ),
        "The symbol's name is common, and foreign files use it.": (
            "file_not_related",
            by_a_common_name,
        ),
        "The symbol's common name is renamed, and foreign files use it.": (
            "file_not_related",
            by_a_common_name_that_is_gone,
        ),
        "A text verifies the hypothesis and stands in many files.": (
            "not_ready",
            by_a_text_that_verifies,
        ),
        "The sentence denies that the file has to do with the change.": (
            "denies the link",
            by_a_denied_link,
        ),
    },
)
