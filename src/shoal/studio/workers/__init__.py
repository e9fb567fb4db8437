"""Processes that look at records, so that the server never does."""
