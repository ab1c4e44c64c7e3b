"""Report how map and forest are searched, for `status` and `doctor`.

`status` repeats what running gateways report; `doctor` connects to each upstream itself.
"""

from typing import Any

from code_intel.config import UPSTREAMS, Settings
from code_intel.errors import UpstreamError
from code_intel.index.doctor import IndexFinding
from code_intel.servers.upstream.report import running
from code_intel.tools.context.degraded import status_text
from code_intel.tools.context.searchers import IN_PROCESS


def upstream_status(settings: Settings) -> list[dict[str, Any]]:
    """Return an item for each corpus: where it is searched, and its state in each gateway."""
    reports = list(running(settings.state)) if settings.upstreams else []
    found = []
    for name in UPSTREAMS:
        config = settings.upstreams.get(name)
        if config is None:
            found.append({"name": name, "where": IN_PROCESS})
            continue
        item: dict[str, Any] = {"name": name, "where": config.where}
        item |= {"error": config.problem} if config.problem else {}
        item["gateways"] = [
            {**state, "pid": pid}
            for pid, states in reports
            for state in states
            if state["name"] == name
        ]
        found.append(item)
    return found


def upstream_lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the lines for a person; none if both corpora are searched in process."""
    lines = []
    for item in found:
        if item["where"] == IN_PROCESS:
            continue
        says = [f"{status_text(state)} (gateway {state['pid']})" for state in item["gateways"]]
        idle = item.get("error") or "no gateway is running"
        lines += [f"{item['name']} {text}" for text in says or [f"{item['where']}; {idle}"]]
    return lines


def upstream_findings(settings: Settings) -> list[IndexFinding]:
    """Try every configured upstream, and report warnings about the settings."""
    found = [
        IndexFinding("warning", text, "Correct the key, or remove it.")
        for text in settings.warnings
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
            found.append(IndexFinding("error", error.message + words, remedy))
        else:
            found.append(IndexFinding("info", f"{name} ({config.where}) answers: {said}."))
    return found
