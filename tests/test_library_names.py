"""Private names of PyTorch that libraries import, and what they do with them."""
from __future__ import annotations

import importlib

import pytest

import mindtorch as torch
from mindtorch.nn.utils._named_member_accessor import _MISSING, swap_tensor
from tests.support import torch as reference


def test_vmap_calls_the_functions_that_a_library_puts_into_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    source = importlib.import_module("mindtorch._functorch.vmap")
    seen = []
    plain = source._create_batched_inputs

    def create(dims: list[int | None], args: list[object], level: int, spec: object) -> object:
        seen.append((dims, level))
        return plain(dims, args, level, spec)

    monkeypatch.setattr(source, "_create_batched_inputs", create)
    assert torch.vmap(lambda x: x * 2, in_dims=1)(torch.ones(3, 4)).shape == (4, 3)
    assert seen == [([1], 1)]


def test_batches_are_made_and_undone_at_a_level() -> None:
    from mindtorch._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor, maybe_current_level

    outer = torch.arange(6.0).view(2, 3)

    def element(x: torch.Tensor) -> torch.Tensor:
        level = maybe_current_level()
        assert level is not None
        one = _add_batch_dim(outer, -2, level)
        assert is_batchedtensor(one) and one.shape == (3,)
        assert _remove_batch_dim(one, level, 2, 1).tolist() == outer.T.tolist()
        return x + one

    assert torch.vmap(element)(torch.ones(2)).tolist() == (outer + 1).tolist()


def test_tensors_of_a_module_are_swapped_by_name() -> None:
    net = torch.nn.BatchNorm1d(2)
    weight, new = net.weight, torch.zeros(2)
    assert swap_tensor(net, "weight", new) is weight and net.weight is new
    assert swap_tensor(net, "running_mean", _MISSING).tolist() == [0, 0] and "running_mean" not in net._buffers
    assert swap_tensor(net, "extra", new, allow_missing=True) is _MISSING and net.extra is new
    for error, name, value in ((AttributeError, "absent", new), (KeyError, "a.b", new), (KeyError, "", new),
                               (TypeError, "weight", 3)):
        with pytest.raises(error):
            swap_tensor(net, name, value)


def test_a_module_is_a_function_of_its_parameters() -> None:
    functorch = importlib.import_module("mindtorch.functorch")
    net = torch.nn.Linear(2, 1)
    function, params = functorch.make_functional(net, disable_autograd_tracking=True)
    assert not params[0].requires_grad and net.weight.requires_grad
    assert function.stateless_model.weight.is_meta and not net.weight.is_meta
    assert function([p * 2 for p in params], torch.ones(1, 2)).item() == pytest.approx(2 * net(torch.ones(1, 2)).item())
    norm = torch.nn.BatchNorm1d(2).eval()
    with pytest.raises(RuntimeError, match="has buffers"):
        functorch.make_functional(norm)
    tied = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    function, params = functorch.make_functional(tied)
    assert len(params) == 3 and function([p * 2 for p in params], torch.ones(3)).shape == (3,)
    function, params, buffers = functorch.make_functional_with_buffers(norm)
    assert function(params, buffers, torch.ones(1, 2)).shape == (1, 2) and len(buffers) == 3


def test_lists_of_tensors_are_one_vector_and_groups_of_a_size() -> None:
    utils = importlib.import_module("mindtorch._utils")
    tensors = [torch.arange(4.0).view(2, 2).t(), torch.ones(3), torch.zeros(())]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 2, 1, 3, 1, 1, 1, 0]
    parts = utils._unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(part, tensor) for part, tensor in zip(parts, tensors, strict=True))
    assert parts[0]._base is flat
    mixed = [torch.ones(4), torch.ones(2, dtype=torch.int64), torch.ones(4), torch.ones(9)]
    groups = [[tensor.numel() for tensor in group] for group in utils._take_tensors(mixed, 32)]
    assert groups == [[4, 4], [9], [2]]  # as PyTorch's
    taken = [tensor for group in utils._take_tensors(mixed, 32) for tensor in group]
    ordered = utils._reorder_tensors_as(taken, mixed)
    assert all(one is other for one, other in zip(ordered, mixed, strict=True))


def test_hooks_of_all_modules_and_the_key_of_extra_states_are_where_libraries_look_for_them() -> None:
    ours, theirs = (importlib.import_module(f"{lib.__name__}.nn.modules.module") for lib in (torch, reference))
    assert ours._EXTRA_STATE_KEY_SUFFIX == theirs._EXTRA_STATE_KEY_SUFFIX
    assert {name for name, value in vars(theirs).items() if isinstance(value, dict) and name.startswith("_global")} == {
        name for name in vars(ours) if name.startswith("_global")}
    with ours.register_module_parameter_registration_hook(lambda module, name, parameter: None):
        assert len(ours._global_parameter_registration_hooks) == 1
