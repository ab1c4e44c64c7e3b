"""List and search the commands of the registries, and render the prompt of one."""

from code_intel.ui.pages.commands import listing, rendering

ROUTES = (*listing.ROUTES, *rendering.ROUTES)
