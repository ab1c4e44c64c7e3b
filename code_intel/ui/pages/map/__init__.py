"""The pages of the map: its entries, what waits, proposals and the trash."""

from code_intel.ui.pages.map import entry, listing, review, trash

ROUTES = (*listing.ROUTES, *entry.ROUTES, *review.ROUTES, *trash.ROUTES)
