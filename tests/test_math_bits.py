"""Conjugation and negation that are put off: views of the same memory, with a key that says so."""
from __future__ import annotations

import copy
import io
import pickle

import pytest

import mindtorch
from mindtorch.utils._python_dispatch import TorchDispatchMode
from tests.support import torch

VALUES = [[1 + 2j, 3 - 4j], [5j, 1 + 1j]]


def outcome(program, lib):
    """Describe the result of a program in one of the libraries, in words that are the same in both."""
    try:
        return str(program(lib.tensor(VALUES), lib)).replace("mindtorch", "torch")
    except Exception as error:
        return type(error).__name__, str(error)


READS = {
    "the view": lambda x, t: (x.conj(), x.conj().is_conj(), x.conj()._base is x, x.conj().data_ptr() == x.data_ptr()),
    "twice": lambda x, t: (x.conj().conj(), x.conj().conj().is_conj(), x.conj().conj()._base is x),
    "of real numbers": lambda x, t: (r := x.real.clone(), r.conj() is r),
    "parts": lambda x, t: (x.conj().real, x.conj().imag, x.conj().imag.is_neg(), x.conj().real.is_neg()),
    "parts of the negative": lambda x, t: (t._neg_view(x).imag, t._neg_view(x).imag.is_neg(), t._neg_view(x).is_neg()),
    "views of it": lambda x, t: (x.mH, x.mH.stride(), x.mH.is_conj(), x.conj()[0].is_conj(), x.H[1:].is_conj()),
    "unfolded": lambda x, t: (x.conj().flatten().is_conj(), x.mH.flatten().is_conj(), x.mH.flatten()),
    "arithmetic": lambda x, t: (x.conj() + x, x.conj() * 2, x.mH @ x, t.dot(x[0].conj(), x[1]), x.conj().sum(0)),
    "a list": lambda x, t: (t.cat([x, x.conj()]), t.stack([x.conj().imag, x.imag])),
    "choices": lambda x, t: (t.where(x.real > 0, x.conj(), x), x.conj()[x.real > 0], x.conj()[[1]], x.conj() == x),
    "copies": lambda x, t: (x.mH.clone(), x.mH.clone().stride(), x.mH.contiguous().is_conj(),
                            x.mH.clone(memory_format=t.contiguous_format).stride(), x.conj().to(t.complex128)),
    "resolving": lambda x, t: (x.conj().resolve_conj(), x.conj().imag.resolve_neg(), x.resolve_conj() is x,
                               x.conj().imag.resolve_neg().is_neg()),
    "numbers": lambda x, t: (x.conj().tolist(), x.conj()[0, 1].item(), complex(x.mH[1, 0]), x.conj().imag.max()),
    "other tensors like it": lambda x, t: [made.is_conj() for made in (
        t.zeros_like(x.conj()), x.conj().new_ones(2), t.empty_like(x.conj()), t.tensor(x.conj()), x.conj().detach(),
        t.as_tensor(x.conj()), x.conj().data, x.conj().to("meta"), x.to("meta").conj())],
    "linear algebra": lambda x, t: (t.linalg.solve(x.mH, x), t.linalg.svdvals(x.mH), t.fft.fft(x.conj())),
    "NumPy": lambda x, t: x.conj().numpy(),
    "NumPy of the negative": lambda x, t: x.conj().imag.numpy(),
    "NumPy by force": lambda x, t: (x.conj().numpy(force=True), x.conj().imag.numpy(force=True)),
    "as real numbers": lambda x, t: t.view_as_real(x.conj()),
    "as another dtype": lambda x, t: x.conj().view(t.float32),
    "the negative as another dtype": lambda x, t: x.conj().imag.view(t.int32),
    "DLPack": lambda x, t: x.conj().__dlpack__(),
    "the same layout": lambda x, t: (x.conj().is_set_to(x), x.is_set_to(x)),
    "key sets": lambda x, t: (t._C._dispatch_keys(x.conj()), t._C._dispatch_keys(x.conj().imag)),
    "pickled": lambda x, t: [(y, y.is_conj(), y.is_neg()) for y in map(pickle.loads, map(
        pickle.dumps, (x.conj(), x.conj().imag)))],
    "copied": lambda x, t: (copy.deepcopy(x.conj()), copy.deepcopy(x.conj()).is_conj(), copy.copy(x.mH)),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_is_conjugated(name) -> None:
    assert outcome(READS[name], mindtorch) == outcome(READS[name], torch)


def written(change):
    """Make a program that changes a view, and shows both it and the memory under it."""

    def program(x, t):
        view = change(x, t)
        return x, view, x._version, view.is_conj(), view.is_neg()

    return program


@pytest.mark.parametrize("change", [
    lambda x, t: x.conj().mul_(2j), lambda x, t: x.mH.zero_().add_(1j), lambda x, t: x.conj().imag.fill_(3),
    lambda x, t: x.conj().copy_(x + 1j), lambda x, t: x.conj().imag.copy_(t.ones(2)), lambda x, t: x.conj().imag.abs_(),
    lambda x, t: t.add(x, 1, out=x.mH), lambda x, t: x.conj().index_fill_(0, t.tensor([1]), 7j),
    lambda x, t: x.copy_(x.clone().conj()), lambda x, t: x.conj().unsqueeze_(0),
])
def test_a_write_goes_through_to_the_memory(change) -> None:
    assert outcome(written(change), mindtorch) == outcome(written(change), torch)


def test_items_are_written_through() -> None:
    def program(x, t):
        view = x.conj()
        view[0], view.imag[1] = 2j, 9
        return x, view

    assert outcome(program, mindtorch) == outcome(program, torch)


def gradients(x, t, change):
    x.requires_grad_()
    base = x * 1
    out = change(base, t)
    (out.abs() ** 2).sum().backward()
    return base, out, x.grad


@pytest.mark.parametrize("change", [
    lambda x, t: x.conj(), lambda x, t: x.mH @ x, lambda x, t: x.conj().imag, lambda x, t: x.conj().mul_(2j),
    lambda x, t: x.conj().imag.mul_(3), lambda x, t: (x.conj().mul_(2j), x)[1], lambda x, t: t._neg_view(x) * x,
    lambda x, t: (x.conj()[0].add_(5), x)[1],
])
def test_derivatives_go_through(change) -> None:
    assert (outcome(lambda x, t: gradients(x, t, change), mindtorch)
            == outcome(lambda x, t: gradients(x, t, change), torch))


def test_the_second_derivative_is_right() -> None:
    x = mindtorch.tensor(VALUES, dtype=mindtorch.complex128, requires_grad=True)
    assert mindtorch.autograd.gradcheck(lambda v: v.conj().imag * 2, (x,))
    assert mindtorch.autograd.gradgradcheck(lambda v: v.mH @ v.conj().exp(), (x,))


def shown(lib, mode_type, program):
    seen = []

    class Shown(mode_type):  # type: ignore[valid-type]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), [a.is_conj() for a in args if isinstance(a, lib.Tensor)]))
            return func(*args, **(kwargs or {}))

    x = lib.tensor(VALUES)
    with Shown():
        program(x, lib)
    return seen


@pytest.mark.parametrize("program", [
    lambda x, t: x.conj() + 1, lambda x, t: x.conj().mul_(2), lambda x, t: x.mH @ x, lambda x, t: x.copy_(x.conj()),
    lambda x, t: x.conj().imag.add(1), lambda x, t: t.add(x, 1, out=x.conj()), lambda x, t: x.conj().resolve_conj(),
    lambda x, t: t.vdot(x[0].conj(), x[1]), lambda x, t: x.conj().clone(),
])
def test_a_mode_sees_when_it_is_done(program) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode as theirs

    assert shown(mindtorch, TorchDispatchMode, program) == shown(torch, theirs, program)


@pytest.mark.parametrize("name", ["arithmetic", "parts", "copies", "numbers", "choices"])
def test_an_npu_has_the_keys_too(name) -> None:
    def program(x, t):
        return READS[name](x.to("npu"), t)

    assert outcome(program, mindtorch).replace(", device='npu:0'", "") == outcome(READS[name], torch)


def test_a_write_on_an_npu_goes_through() -> None:
    x = mindtorch.tensor(VALUES).to("npu")
    x.conj().imag.fill_(7)
    assert x.cpu().imag.tolist() == [[-7.0, -7.0], [-7.0, -7.0]]


def test_a_pipeline_keeps_the_order_of_views_and_writes() -> None:
    x = mindtorch.tensor(VALUES)
    with mindtorch.pipeline():
        y = x * 2
        view = y.conj()
        before = view + 1
        view.mul_(2)
        part = view.imag
    assert before.tolist() == (x.conj() * 2 + 1).tolist() and y.tolist() == (x * 4).tolist()
    assert part.is_neg() and part.tolist() == (x * -4).imag.tolist()


def test_files_keep_what_is_put_off_and_share_memory() -> None:
    for ours, theirs in ((mindtorch, torch), (torch, mindtorch)):
        x, file = ours.tensor(VALUES), io.BytesIO()
        ours.save({"x": x, "view": x.conj()}, file)
        file.seek(0)
        back = theirs.load(file)
        assert back["view"].is_conj() and back["view"].tolist() == x.conj().tolist()
        back["x"].zero_()
        assert back["view"].tolist() == [[0, 0], [0, 0]]


def test_vmap_conjugates_the_whole_batch() -> None:
    x = mindtorch.tensor(VALUES)
    assert mindtorch.func.vmap(lambda row: row.conj().imag * 2)(x).tolist() == (x.conj().imag * 2).tolist()


def test_a_process_gets_the_values() -> None:
    from mindtorch.multiprocessing.reductions import reduce_tensor

    rebuild, parts = reduce_tensor(mindtorch.tensor(VALUES).conj())
    assert rebuild(*parts).tolist() == mindtorch.tensor(VALUES).conj().tolist()


def test_a_trace_names_the_key() -> None:
    with mindtorch.observe() as events:
        mindtorch.tensor(VALUES).conj() + 1
    assert [(event.op, event.path) for event in events][-1] == ("add.Tensor", ("Conjugate", "CPU"))


def test_a_class_that_is_not_asked_while_its_method_runs_is_conjugated_below() -> None:
    for lib in (mindtorch, torch):
        class Passing(lib.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None, lib=lib):
                guard = lib._C._DisableTorchDispatch()
                result = func(*args, **(kwargs or {}))
                del guard
                return result

        view = lib.Tensor._make_subclass(Passing, lib.tensor(VALUES)).conj()
        assert view.exp().tolist() == lib.tensor(VALUES).conj().resolve_conj().exp().tolist()
        assert view.clone().tolist() == lib.tensor(VALUES).conj().tolist()
