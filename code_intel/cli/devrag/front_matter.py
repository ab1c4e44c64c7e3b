"""Provide the options and the work of the two commands that write front matter."""

import argparse
from typing import Any, get_args

from code_intel.cli.devrag.options import add_output, add_path, open_index, resolve_path
from code_intel.tools.documents import metadata

FLAGS = {name: name for name in ("domain", "language", "tags", "project")} | {"docType": "doc_type"}


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_path(parser)
    parser.add_argument(
        "--domain", choices=_choices(metadata.Domain), help="the area it belongs to"
    )
    parser.add_argument("--doc-type", choices=_choices(metadata.DocType), help="the kind of text")
    parser.add_argument(
        "--language", help="the language of the code it describes: go, typescript, python …"
    )
    parser.add_argument("--tags", help="tags, separated by commas")
    parser.add_argument("--project", help="name of the project")
    parser.add_argument(
        "--params", default="{}", metavar="JSON", help="the same fields as a JSON object"
    )
    add_output(parser)


def write_fields(
    args: argparse.Namespace, *, update: bool
) -> tuple[int, dict[str, Any] | None, str]:
    """Write the fields; flags override `--params`."""
    options = {field: getattr(args, name) for field, name in FLAGS.items()}
    fields_given = {field: value for field, value in options.items() if value is not None}
    values = metadata.fields(metadata.from_json(args.params) | fields_given)
    with open_index(args.config) as service:
        path = resolve_path(args.config, args.filepath)
        data = metadata.write(service, path, values, update=update)
    return 0, data, data["message"]


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of an optional `Literal`."""
    literal = next(part for part in get_args(get_args(annotation)[0]) if get_args(part))
    return get_args(literal)
