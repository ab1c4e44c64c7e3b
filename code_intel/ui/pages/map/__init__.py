"""The pages of the map: its entries, what waits, proposals and the trash."""

from code_intel.ui.pages.map import (
    changes,
    drafts,
    editing,
    entry,
    listing,
    proposals,
    review,
    trash,
)

MODULES = (listing, entry, review, changes, drafts, editing, proposals, trash)
ROUTES = tuple(route for module in MODULES for route in module.ROUTES)
