"""The pages: each module reads the data of one page, and has its `ROUTES`."""
