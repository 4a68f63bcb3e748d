"""What a page of the book consists of: reads notebooks, MyST, formulas, values and records."""
