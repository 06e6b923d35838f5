"""Imports run one way: every module stands in one room of the house, and imports only from rooms above its own."""
from __future__ import annotations

from pathlib import Path

import pytest

from . import house


@pytest.fixture(scope="module")
def edges() -> dict[str, dict[str, int]]:
    return house.graph()


def test_every_module_stands_in_a_room(edges) -> None:
    homeless = [module for module in edges if house.height(module) is None]
    assert homeless == ["mindtorch", "mindtorch._backends"]


def test_every_room_has_modules(edges) -> None:
    for room in house.HOUSE:
        for part in room.parts.split():
            assert any(f"{module}.".startswith(f"mindtorch.{part}.") for module in edges), part


def test_no_import_goes_up(edges) -> None:
    assert house.upward(edges) == []


def test_each_import_for_types_alone_is_there_and_would_go_up_or_close_a_circle(edges) -> None:
    known = house.modules()
    for source, target in sorted(house.FOR_TYPES):
        name, imported = f"mindtorch.{source}", f"mindtorch.{target}"
        lines = {at: line for at, line, for_types in house.imports(name, known[name], known) if for_types}
        with_it = {**edges, name: {**edges[name], imported: lines[imported]}}
        assert house.upward(with_it) or house.cycles(with_it), (source, target)


def test_no_modules_import_each_other(edges) -> None:
    assert house.cycles(edges) == []


def test_no_packages_import_each_other(edges) -> None:
    assert house.cycles(house.between_packages(edges)) == []


@pytest.mark.parametrize(("module", "line"), [
    ("_base/layout.py", "from .._tensor import Tensor"),
    ("_storage/memory.py", "if TYPE_CHECKING:\n    from .._tensor import Tensor"),
    ("_dispatch/keys.py", "def late():\n    from .._backends.cpu import kernels"),
    ("_backends/cpu/kernels.py", "import mindtorch.nn"),
    ("introspect/tensor.py", "from ..viz import html"),
    ("nn/init.py", "from .. import Tensor"),
])
def test_an_import_that_goes_up_is_found(edges, tmp_path: Path, module: str, line: str) -> None:
    name, path = f"mindtorch.{module.removesuffix('.py').replace('/', '.')}", tmp_path / "module.py"
    path.write_text(f"{(house.TOP / 'mindtorch' / module).read_text()}\n{line}\n")
    imported = {target: line for target, line, _ in house.imports(name, path, house.modules())
                if house.pair(name, target) not in house.FOR_TYPES}
    found = house.upward({**edges, name: imported})
    assert len(found) == 1 and name in found[0]


def test_modules_that_import_each_other_are_found() -> None:
    edges = {"a": {"b": 1}, "b": {"c": 2}, "c": {"a": 3}, "d": {"a": 4}}
    assert house.cycles(edges) == [["a", "b", "c"]]


def test_the_readme_has_the_map_of_today() -> None:
    text = (house.TOP / "README.md").read_text()
    assert house.BEGIN in text and house.readme(text) == text
