"""Method `best`: the least loss within an effort."""
