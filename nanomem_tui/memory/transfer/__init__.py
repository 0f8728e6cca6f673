"""Import and export: a module for each format, a plan to preview, one operation that performs it."""
