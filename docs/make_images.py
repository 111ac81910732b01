"""Make the pictures of the documentation: ``python docs/make_images.py``."""

from pathlib import Path

from polyceptron.demo import draw_polygon

HERE = Path(__file__).parent

if __name__ == "__main__":
    draw_polygon().figure_.savefig(HERE / "images" / "polygon.png", dpi=120)
