"""Draws the images of the documentation, from its examples: `make images`."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).parent.parent
# enough for the colours of a plot and their anti-aliased edges
_COLOURS = 64


def main() -> None:
    """Run the examples of all pages, and copy the images that they save."""
    with TemporaryDirectory() as folder:
        tests = ["tests/test_docs.py", "-k", "test_examples"]
        subprocess.run(
            [sys.executable, "-m", "pytest", "--quiet", *tests, f"--basetemp={folder}/pages"],
            cwd=ROOT,
            check=True,
        )
        for found in Path(folder).rglob("*.png"):
            image = Image.open(found).convert("RGB")
            few = image.quantize(_COLOURS, dither=Image.Dither.NONE)
            few.save(ROOT / "docs" / "images" / found.name, optimize=True)


if __name__ == "__main__":
    main()
