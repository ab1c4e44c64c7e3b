"""Collect the tools, parameters, error codes, guards and reasons that the program declares."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from code_intel.chunking.agreement import AgreementProblem
from code_intel.cli.devrag.codes import CODES, FAILED
from code_intel.records import Validity
from code_intel.servers.http import guard
from code_intel.servers.shared import guard as shared_guard
from code_intel.servers.shared.tools.table import TOOLS as SHARED_TOOLS
from code_intel.session.evidence import ForestReason
from code_intel.session.short_circuit import GUARDS
from code_intel.session.write_gate import UNUSABLE, WRITE_RULES
from code_intel.tools.table import GATEWAY_TOOLS, INDEX_TOOLS

PACKAGE = Path(__file__).resolve().parents[2] / "code_intel"
TOOLS = {
    **{tool.name: tool for tool in (*GATEWAY_TOOLS, *INDEX_TOOLS)},
    **{f"shared_{tool.name}": tool for tool in SHARED_TOOLS},
}
"""The tools by their names in the contract."""


def tools() -> set[str]:
    return {f"tool.{name}" for name in TOOLS}


def fields() -> dict[str, tuple[str, bool]]:
    """Return the JSON type of every parameter, nested ones included, and whether it is required."""
    return {
        f"field.{tool_name}.{name}": declared
        for tool_name, tool in TOOLS.items()
        for name, declared in _within(tool.schema)
    }


def _within(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, tuple[str, bool]]]:
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])):
        yield from _within(part, prefix)
    for name, field in schema.get("properties", {}).items():
        where = f"{prefix}{name}"
        yield where, (_type(field), name in schema.get("required", ()))
        yield from _within(field, f"{where}.")


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(sorted({_type(part) for part in schema["anyOf"]} - {"null"}))
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}"
    if "const" in schema or "enum" in schema:
        return "string"
    return str(schema.get("type", "object"))


def guards() -> set[str]:
    return {f"rule.guard.{guard.name}" for guard in GUARDS}


def validities() -> set[str]:
    return {f"rule.validity.{validity}" for validity in get_args(Validity)}


def reasons() -> set[str]:
    return {f"rule.reason.{reason}" for reason in ForestReason}


def errors() -> set[str]:
    """Return every error code of tools, write gate, HTTP and terminal."""
    codes = {rule.error for rule in (*WRITE_RULES, UNUSABLE)}
    refusals = (*vars(guard).values(), *vars(shared_guard).values())
    codes |= {r.error for r in refusals if isinstance(r, guard.Refusal)}
    codes |= {row.code for row in CODES} | set(FAILED.values())
    codes |= {AgreementProblem("invalid", "").error, AgreementProblem("conflict", "").error}
    for path in PACKAGE.rglob("*.py"):
        codes |= set(codes_in(ast.parse(path.read_text(encoding="utf-8"))))
    return {f"error.{code}" for code in codes}


def codes_in(tree: ast.Module) -> Iterator[str]:
    """Yield the error codes of a module, from classes, raise statements and literal errors.

    Raises:
        ValueError: A code is computed in a way that cannot be read.
    """
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.bases and node.name.endswith("Error"):
            yield from _own_code(node)
        elif isinstance(node, ast.Call) and _callee(node).endswith("Error"):
            for keyword in node.keywords:
                if keyword.arg == "code":
                    yield from _texts(keyword.value, constants)
        elif isinstance(node, ast.Dict):
            written = {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }
            if {"error", "hint"} <= written.keys() and isinstance(written["error"], ast.Constant):
                yield from _texts(written["error"], constants)


def _own_code(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
            yield from _texts(line.value, {})


def _callee(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _texts(value: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the texts an expression may evaluate to. A name from another module is read there."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Constant(value=None) | ast.Attribute(attr="error"):
            return  # no code, or the code of another error
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, constants)
            yield from _texts(other, constants)
        case ast.Name(id=name):
            if name in constants:
                yield from _texts(constants[name], constants)
        case ast.Call(func=ast.Attribute(value=ast.Dict(values=values), attr="get"), args=rest):
            for each in (*values, *rest[1:]):
                yield from _texts(each, constants)
        case _:
            raise ValueError(
                f"line {value.lineno}: {ast.unparse(value)} is no code that can be read"
            )
