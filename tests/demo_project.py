"""Build a small web shop with all that `code-intel ui` shows, by the functions of the product.

    PYTHONPATH=.:tests python tests/demo_project.py FOLDER [--hostile]

The project has a git history, a map with agreements in every state, notes, proposals, sessions,
query plans and commands. It takes about seven seconds. Sessions have the current time; everything
else is the same in each run. State outside the project depends on its path, so build it where it is
used. `--hostile` adds texts that must not become markup.
"""

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import anyio

import demo_sessions
from code_intel.cli.main import main
from code_intel.config import load_settings
from code_intel.learned.history.drafts import OutcomeDraft, write_draft
from code_intel.records import Agreement, FileReference
from command_projects import stocked
from hostile_texts import plant_hostile
from programs import TESTS, TIMEOUT_S, git
from projects import SHOP

SEARCH = "web/src/productSearch.ts"
HISTORY = (
    ("2026-01-12", "Aoi Tanaka", "Describe the shop", ("README.md", ".gitignore", "docs")),
    ("2026-01-14", "Ben Okafor", "Sign in with e-mail and password", ("src/auth",)),
    ("2026-01-15", "Ben Okafor", "Register customers and send the welcome mail", ("src/users",)),
    ("2026-01-15", "Ben Okafor", "Send mail through the relay", ("src/notifications",)),
    ("2026-02-02", "Aoi Tanaka", "Merge equal products in the cart", ("src/cart/cart.py", "tests")),
    ("2026-02-03", "Aoi Tanaka", "送料の計算を追加する", ("src/cart/shipping.py",)),
    ("2026-02-20", "Carla Diaz", "Charge and refund credit cards", ("src/payments",)),
    ("2026-03-04", "Aoi Tanaka", "Reserve stock for an order", ("src/inventory",)),
    ("2026-03-18", "Carla Diaz", "Export orders for accounting", ("src/reports",)),
    ("2026-04-09", "Ben Okafor", "Search products by words", ("web/src/http.ts", SEARCH)),
    ("2026-04-21", "Ben Okafor", "Show the cart, switch the colours", ("web",)),
)
"""Date, author, subject and files of each commit."""
CONFIRMED = (
    (
        "ログイン機能",
        "AuthService.login",
        "`AuthService.login()` がメールアドレスとパスワードを確認する",
        "src/auth/service.py",
    ),
    (
        "送料の計算",
        "shipping_fee",
        "`shipping_fee` は 80 ユーロ以上の注文で 0 を返す",
        "src/cart/shipping.py",
    ),
    (
        "shopping cart",
        "ShoppingCart",
        "`ShoppingCart` holds what a customer is about to buy",
        "src/cart/cart.py",
    ),
    (
        "cart total",
        "ShoppingCart.total",
        "`total` sums the unit prices of all items",
        "src/cart/cart.py",
    ),
    (
        "refund",
        "PaymentGateway.refund",
        "`refund` posts to `/refunds` of the provider",
        "src/payments/gateway.py",
    ),
    (
        "card payment",
        "PaymentGateway.charge",
        "`charge` posts the card and the amount",
        "src/payments/gateway.py",
    ),
    (
        "product search",
        "searchProducts",
        "`searchProducts` asks `/api/products` for the words",
        SEARCH,
    ),
    (
        "stock reservation",
        "StockKeeper.Reserve",
        "`Reserve` takes items out of stock for an order",
        "src/inventory/stock.go",
    ),
    (
        "order export",
        "export_orders",
        "`export_orders` writes one row for each order",
        "src/reports/csv_export.py",
    ),
    ("theme switch", "toggleTheme", "`toggleTheme` remembers the colours", "web/src/theme.js"),
    (
        "password check",
        "verify_password",
        "`verify_password` compares in constant time",
        "src/auth/passwords.py",
    ),
    (
        "mail delivery",
        "Mailer.send",
        "`Mailer.send` hands one message to the relay",
        "src/notifications/mailer.py",
    ),
)
"""Agreements that a person confirms: term, symbol, evidence, file."""
UNCONFIRMED = (
    (
        "welcome mail",
        "RegistrationService.register",
        "`register` sends the mail “Welcome”",
        "src/users/registration.py",
    ),
    ("sorting by price", "sortByPrice", "`sortByPrice` compares the prices", SEARCH),
)
NOTES = (
    (
        "convention",
        "Money is a Decimal",
        "--text",
        "Never use floats for prices.",
        "--file",
        "src/**/*.py",
    ),
    (
        "decision",
        "Sessions are kept in memory",
        "--text",
        "A restart signs everybody out.",
        "--context",
        "There is one server.",
        "--consequences",
        "A second server needs a shared store.",
    ),
    (
        "warning",
        "Do not log card tokens",
        "--text",
        "The provider forbids it.",
        "--symbol",
        "PaymentGateway",
    ),
    (
        "convention",
        "エラーメッセージは利用者の言葉で書く",
        "--text",
        "内部の名前を見せない。",
        "--file",
        "web/src/**",
    ),
)
REVIEW = """---
description: Review the open changes of the shop
argument-hint: "[file]"
---
Review $ARGUMENTS. Look at prices, fees and what the customer reads.
"""


