"""Does a released table keep its promises? Decided from what is published alone."""
