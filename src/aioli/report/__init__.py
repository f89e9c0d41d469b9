"""The report of a run: one HTML page, and figures by matplotlib."""
