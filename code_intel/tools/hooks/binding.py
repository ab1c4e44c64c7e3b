"""Find and change the session that belongs to the client session of a hook event.

The rules of hooks work in a session by its handle. All functions block; rules call them with
`run_in_thread`.
"""

from typing import Any

from code_intel.tools.context.client_sessions import (
    Binding,
    BoundSession,
    change_binding,
    read_binding,
    read_bound_session,
    remove_binding,
    write_binding,
)
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.events import HookEvent

__all__ = [
    "Binding",
    "BoundSession",
    "bind",
    "client_session",
    "find_any_binding",
    "find_binding",
    "find_session",
    "unbind",
    "update_binding",
]


def client_session(event: HookEvent) -> str:
    """Return the name of the client session of an event, as `start_session` accepts it."""
    return f"{event.client}:{event.session}"


def find_binding(context: GatewayContext, event: HookEvent) -> Binding | None:
    """Return the binding of the event's client session; None without one of the last day.

    Its session may have ended; see `find_session`.
    """
    return read_binding(context.settings, client_session(event))


def find_any_binding(context: GatewayContext, event: HookEvent) -> Binding | None:
    """Return the binding of the event's client session, even if it is older than a day."""
    return read_binding(context.settings, client_session(event), of_any_age=True)


def find_session(context: GatewayContext, event: HookEvent) -> BoundSession | None:
    """Return the open session of the event's client session, or None.

    A session is no longer open once its outcome is recorded, or after a day.
    """
    return read_bound_session(context, client_session(event))


def bind(context: GatewayContext, event: HookEvent, handle: str) -> Binding:
    """Bind the event's client session to a session, instead of the one before.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be written.
    """
    return write_binding(context.settings, client_session(event), handle)


def update_binding(
    context: GatewayContext, event: HookEvent, handle: str, **changes: Any
) -> Binding | None:
    """Change the field `asked` of the binding; None if it is of another session.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be written.
    """
    return change_binding(context.settings, client_session(event), handle, **changes)


def unbind(context: GatewayContext, event: HookEvent, handle: str) -> None:
    """Remove the binding of the event's client session, unless it is of another session.

    Raises:
        BusyError: Another process held the lock for too long.
        StorageError: The binding could not be removed.
    """
    remove_binding(context.settings, client_session(event), handle)
