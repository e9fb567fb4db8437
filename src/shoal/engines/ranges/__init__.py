"""Long tables in ranges along a curve, each grouped by itself: the same for every engine."""
