"""Give `start_session` the client's session, so that it adopts what the client has seen."""

from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.binding import client_session
from code_intel.tools.hooks.events import HookEvent, HookReply


async def add_client_session(_context: GatewayContext, event: HookEvent) -> HookReply:
    """Return the arguments of start_session with the client's session."""
    return HookReply(arguments={**event.arguments, "client_session": client_session(event)})