def build_demo(root: Path) -> Path:
    """Build the project in a folder that does not exist yet; return it."""
    shutil.copytree(SHOP, root)
    os.chdir(root)
    _commit_history(root)
    run("init", "--commands")
    stocked(root)
    review = root / ".claude" / "commands" / "review.md"
    review.parent.mkdir(parents=True, exist_ok=True)
    review.write_text(REVIEW, encoding="utf-8")
    commit(root, "2026-05-04", "Aoi Tanaka", "Set up code-intel")
    run("sync", "--words-only")
    _fill_map(root)
    commit(root, "2026-05-05", "Aoi Tanaka", "Agree on the words of the shop")
    anyio.run(demo_sessions.hold, root)
    commit(root, "2026-06-01", "Ben Okafor", "Refuse an empty password at the login")
    run("map", "propose")
    _move_on(root)
    _conflict(root)
    _draft(root)
    run("sync", "--words-only")
    return root


def run(*words: str) -> str:
    """Run a command line of code-intel in this process; return what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    if code:
        raise RuntimeError(f"code-intel {' '.join(words)}: {out.getvalue()}{err.getvalue()}")
    return out.getvalue()


def commit(root: Path, day: str, author: str, subject: str, *files: str) -> None:
    """Commit files, by default all, as an author on a day."""
    mail = f"{author.split(maxsplit=1)[0].lower()}@example.invalid"
    for role in ("AUTHOR", "COMMITTER"):
        os.environ[f"GIT_{role}_DATE"] = f"{day}T09:00:00+00:00"
        os.environ[f"GIT_{role}_NAME"], os.environ[f"GIT_{role}_EMAIL"] = author, mail
    git(root, "add", "--", *(files or (".",)))
    git(root, "commit", "-q", "-m", subject)


def change(root: Path, file: str, old: str, new: str) -> None:
    """Replace text in a file."""
    path = root / file
    text = path.read_text("utf-8")
    assert old in text, (file, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def agreement_file(root: Path, symbol: str) -> str:
    """Return the path of the agreement about a symbol."""
    for path in sorted((root / ".code-intel" / "agreements").glob("*.md")):
        if f'symbol: "{symbol}"' in path.read_text("utf-8"):
            return path.relative_to(root).as_posix()
    raise LookupError(symbol)


def _commit_history(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    for day, author, subject, files in HISTORY:
        commit(root, day, author, subject, *files)


def _fill_map(root: Path) -> None:
    for term, symbol, evidence, file in (*CONFIRMED, *UNCONFIRMED):
        run("map", "add", term, symbol, "--evidence", evidence, "--file", file)
    login = agreement_file(root, "AuthService.login")
    change(root, login, "aliases:\n", 'aliases:\n  - "sign in"\n')
    for term, symbol, _, _ in CONFIRMED:
        run("map", "confirm", term, symbol)
    for kind, title, *options in NOTES:
        run("map", "add", title, "--kind", kind, *options)
        run("map", "confirm", title)
    run("map", "delete", "mail delivery", "Mailer.send")
    run("map", "reject", "password check", "verify_password")


def _move_on(root: Path) -> None:
    """Change code on which agreements and a plan rest, and delete some."""
    change(
        root,
        "src/inventory/stock.go",
        "k.levels[sku] < quantity",
        "quantity < 1 || k.levels[sku] < quantity",
    )
    change(root, "src/reports/csv_export.py", '"date"])', '"date", "zone"])')
    commit(root, "2026-06-20", "Carla Diaz", "Refuse to reserve nothing", "src")
    git(root, "rm", "-q", "web/src/theme.js")
    commit(root, "2026-06-21", "Ben Okafor", "Follow the colours of the system")


def _conflict(root: Path) -> None:
    """Merge two branches that say different things of the refund."""
    file = agreement_file(root, "PaymentGateway.refund")
    old = "`refund` posts to `/refunds` of the provider"
    git(root, "switch", "-q", "-c", "partial-refunds")
    change(root, file, old, "`refund` gives a part of the amount back")
    commit(root, "2026-06-22", "Carla Diaz", "Say that refunds may be partial", file)
    git(root, "switch", "-q", "main")
    change(root, file, old, "`refund` posts to `/refunds` and needs the transaction of the charge")
    commit(root, "2026-06-23", "Aoi Tanaka", "Say what a refund needs", file)
    with suppress(subprocess.CalledProcessError):  # it stops at the conflict
        git(root, "merge", "-q", "partial-refunds")
    assert "<<<<<<<" in (root / file).read_text("utf-8")


def _draft(root: Path) -> None:
    """Leave the draft of a session that recorded no outcome."""
    agreement = Agreement(
        "session token",
        "TokenIssuer.issue",
        ("`TokenIssuer.issue` signs the token of a session",),
        (FileReference("src/auth/tokens.py"),),
        learned_at="2026-06-25T10:15:00+00:00",
    )
    name = "session_20260625_101500_0c0ffee0"
    draft = OutcomeDraft(name, f"{name}_x", "2026-06-25T10:20:00+00:00", agreements=(agreement,))
    write_draft(load_settings(root), draft)


def built(root: Path, *options: str) -> Path:
    """Build the project in a process of its own, for tests; return it."""
    path = f"{TESTS.parent}{os.pathsep}{TESTS}"
    done = subprocess.run(
        [sys.executable, __file__, str(root), *options],
        env={**environment(root), "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return root


def environment(root: Path) -> dict[str, str]:
    """Return the environment for programs on a project: no model, and an empty home beside it."""
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    env = {**os.environ, "CODE_INTEL_EMBEDDING": "off", "HOME": str(home)}
    for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
        env.pop(name, None)
    return env


if __name__ == "__main__":
    os.environ["CODE_INTEL_EMBEDDING"] = "off"  # except for the sessions
    build_demo(Path(sys.argv[1]).absolute())
    if "--hostile" in sys.argv:
        plant_hostile(Path(sys.argv[1]).absolute())
