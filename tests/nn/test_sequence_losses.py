"""Losses of sequences of labels and of linear layers: what the databases do not ask of them."""

from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import torch


def ctc(lib: Any, log_probs: np.ndarray, targets: np.ndarray, *rest: Any, **settings: Any) -> Any:
    x = lib.tensor(log_probs, requires_grad=True)
    loss = lib.nn.functional.ctc_loss(x, lib.tensor(targets), *rest, **settings)
    loss.sum().backward()
    return loss.detach().numpy(), x.grad.numpy()


LOGS = np.log(np.random.default_rng(0).dirichlet(np.ones(5), (7, 3)))


@pytest.mark.parametrize(("targets", "lengths", "sizes"), [
    (np.array([[1, 1, 2], [3, 0, 0], [4, 4, 4]]), (7, 5, 6), (3, 1, 3)),
    (np.array([1, 2, 2, 3]), (7, 4, 7), (2, 0, 2)),  # all one after the other, and an empty one
    (np.array([[1, 2, 3], [1, 1, 1], [2, 3, 2]]), (7, 2, 0), (3, 3, 0)),  # too long for its input; no input
], ids=["padded", "concatenated", "impossible"])
@pytest.mark.parametrize("settings", [{}, {"reduction": "sum", "zero_infinity": True}, {"reduction": "none"}],
                         ids=["mean", "sum", "none"])
def test_ctc_loss_of_sequences_of_several_lengths(targets: np.ndarray, lengths: Any, sizes: Any,
                                                  settings: Any) -> None:
    ours, theirs = (ctc(lib, LOGS, targets, lengths, sizes, **settings) for lib in (mindtorch, torch))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("lengths", "sizes", "blank"), [((7, 7), (3, 3, 3), 0), ((7, 7, 8), (3, 3, 3), 0),
                                                         ((7, 7, 7), (3, 3, 4), 0), ((7, 7, 7), (3, -1, 3), 0),
                                                         ((7, 7, 7), (3, 3, 3), 5)])
def test_ctc_loss_refuses_what_does_not_fit(lengths: Any, sizes: Any, blank: int) -> None:
    targets, messages = np.ones((3, 3), int), []
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError) as caught:
            lib.nn.functional.ctc_loss(lib.tensor(LOGS), lib.tensor(targets), lengths, sizes, blank)
        messages.append(str(caught.value).partition("\n")[0])
    assert messages[0] == messages[1]


def test_a_label_that_there_is_not_is_refused() -> None:
    with pytest.raises(RuntimeError, match="from 0 to 4"):
        mindtorch.nn.functional.ctc_loss(mindtorch.tensor(LOGS), mindtorch.full((3, 2), 5), (7, 7, 7), (2, 2, 2))


def test_logits_in_chunks_give_the_gradients_of_all_at_once() -> None:
    functional, options = mindtorch.nn.functional, mindtorch.nn.LinearCrossEntropyOptions(batch_chunk_size=3)
    mindtorch.manual_seed(0)
    tensors = [mindtorch.randn(*size, dtype=mindtorch.float64, requires_grad=True) for size in ((7, 4), (5, 4), (5,))]
    target = mindtorch.tensor([0, 4, -100, 2, 2, 1, 3])
    results = []
    for chosen in (None, options):
        loss = functional.linear_cross_entropy(*tensors[:2], target, linear_bias=tensors[2], options=chosen)
        results.append([loss, *mindtorch.autograd.grad(loss, tensors)])
    for whole, chunked in zip(*results, strict=True):
        np.testing.assert_allclose(chunked.detach().numpy(), whole.detach().numpy(), rtol=1e-12)


def test_options_that_contradict_each_other() -> None:
    options = mindtorch.nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method="aspect_ratio")
    with pytest.raises(ValueError, match="give different chunk sizes"):
        mindtorch.nn.functional.linear_cross_entropy(mindtorch.ones(8, 2), mindtorch.ones(8, 2),
                                                     mindtorch.zeros(8, dtype=mindtorch.int64), options=options)
