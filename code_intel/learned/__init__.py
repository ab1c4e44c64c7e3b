"""«What did we learn?» Agreements and pairs on disk, their validity, and their scores."""
