"""Rules for the words of a page: numbers that nobody computed, and how long it takes to read."""
