"""What a released file says: its columns, its cells, and where they lie on a line."""
