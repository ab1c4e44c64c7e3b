"""Judge what a change rests on: claims with quotes of printed code, by a table of demands."""
