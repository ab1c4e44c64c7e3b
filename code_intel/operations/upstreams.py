"""Report where the map and the forest are searched, for `status` and `doctor`.

`status` shows what running gateways report; `doctor` connects to each upstream itself.
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
    items = []
    for name in UPSTREAMS:
        config = settings.upstreams.get(name)
        if config is None:
            items.append({"name": name, "where": IN_PROCESS})
            continue
        item: dict[str, Any] = {"name": name, "where": config.where}
        item |= {"error": config.problem} if config.problem else {}
        item |= {"hint": config.remedy} if config.remedy else {}
        item["gateways"] = [
            {**state, "pid": pid}
            for pid, states in reports
            for state in states
            if state["name"] == name
        ]
        items.append(item)
    return items


def upstream_lines(items: list[dict[str, Any]]) -> list[str]:
    """Return the status as text; no lines if both corpora are searched in process."""
    lines = []
    for item in items:
        if item["where"] == IN_PROCESS:
            continue
        states = [f"{status_text(state)} (gateway {state['pid']})" for state in item["gateways"]]
        reason = item.get("error") or "no gateway is running"
        reason += f"; {item['hint']}" if "hint" in item else ""
        lines += [f"{item['name']} {text}" for text in states or [f"{item['where']}; {reason}"]]
    return lines


def upstream_findings(settings: Settings) -> list[IndexFinding]:
    """Connect to every configured upstream; return the results and warnings about the settings."""
    findings = [
        IndexFinding("warning", text, "Correct the key, or remove it.")
        for text in settings.warnings
    ]
    if not settings.upstreams:
        return findings
    from code_intel.servers.upstream.searcher import try_out  # imports an MCP client

    for name, config in settings.upstreams.items():
        if not config.is_approved:
            what = f"{name} ({config.where}) is not used: {config.problem}."
            findings.append(IndexFinding("warning", what, config.remedy))
            continue
        try:
            answer = try_out(config)
        except UpstreamError as error:
            remedy = f"See [upstreams.{name}] in {settings.state / 'config.toml'}."
            quoted = error.details.get("said")
            quotation = f" It said: “{quoted}”." if quoted else ""
            findings.append(IndexFinding("error", error.message + quotation, remedy))
        else:
            findings.append(IndexFinding("info", f"{name} ({config.where}) answers: {answer}."))
    return findings
