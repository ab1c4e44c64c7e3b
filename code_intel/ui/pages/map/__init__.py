"""The pages of the map: its entries, what waits, proposals and the trash."""

from code_intel.ui.pages.map import listing

ROUTES = (*listing.ROUTES,)
