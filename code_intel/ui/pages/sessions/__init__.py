"""List the sessions, show the story of one as a time line, and the lines that it has seen."""

from code_intel.ui.pages.sessions import listing, seen, story

ROUTES = (*listing.ROUTES, *seen.ROUTES, *story.ROUTES)
