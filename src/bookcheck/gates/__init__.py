"""What is checked of the built site, page by page, in a browser."""
