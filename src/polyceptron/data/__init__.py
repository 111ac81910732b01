"""Labelled rows: where they are, what they hold, and the coordinates to learn in."""
