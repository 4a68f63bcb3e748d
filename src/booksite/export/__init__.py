"""The built site as one PDF and as a zip file."""
