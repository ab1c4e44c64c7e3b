"""The pages of the map: its entries, what waits, proposals and the trash."""

from code_intel.ui.pages.map import changes, editing, entry, listing, proposals, review, trash

MODULES = (listing, entry, review, changes, editing, proposals, trash)
ROUTES = tuple(route for module in MODULES for route in module.ROUTES)
