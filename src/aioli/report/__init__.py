"""Tables and plots: the only importer of matplotlib."""
