"""What names of columns say: words of seven languages, and whether numbers are codes."""
