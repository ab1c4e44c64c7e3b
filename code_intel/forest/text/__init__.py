"""Search the files on disk for text and regular expressions, through ripgrep."""
