"""List the routes of the API."""

from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.routes.protocol import PROTOCOL_ROUTES

ROUTES: tuple[ApiRoute, ...] = PROTOCOL_ROUTES
