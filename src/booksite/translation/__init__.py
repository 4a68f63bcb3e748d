"""The book in another language: its messages, their translations, and the translated sources."""
