"""``torch.utils.flop_counter``: the operations of a program, by module and operator, are those that PyTorch counts."""
from __future__ import annotations

import importlib

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says how many operations there are")
PROGRAMS = {
    "layers": lambda t: t.nn.Sequential(t.nn.Conv2d(2, 4, 3, padding=1), t.nn.Flatten(), t.nn.Sequential(
        t.nn.Linear(144, 30), t.nn.ReLU(), t.nn.Linear(30, 2)))(t.ones(1, 2, 6, 6)).sum().backward(),
    "a transposed convolution": lambda t: t.nn.ConvTranspose2d(2, 4, 3, stride=2)(t.ones(2, 2, 5, 5)).sum().backward(),
    "attention": lambda t: t.nn.TransformerEncoderLayer(8, 2, 16)(t.ones(2, 3, 8)).sum().backward(),
    "products": lambda t: (
        t.ones(3, 4) @ t.ones(4, 5), t.ones(2, 3, 4) @ t.ones(2, 4, 5),
        t.einsum("bij,bkj->bik", t.ones(2, 3, 4), t.ones(2, 5, 4)),
        t.baddbmm(t.ones(2, 3, 5), t.ones(2, 3, 4), t.ones(2, 4, 5))),
    "without products": lambda t: t.ones(3) + 1,
}


def counter(t, **options):
    return importlib.import_module(f"{t.__name__}.utils.flop_counter").FlopCounterMode(display=False, **options)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_counts_are_pytorchs(program):
    def counts(t):
        with counter(t) as found:
            program(t)
        by_name = {name: {str(packet): n for packet, n in of.items()} for name, of in found.get_flop_counts().items()}
        return found.get_total_flops(), by_name

    assert counts(mindtorch) == counts(torch)


def test_the_table_has_modules_down_to_a_depth():
    with counter(mindtorch) as found:
        PROGRAMS["layers"](mindtorch)
        mindtorch.ones(100, 100) @ mindtorch.ones(100, 100)
    assert "Sequential " in found.get_table(1) and "Sequential.0" not in found.get_table(1)
    assert "Sequential.0" in found.get_table(2) and "Sequential.2.0" not in found.get_table(2)


def test_an_operator_of_ones_own_may_have_a_formula():
    def formula(shape, *args, out_shape=None, **kwargs):
        return 7 * shape[0]

    with counter(mindtorch, custom_mapping={mindtorch.ops.aten.add: formula}) as found:
        mindtorch.ones(3) + 1
    assert found.get_flop_counts() == {"Global": {mindtorch.ops.aten.add: 21}}
