"""List query plans and knowledge pages, and show the course of one plan."""

from code_intel.ui.pages.plans import knowledge, listing, plan

ROUTES = (*listing.ROUTES, *knowledge.ROUTES, *plan.ROUTES)
