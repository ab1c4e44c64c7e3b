"""How map and forest are asked: what `status` and `doctor` say of it.

`status` repeats what the gateways that run now have said; `doctor` tries each one itself.
"""

from typing import Any

from code_intel.config import UPSTREAMS, Settings
from code_intel.errors import UpstreamError
from code_intel.index.doctor import Finding
from code_intel.servers.upstream.report import running
from code_intel.tools.context.degraded import status_text

HERE = "in process"


def upstream_status(settings: Settings) -> list[dict[str, Any]]:
    """Return one item for each half: where it is, and its state in every gateway that runs."""
    told = list(running(settings.state)) if settings.upstreams else []
    found = []
    for name in UPSTREAMS:
        config = settings.upstreams.get(name)
        if config is None:
            found.append({"name": name, "where": HERE})
            continue
        item: dict[str, Any] = {"name": name, "where": config.where}
        item |= {"error": config.problem} if config.problem else {}
        item["gateways"] = [
            {**state, "pid": pid}
            for pid, states in told
            for state in states
            if state["name"] == name
        ]
        found.append(item)
    return found


def upstream_lines(found: list[dict[str, Any]]) -> list[str]:
    """Return what a person reads of it; nothing where everything is in process."""
    lines = []
    for item in found:
        if item["where"] == HERE:
            continue
        says = [f"{status_text(state)} (gateway {state['pid']})" for state in item["gateways"]]
        idle = item.get("error") or "no gateway is running"
        lines += [f"{item['name']} {text}" for text in says or [f"{item['where']}; {idle}"]]
    return lines


def upstream_findings(settings: Settings) -> list[Finding]:
    """Try every upstream that is not in process, and say what is odd in the settings."""
    found = [
        Finding("warning", text, "Correct the key, or remove it.") for text in settings.warnings
    ]
    if not settings.upstreams:
        return found
    from code_intel.servers.upstream.searcher import try_out  # a client of MCP

    for name, config in settings.upstreams.items():
        try:
            said = try_out(config)
        except UpstreamError as error:
            remedy = f"See [upstreams.{name}] in {settings.state / 'config.toml'}."
            quoted = error.details.get("said")
            words = f" In its own words: “{quoted}”." if quoted else ""
            found.append(Finding("error", error.message + words, remedy))
        else:
            found.append(Finding("info", f"{name} ({config.where}) answers: {said}."))
    return found
