"""The card of a sparse tensor: the pattern of its values, and the tensors that it consists of."""
from __future__ import annotations

import re

import numpy as np
import pytest

import mindtorch
from mindtorch.introspect.sparse import MOST, sparse_facts
from mindtorch.viz import tensor_card

from .test_sparse import blocks, coo


def test_the_card_has_the_pattern_and_the_parts() -> None:
    card = tensor_card(coo(mindtorch))
    assert "5 of 20 stored (0.25 of all) · not coalesced · 100 B in all parts" in card.plain
    assert "indices() [2, 5]" in card.plain and "values() [5]" in card.plain and "3.0000" in card.plain
    marks = re.findall(r"<rect [^>]*><title>([^<]*)", card)
    assert marks == ["[0, 2]: 1 value", "[1, 0]: 2 values", "[1, 4]: 1 value", "[3, 1]: 1 value"]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_the_picture_is_that_of_the_dense_tensor(layout: str) -> None:
    dense = blocks(mindtorch) + 1.0 * (blocks(mindtorch) > 0)
    blocksize = (2, 2) if "bs" in layout else None
    facts = sparse_facts(dense.to_sparse(layout=getattr(mindtorch, layout), blocksize=blocksize))
    stored = dense.numpy() != 0
    if blocksize:  # whole blocks are stored
        stored = np.kron(stored.reshape(2, 2, 3, 2).any((1, 3)), np.ones((2, 2), bool))
    assert facts.counts is not None
    assert (facts.counts > 0).tolist() == stored.tolist() and facts.size == (4, 6)
    assert [name for name, _ in facts.parts][-1] == "values"


def test_a_large_matrix_is_counted_in_cells() -> None:
    facts = sparse_facts(mindtorch.eye(1000, 500).to_sparse())
    assert facts.counts.shape == (MOST, MOST) and facts.counts.sum() == facts.nnz == 500


def test_what_has_no_values_has_a_card() -> None:
    empty, scalar = mindtorch.sparse_coo_tensor((0, 3)), mindtorch.tensor(2.).to_sparse()
    for tensor in (empty, scalar, coo(mindtorch, device="meta")):
        assert "values()" in tensor_card(tensor).plain and 'class="mt-spy"' not in tensor_card(tensor)
