"""List the routes of the API."""

from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.routes.protocol import PROTOCOL_ROUTES
from code_intel.servers.shared.routes.removal import REMOVAL_ROUTES

ROUTES: tuple[ApiRoute, ...] = (*PROTOCOL_ROUTES, *REMOVAL_ROUTES)
