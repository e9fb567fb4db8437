"""`blind`: groups that do not tell why they are as they are."""
