"""A graph as a picture: what is drawn, where it goes, and the page that shows it."""
