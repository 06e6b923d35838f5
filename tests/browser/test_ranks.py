"""``%ranks`` and ``%%px`` in a real JupyterLab: columns of ranks side by side, cards in them, an error said once."""
from __future__ import annotations

import importlib.util

import pytest

from . import lab

pytestmark = [
    *lab.MARKS,
    *(pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")
      for name in ("ipyparallel", "mpi4py")),
]

CELLS = {
    "load": "%load_ext mindtorch\n%ranks 2",
    "cards": "%%px\nx = torch.ones(2, 3) * (1 + dist.get_rank())\nprint('rank', dist.get_rank(), 'of', "
             "dist.get_world_size())\nx",
    "sum": "%%px\ndist.all_reduce(x)\nprint(x.tolist())",
    "end": "%ranks 0",
}


@pytest.fixture(scope="module")
def page(tab, written):
    lab.run_all(tab, written("ranks.ipynb", CELLS.values()))  # within its limit of time
    return tab


def columns(page, cell):
    output = page.locator(".jp-CodeCell").nth(list(CELLS).index(cell)).locator(".jp-OutputArea")
    return output.locator(".mindtorch.mt-ranks").first, output.locator(".mt-column")


def test_each_rank_has_a_column_beside_the_others_with_its_card(page):
    picture, found = columns(page, "cards")
    assert found.count() == 2 and picture.is_visible()
    boxes = [found.nth(rank).bounding_box() for rank in (0, 1)]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] and abs(boxes[0]["y"] - boxes[1]["y"]) < 2
    for rank in (0, 1):
        said = found.nth(rank).inner_text()
        assert f"rank {rank} of 2" in said and "float32[2, 3]" in said and f"all {rank + 1}" in said


def test_what_ranks_compute_together_is_the_same_in_all(page):
    _, found = columns(page, "sum")
    assert found.count() == 2 and all("[[3.0, 3.0, 3.0]" in said for said in found.all_inner_texts())


@pytest.mark.parametrize("theme", lab.THEMES)
def test_every_text_is_legible(page, theme):
    lab.set_theme(page, theme)
    result = columns(page, "cards")[0].evaluate(lab.CONTRAST)
    assert result["looked"] > 10 and result["found"] == []
