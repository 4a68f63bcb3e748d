"""Rules for headings, links and the pages of the back matter."""
