"""Tables in and out: files and data frames."""
