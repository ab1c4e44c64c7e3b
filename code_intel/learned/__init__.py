"""«What did we learn?» Agreements and pairs on disk, whether they still hold, and how well one answers."""
