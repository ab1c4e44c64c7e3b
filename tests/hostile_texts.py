"""Texts that become markup or act if a page does not treat them as text, and where files have them.

An element that comes from one of them has the attribute `x-hacked`; a script of it calls `alert`.
"""

import json
from dataclasses import replace
from pathlib import Path

from code_intel.chunking.agreement import render
from code_intel.learned.proposals.review_file import ReviewItem, read_review, write_review
from code_intel.planning import keeping
from code_intel.records import Agreement, FileReference
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.gateway import sessions_of
from kept_plans import iteration, plan, result
from programs import git
from registry_files import document, written
from served import settings_of

HOSTILE = (
    "<script x-hacked>alert(1)</script>",
    "<img x-hacked src=x onerror=alert(2)>",
    '"><svg x-hacked onload=alert(3)>',
    "'><details x-hacked open ontoggle=alert(4)>",
    "</title><script x-hacked>alert(5)</script>",
    "</textarea><b x-hacked>6</b>",
    "]]><b x-hacked>7</b>",
    "--><b x-hacked>8</b><!--",
    "{{7*7}} nine",
    "{% raw %}{{ config }}{% endraw %}",
    "${alert(11)}",
    "javascript:alert(12)",
    "[click](javascript:alert(13))",
    '<a x-hacked href="javascript:alert(14)">14</a>',
    "&lt;script&gt;alert(15)&lt;/script&gt;",
    "&#60;b x-hacked&#62;16",
    "<b x-hacked 17",
    "<style x-hacked>*{display:none}</style>",
    '<iframe x-hacked srcdoc="<script>alert(19)</script>">',
    '" onmouseover="alert(20)" x-hacked="',
    "' autofocus onfocus='alert(21)' x-hacked='",
    "`onerror=alert(22)`",
    "<form x-hacked action=//evil.example><button>23</button></form>",
    "<base x-hacked href=//evil.example/>",
    "<meta x-hacked http-equiv=refresh content=0;url=//evil.example>",
    "<link x-hacked rel=stylesheet href=//evil.example/a.css>",
    "<object x-hacked data=//evil.example></object>",
    "<math><mtext x-hacked>28</mtext></math>",
    "<svg><script x-hacked>alert(29)</script></svg>",
    "<template x-hacked><b>30</b></template>",
    '<noscript><p title="</noscript><img x-hacked src=x onerror=alert(31)>">',
    "a\u202ealert(32)\u202cb",
    "a\u200bb\ufeffc33",
    '<b x-hacked hx-get="/" hx-trigger="load">34</b>',
    "%3Cscript x-hacked%3Ealert(35)%3C/script%3E",
    "\x1b[31m36\x1b[0m",
    "＜script x-hacked＞alert(37)＜/script＞",
    '<input x-hacked name="csrf" value="38">',
    "{{ ''.__class__.__mro__ }}",
    "../../../../etc/passwd",
    "data:text/html,<script x-hacked>alert(41)</script>",
    "</script><script x-hacked>alert(42)</script>",
    "</svg></style></noscript><b x-hacked>43</b>",
    "<plaintext x-hacked>44",
)
CODE = 'def {name}():\n    """{text}"""\n    return {text!r}\n'


def plant_hostile(root: Path) -> None:
    """Put every text into every kind of file that the pages show."""
    settings = settings_of(root)
    paths = sessions_of(settings)
    proposals = list(read_review(settings).items)
    for number, text in enumerate(HOSTILE, 1):
        file = f"src/hostile/{number} {text.replace('/', '∕')[:60]}.py"
        _write(root / file, CODE.format(name=f"planted_{number}", text=text))
        agreement = Agreement(
            text,
            f"planted_{number}",
            (f"{text} and `{text}`",),
            (FileReference(file, 1),),
            aliases=(f"alias {text}",),
        )
        # As a person writes it by hand: the product's own functions refuse some of these texts.
        _write(
            settings.agreements / f"{number} {text.replace('/', '∕')[:60]}.md", render(agreement)
        )
        note = f"---\nkind: warning\nfiles:\n  - {json.dumps(file)}\n---\n\n# {text}\n\n{text}\n"
        _write(settings.agreements / f"note {number}.md", note)
        proposed = replace(agreement, nl_term=f"proposed {text}")
        commits = (("0" * 40, text),)
        proposals.append(ReviewItem(1000 + number, proposed, 0.5, (1, 3), commits, (), text))
        journal.create(paths, Intent.MODIFY, f"{text} of a session", commit="")
        found = result(file, text, symbol=text)
        keeping.save(
            settings.plans_dir,
            plan(
                f"{text} of a plan",
                iterations=(iteration(query=text, results=(found,)),),
                final=(found,),
            ),
        )
    written(root, document(*map(_command, range(len(HOSTILE)))))
    prompt = f"---\ndescription: {json.dumps(HOSTILE[0])}\n---\n" + "\n\n".join(HOSTILE) + "\n"
    _write(root / ".claude" / "commands" / "<img x-hacked src=x onerror=alert()>.md", prompt)
    git(root, "add", "-A")
    for text in HOSTILE:
        git(root, "commit", "-q", "--allow-empty", "-m", text.replace("\x1b", "␛"))
    write_review(settings, proposals)


def _command(place: int) -> dict[str, object]:
    text = HOSTILE[place]
    return {
        "c1": "climpt-git",
        "c2": f"hostile-{place}",
        "c3": "text",
        "description": text,
        "usage": f"usage {text}",
        "options": {"edition": ["default"], "file": True},
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
