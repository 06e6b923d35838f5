"""Sparse gradients: where they arise, what optimizers do with them, and sparse tensors in files and copies."""
from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch

from .test_sparse import Program, coo, outcome, programs, torch


def looked_up(**options: Any) -> Program:
    def program(t: Any) -> Any:
        table = t.nn.Embedding.from_pretrained(t.arange(12.).view(6, 2), freeze=False, sparse=True, **options)
        (table(t.tensor([[1, 2, 0], [2, 3, 1]])) ** 2).sum().backward()
        return [table.weight.grad, table.weight.grad.coalesce()]

    return program


def bagged(mode: str, weighted: bool = False) -> Program:
    def program(t: Any) -> Any:
        table = t.nn.EmbeddingBag.from_pretrained(t.arange(12.).view(6, 2), freeze=False, sparse=True, mode=mode)
        weights = t.arange(5.) if weighted else None
        (table(t.tensor([1, 2, 4, 5, 4]), t.tensor([0, 2]), weights) ** 2).sum().backward()
        return table.weight.grad.coalesce()

    return program


@programs(looked_up(), looked_up(padding_idx=2), looked_up(scale_grad_by_freq=True), bagged("sum"), bagged("mean"),
          bagged("sum", weighted=True))
def test_rows_of_a_table_have_the_gradient(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


def together(t: Any, dense_first: bool) -> Any:
    weight = t.ones(3, 2, requires_grad=True)
    steps = [weight.sum, lambda: t.nn.functional.embedding(t.tensor([1]), weight, sparse=True).sum()]
    for step in steps if dense_first else steps[::-1]:
        step().backward()
    return weight.grad


@programs(lambda t: together(t, True), lambda t: together(t, False))
def test_sparse_and_dense_gradients_add_up(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


def trained(name: str, **settings: Any) -> Program:
    def program(t: Any) -> Any:
        table = t.nn.Embedding.from_pretrained(t.arange(12.).view(6, 2) / 8, freeze=False, sparse=True)
        optimizer = getattr(t.optim, name)(table.parameters(), **settings)
        for rows in ([1, 2, 0], [2, 3, 1], [5, 5, 2]):
            optimizer.zero_grad()
            (table(t.tensor(rows)) ** 2).sum().backward()
            optimizer.step()
        return [round(number, 5) for row in table.weight.tolist() for number in row]

    return program


@programs(trained("SGD", lr=0.1), trained("SGD", lr=0.1, momentum=0.9), trained("Adagrad", lr=0.1),
          trained("Adagrad", lr=0.1, maximize=True), trained("SparseAdam", lr=0.1), trained("Adam"), trained("RMSprop"),
          trained("SparseAdam", maximize=True, betas=(0.5, 0.9)))
def test_optimizers_change_the_rows(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


MATRICES: list[Callable[[Any], Any]] = [
    coo, lambda t: coo(t).coalesce(), lambda t: coo(t).to_sparse_csr(), lambda t: coo(t).to_sparse_csc(),
    lambda t: t.eye(4).to_sparse_bsr((2, 2)), lambda t: t.nn.Parameter(coo(t)),
]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(("saving", "loading"), [(mindtorch, torch), (torch, mindtorch)])
def test_files_hold_sparse_tensors(matrix: Callable[[Any], Any], saving: Any, loading: Any) -> None:
    file = io.BytesIO()
    saving.save({"matrix": matrix(saving)}, file)
    file.seek(0)
    assert outcome(lambda t: t.load(file)["matrix"], loading) == outcome(matrix, loading)


@pytest.mark.parametrize("matrix", MATRICES)
def test_copies_share_nothing(matrix: Callable[[Any], Any]) -> None:
    original = matrix(mindtorch)
    copied = copy.deepcopy(original)
    assert outcome(lambda t: copied, mindtorch) == outcome(lambda t: original, mindtorch)
    assert type(copied) is type(original) and copied._sparse.values.data_ptr() != original._sparse.values.data_ptr()
