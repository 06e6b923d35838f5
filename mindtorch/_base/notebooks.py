"""Where the notebooks are: beside the package in the repository, inside of it in a wheel."""
from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
IN_REPOSITORY = PACKAGE.parent / "notebooks"
#: The folder of the tour, the other notebooks, and the course's masters.
NOTEBOOKS = IN_REPOSITORY if (IN_REPOSITORY / "00_tour.ipynb").exists() else PACKAGE / "notebooks"
