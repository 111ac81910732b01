"""The colours of pictures, pages and notebooks, in one place and without matplotlib."""

# Okabe & Ito (2008): eight colours that people of every colour vision tell apart.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY, YELLOW = "#E69F00", "#CC79A7", "#56B4E9", "#F0E442"
INK, GREY, FAINT, RULE, PAPER = "#222222", "#555555", "#999999", "#E6E6E6", "#FFFFFF"
DARK = (GREEN, BLUE, VERMILLION)
FACE_COLOURS = (ORANGE, SKY, GREEN, PURPLE, BLUE, VERMILLION, YELLOW)


def colour_of(k: int) -> str:
    """Return the colour of face or class `k`; after seven they begin anew."""
    return FACE_COLOURS[k % len(FACE_COLOURS)]


def ink_on(colour: str) -> str:
    """Return the colour of text on a ground of this colour."""
    return PAPER if colour in DARK else INK
