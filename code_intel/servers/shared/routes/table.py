"""List the routes of the API."""

from code_intel.servers.shared.routes.api import ApiRoute

ROUTES: tuple[ApiRoute, ...] = ()
