"""Where the work is done: in memory."""
