"""Views are PyTorch's: geometry, aliasing, versions, graph nodes, gradients, and what may be written in place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch
from tests.support import Outcome, array, assert_same, error_differences, is_tensor, port, tensors_in, torch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
Call = Callable[..., Any]
LIBRARIES = (mindtorch, torch)


def tensor_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(int(np.prod(shape))) - 3).reshape(shape).to(dtype)


def both(call: Call, *inputs: torch.Tensor) -> tuple[Outcome, Outcome]:
    """Return the call's outcomes in the two libraries, which agree in value, geometry, aliasing, and exception."""
    ours = [port(x, mindtorch) for x in inputs]
    got, expected = Outcome.of(call, mindtorch, *ours), Outcome.of(call, torch, *inputs)
    assert not (found := list(error_differences(got, expected))), found
    if expected.error is None and tensors_in(expected.value):
        assert_same(got.value, expected.value, alias=(ours, list(inputs)))
    elif expected.error is None:
        assert got.value == expected.value
    return got, expected


def table(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


# -- geometry and aliasing -----------------------------------------------------------------------------------

#: A call of each view on a tensor of shape (2, 3, 4).
VIEWS: dict[str, Call] = {
    "view": lambda t, x: x.view(4, -1),
    "view.dtype": lambda t, x: (x.view(t.int32), x.view(t.float64), x.view(t.int16)),
    "view_as": lambda t, x: x.view_as(t.zeros(6, 4)),
    "reshape": lambda t, x: (x.reshape(24), x.transpose(0, 1).reshape(6, 4), x[:, :, :2].reshape(3, -1)),
    "as_strided": lambda t, x: (x.as_strided((2, 2), (3, 1), 5), x[1].as_strided((2,), (0,))),
    "transpose": lambda t, x: (x.transpose(0, -1), x.swapaxes(0, 1), x.swapdims(1, 2), x.mT, x[0].T, x[0].t()),
    "permute": lambda t, x: (x.permute(2, 0, 1), x.movedim(0, 2), x.moveaxis((0, 1), (1, 0))),
    "expand": lambda t, x: (x[:, :1].expand(2, 5, 4), x.expand(7, -1, 3, 4), t.ones(()).expand(2, 1)),
    "broadcast": lambda t, x: (x.broadcast_to(2, 2, 3, 4), t.broadcast_tensors(x, t.zeros(5, 1, 1, 1))),
    "unsqueeze": lambda t, x: (x.unsqueeze(0), x.unsqueeze(1), x.unsqueeze(-1)),
    "squeeze": lambda t, x: (x[:1].squeeze(), x[:1].squeeze(0), x[:1, :1].squeeze((0, 1)), x.squeeze(0)),
    "flatten": lambda t, x: (x.flatten(), x.flatten(1), x.unflatten(2, (2, -1)), x.ravel(), x[0, 0].flatten()),
    "narrow": lambda t, x: (x.narrow(2, 1, 2), x.narrow(-1, -2, 1), x.narrow(0, t.tensor(1), 1)),
    "select": lambda t, x: (x.select(1, -1), x.select(0, 1)),
    "diagonal": lambda t, x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-5), t.linalg.diagonal(x)),
    "unfold": lambda t, x: (x.unfold(2, 2, 1), x.unfold(0, 0, 2), t.ones(()).unfold(0, 1, 1)),
    "split": lambda t, x: (x.split(2, 1), x.split([1, 3], 2), x.chunk(3, 2), x.unbind(1)),
    "tensor_split": lambda t, x: (x.tensor_split(2, 1), x.tensor_split((1, 2), 2), x.hsplit(3), x.vsplit(2),
                                  x.dsplit([1]), x.tensor_split(t.tensor([1, 2]), 2)),
    "alias": lambda t, x: (x.detach(), x.data, x.contiguous(), x.real),
    "atleast": lambda t, x: (t.atleast_3d(x[0]), t.atleast_1d(x, t.ones(())), t.atleast_2d([x[0, 0]])),
}


@table(VIEWS)
def test_views_have_pytorchs_geometry_and_share_memory(case: Call) -> None:
    both(case, tensor_of((2, 3, 4)))


def test_views_of_complex_numbers_are_their_parts() -> None:
    x = tensor_of((2, 3), torch.complex64) * (1 - 2j)
    both(lambda t, x: (x.real, x.imag, t.view_as_real(x), t.view_as_complex(t.view_as_real(x)[1:]), x.T.imag), x)


def test_assigning_parts_writes_into_the_complex_numbers() -> None:
    def assign(t: Any, x: Any) -> Any:
        x.real = t.ones(2)
        x.imag = x.real * 3
        return x

    both(assign, tensor_of((2,), torch.complex64))


@table(
    {name: name for name in ("select", "slice", "squeeze", "unsqueeze", "t", "permute", "expand", "diagonal", "view")}
)
def test_copies_of_views_are_contiguous_and_apart(case: str) -> None:
    args = {"select": (0, 1), "slice": (0, 1, 3), "squeeze": (0,), "unsqueeze": (1,), "t": (), "permute": ((1, 0),),
            "expand": ((2, 3, 4),), "diagonal": (1,), "view": ((2, 6),)}[case]
    both(lambda t, x: getattr(t, f"{case}_copy")(x, *args), tensor_of((4, 3)).t())


SCATTERS: dict[str, Call] = {
    "select": lambda t, x, y: x.select_scatter(y[0], 0, 1),
    "slice": lambda t, x, y: x.slice_scatter(y[:, :2], 1, 0, None, 2),
    "diagonal": lambda t, x, y: x.diagonal_scatter(y[0, :3], 1),
    "as_strided": lambda t, x, y: x.as_strided_scatter(y[0, :2], (2,), (3,), 1),
}


@table(SCATTERS)
def test_scatters_write_into_a_copy(case: Call) -> None:
    both(case, tensor_of((3, 4)), tensor_of((3, 4)) * 2)


# -- the graph -----------------------------------------------------------------------------------------------

NODES: dict[str, Call] = {
    "view": lambda t, x: x.view(12), "reshape": lambda t, x: x.t().reshape(2, 6),
    "copied": lambda t, x: x.t().reshape(12), "reshape_alias": lambda t, x: x[:, :2].reshape(3, 2, 1),
    "expand": lambda t, x: x.expand(2, 3, 4),
    "as_strided": lambda t, x: x.as_strided((2,), (1,)), "t": lambda t, x: x.t(), "T": lambda t, x: x.T,
    "mT": lambda t, x: x.mT, "squeeze": lambda t, x: x.squeeze(), "squeeze.dim": lambda t, x: x.squeeze(0),
    "squeeze.dims": lambda t, x: x.squeeze((0, 1)), "narrow": lambda t, x: x.narrow(0, 0, 1),
    "select": lambda t, x: x[1], "slice": lambda t, x: x[1:], "whole": lambda t, x: x[:], "all": lambda t, x: x[:, :],
    "new": lambda t, x: x[None], "dots": lambda t, x: x[..., 0], "alias": lambda t, x: x[...],
    "split": lambda t, x: x.split(2)[0], "sizes": lambda t, x: x.split([1, 2])[1], "unbind": lambda t, x: x.unbind()[2],
    "chunk": lambda t, x: x.chunk(2)[1], "tensor_split": lambda t, x: x.tensor_split(2)[1],
    "select_copy": lambda t, x: t.select_copy(x, 0, 1), "diag": lambda t, x: x.diag(),
    "in-place squeeze": lambda t, x: (x[:1] * 1).squeeze_(0), "in-place t": lambda t, x: (x * 1).t_(),
    "in-place transpose": lambda t, x: (x * 1).swapaxes_(0, 1),
    "in-place unsqueeze": lambda t, x: (x * 1).unsqueeze_(0),
    "fill": lambda t, x: (x * 1).fill_(2), "fill with a tensor": lambda t, x: (x * 1).fill_(t.tensor(2.0)),
    "zero": lambda t, x: (x * 1).zero_(), "copy": lambda t, x: (x * 1).copy_(t.ones(3, 4)),
}


@table(NODES)
def test_nodes_have_pytorchs_names_and_neighbours(case: Call) -> None:
    def graph(t: Any) -> list[Any]:
        out = case(t, t.ones(3, 4, requires_grad=True))
        return [out.grad_fn.name(), *(node and node.name() for node, _ in out.grad_fn.next_functions)]

    assert graph(mindtorch) == graph(torch)


GRADIENTS: dict[str, Call] = {
    "repeated elements": lambda t, x: x.as_strided((4, 3), (1, 1), 1),
    "expanded dimensions": lambda t, x: x.as_strided((2, 2, 2), (0, 3, 1)),
    "of an expanded input": lambda t, x: x[:1].expand(3, 4).as_strided((2, 2), (0, 1), 1),
    "of a transposed input": lambda t, x: x.t().as_strided((3, 2), (1, 4), 2),
    "windows": lambda t, x: x.unfold(1, 3, 1),
    "diagonal": lambda t, x: x.diagonal(-1),
    "pieces": lambda t, x: x.split(2, 1)[1],
    "rows": lambda t, x: x.unbind(0)[1],
    "parts": lambda t, x: t.view_as_complex(x.view(3, 2, 2)).imag,
    "broadcast": lambda t, x: x[:1].expand(5, 4),
}


@table(GRADIENTS)
def test_gradients_of_views_are_pytorchs(case: Call) -> None:
    def gradients(t: Any) -> Any:
        x = t.arange(12.0).view(3, 4).requires_grad_()
        out = case(t, x)
        weights = t.arange(float(out.numel())).view(out.shape)
        (first,) = t.autograd.grad(out, [x], weights, create_graph=True)
        return first, out

    assert_same(gradients(mindtorch), gradients(torch))


def test_a_write_through_a_view_is_part_of_its_bases_history() -> None:
    def program(t: Any) -> Any:
        x = t.ones(4, requires_grad=True)
        base = x * 2
        view, other = base[1:3], base[::2]
        view.mul_(t.tensor([3.0, 5.0]))
        names = [y.grad_fn.name() for y in (base, view, other)]
        (base * t.arange(4.0)).sum().backward()
        return names, base._version, view._version, view._base is base, x.grad

    ours, theirs = map(program, LIBRARIES)
    assert ours[:-1] == theirs[:-1]
    assert_same(ours[-1], theirs[-1])


def test_views_of_real_and_imaginary_parts_follow_writes_to_the_base() -> None:
    def program(t: Any) -> Any:
        x = t.ones(3, dtype=t.complex64, requires_grad=True)
        base = x * (1 + 2j)
        part = base.imag
        part.mul_(2)
        names = [base.grad_fn.name(), part.grad_fn.name(), part.grad_fn.next_functions[0][0].name()]
        (part * t.arange(3.0)).sum().backward()
        return names, x.grad

    ours, theirs = map(program, LIBRARIES)
    assert ours[0] == theirs[0]
    assert_same(ours[1], theirs[1])


# -- what may not be written ---------------------------------------------------------------------------------

def stale(t: Any) -> Any:
    x = t.ones(3, requires_grad=True)
    with t.no_grad():
        view = x[:2]
        x.mul_(2)
    return view


#: Programs that PyTorch refuses to run, with the same words.
REFUSED: dict[str, Call] = {
    "one of several views": lambda t: (t.ones(4, requires_grad=True) * 1).split(2)[0].mul_(2),
    "a row": lambda t: (t.ones(4, 2, requires_grad=True) * 1).unbind()[1].zero_(),
    "a view made without grad mode": lambda t: stale(t).mul_(2),
    "the graph of a view made without grad mode": lambda t: stale(t).grad_fn,
    "a view of a leaf": lambda t: t.ones(3, requires_grad=True)[:2].mul_(2),
    "a leaf": lambda t: t.ones(3, requires_grad=True).mul_(2),
    "detach_ of a view": lambda t: t.ones(3)[:2].detach_(),
    "resize_ of what requires grad": lambda t: t.ones(3, requires_grad=True).resize_(2),
    "set_ of another dtype": lambda t: t.ones(3).set_(t.ones(3, dtype=t.int64)),
}


@table(REFUSED)
def test_forbidden_writes_raise_pytorchs_error(case: Call) -> None:
    ours, theirs = (Outcome.of(case, t) for t in LIBRARIES)
    assert ours.kind() == theirs.kind() == "RuntimeError"
    words = set(str(theirs.error).split()) & {"leaf", "multiple", "no_grad", "views", "Output", "resize", "modified"}
    assert words <= set(str(ours.error).split()), str(ours.error)


#: Writes to memory that is read meanwhile, or written twice: `a` is (3, 4), `e` an expanded row, `i` indices.
OVERLAPS = [
    "a[i] = a[1:2]", "a[a > 3] = a[0, 0]", "a[0] = a[1]", "a[0:2] = a[1:3]", "a[0] = a[0, 1:2]", "e[0] = 1",
    "e[0:2] = 1", "e.fill_(1)", "e.zero_()", "e.fill_(t.tensor(1.0))", "e.copy_(e)", "e.copy_(a)", "e[i] = 1",
    "e[e == 0] = 1",
    "e.index_fill_(0, i, 1)", "e.index_add_(0, i, a[:2])", "e.scatter_(0, i[:, None], 1)", "e.put_(i, a[0, :2])",
    "e.masked_scatter_(e == 0, a)", "e.masked_fill_(e == 0, 1)", "e.add_(1)", "e.t_()", "e.tril_()", "e.clamp_(0, 1)",
    "a.index_copy_(0, i, a[:2])", "a.view(2, 6).copy_(a.view(6, 2).t())", "a.copy_(a[0])",
    "a[0:2].add_(a[0])", "a.fill_(a[0, 1])", "a[0].copy_(a[0, 0])", "a.t()[0] = a[:, 0]",
]


@pytest.mark.parametrize("statement", OVERLAPS)
def test_overlapping_writes_are_refused_or_done_as_in_pytorch(statement: str) -> None:
    outcomes = []
    for t in LIBRARIES:
        a = t.arange(12.0).view(3, 4)
        names = {"t": t, "a": a, "e": t.zeros(1, 4).expand(3, 4), "i": t.tensor([0, 1])}
        outcomes.append((Outcome.of(exec, statement, names), a, names["e"]))
    (ours, *our_tensors), (theirs, *their_tensors) = outcomes
    assert ours.kind() == theirs.kind(), ours.error
    assert_same(our_tensors, their_tensors)


#: Views that cannot be; `x` is (3, 4, 5), `z` has no dimensions.
IMPOSSIBLE = [
    "x.view(7)", "x.view(-1, -1)", "x.view(-2, 3)", "x.transpose(0, 1).view(60)", "x.view(t.float64)",
    "z.view(t.int16)", "x.permute(0, 1)", "x.permute(0, 1, 1)", "x.transpose(0, 4)", "x.expand(2, 3)",
    "x.expand(3, 4, 6)", "z.expand(-1)", "x.as_strided((2,), (1, 2))", "x.as_strided((2,), (-1,))",
    "x.as_strided((200,), (1,))", "x.as_strided((2,), (1,), -1)",
    "x.unsqueeze(4)", "x.squeeze((0, 0))", "x.t()", "z.select(0, 0)", "x.select(0, 3)", "x.diagonal(0, 0, 0)",
    "x.unfold(0, 5, 1)", "x.unfold(0, 2, 0)", "x.split(0)", "x.split(-1)", "x.split([1, 1])", "z.unbind()",
    "z.chunk(1)", "x.chunk(0)", "x.tensor_split(0)", "x.hsplit(3)", "z.hsplit(1)", "x.narrow(0, 4, 1)",
    "x.narrow(0, 1, 5)", "x.narrow(0, 1, -1)", "x.flatten(2, 1)", "x.unflatten(0, (2, 2))", "x.unflatten(0, ())",
    "x.movedim((0, 0), (1, 2))",
    "t.view_as_real(x)", "t.view_as_complex(x)", "x.imag", "x[0, 0].mT", "x.H", "t.broadcast_tensors(x, t.zeros(2))",
    "t.broadcast_shapes((2, 3), (4,))", "t.atleast_1d(3)", "x.select_scatter(x, 0, 0)",
]


@pytest.mark.parametrize("expression", IMPOSSIBLE)
def test_impossible_views_raise_pytorchs_exception(expression: str) -> None:
    kinds = []
    for t in LIBRARIES:
        names = {"t": t, "x": t.zeros(3, 4, 5), "z": t.zeros(())}
        kinds.append(Outcome.of(eval, expression, names).kind())
    assert kinds[0] == kinds[1] != "no error"


@pytest.mark.parametrize("size", [(2, 3), (5,), (3, 4, 6), (-1, 3, 4, 5), (3, -2, 5), (0, 4, 5)])
def test_a_size_to_which_a_tensor_cannot_be_expanded_is_told_in_pytorchs_words(size: tuple[int, ...]) -> None:
    ours, theirs = (str(Outcome.of(t.zeros(3, 4, 5).expand, *size).error) for t in LIBRARIES)
    assert ours.replace("mindtorch", "torch") == theirs != "None"


# -- the memory under a tensor -------------------------------------------------------------------------------

MEMORY: dict[str, Call] = {
    "resize_ within the storage": lambda t, x: (x.resize_(2, 2), x._version),
    "resize_ to the same shape": lambda t, x: (x.resize_(3, 4), x._version),
    "resize_ of a view": lambda t, x: (x[1:].resize_(2, 3), x._version),
    "resize_ in a memory format": lambda t, x: x.resize_(1, 2, 3, 2, memory_format=t.channels_last),
    "resize_as_": lambda t, x: x.resize_as_(t.zeros(4, 2)),
    "set_ of nothing": lambda t, x: (x.set_(), x._version),
    "set_ of a tensor": lambda t, x: (x.set_(t.ones(5)[1:]), x._version),
    "set_ of a storage": lambda t, x: x.set_(t.ones(6).untyped_storage()),
    "set_ of a layout": lambda t, x: x.set_(t.ones(8).untyped_storage(), 1, (2, 3), (1, 2)),
    "as_strided_": lambda t, x: (x.as_strided_((2, 2), (1, 3), 2), x._version),
    "transpose_": lambda t, x: (x.transpose_(0, 1), x._version),
}


@table(MEMORY)
def test_changes_of_layout_in_place(case: Call) -> None:
    outcomes = [case(t, t.arange(12.0).view(3, 4)) for t in LIBRARIES]
    ours, theirs = (o if isinstance(o, tuple) else (o,) for o in outcomes)
    assert_same(ours[0], theirs[0])
    assert ours[1:] == theirs[1:]


def test_images_without_elements_or_of_one_row_have_pytorchs_strides() -> None:
    """Where sizes of 0 and 1 leave open what the order is: copies in a format, and sums of all pairs of layouts."""
    def layouts(lib: Any, shape: tuple[int, ...]) -> list[Any]:
        n, c, h, w = shape
        return [lib.zeros(shape), lib.zeros(shape).contiguous(memory_format=lib.channels_last),
                lib.zeros(shape[::-1]).permute(3, 2, 1, 0), lib.zeros((n, h, w, c)).permute(0, 3, 1, 2),
                lib.zeros((n + 1, c + 1, h + 1, w + 1))[:n, :c, :h, :w]]

    def strides(lib: Any) -> list[Any]:
        found = []
        for shape in itertools.product((0, 1, 3), repeat=4):
            made = layouts(lib, shape)
            found += [(x.stride(), lib.empty_like(x).stride(), x.relu().stride(),
                       x.is_contiguous(memory_format=lib.channels_last)) for x in made]
            found += [(shape, x.stride(), y.stride(), (x + y).stride()) for x in made for y in made]
        return found

    assert strides(mindtorch) == strides(torch)


def test_a_grown_storage_is_seen_by_all_views() -> None:
    x = mindtorch.arange(4.0)
    view = x[2:]
    x.resize_(8)
    x[3] = 9
    assert view.tolist() == [2, 9]
    assert view.untyped_storage() is x.untyped_storage()


# -- odd layouts ---------------------------------------------------------------------------------------------

@st.composite
def layouts(draw: Any) -> torch.Tensor:
    """Draw a tensor with dimensions of size 0 and 1, permuted, cut, expanded: strides that say little."""
    x = torch.arange(64.0)
    shape = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=3))
    x = x[: int(np.prod(shape))].reshape(shape)
    for _ in range(draw(st.integers(0, 3))):
        dim = draw(st.integers(0, max(x.ndim - 1, 0)))
        change = draw(st.sampled_from(["permute", "unsqueeze", "slice", "expand"]))
        if change == "permute":
            x = x.permute(draw(st.permutations(range(x.ndim))))
        elif change == "unsqueeze" and x.ndim < 4:
            x = x.unsqueeze(dim)
        elif change == "slice" and x.ndim:
            x = x.narrow(dim, 0, min(x.shape[dim], 2))
        elif change == "expand" and x.ndim:
            x = x.expand([2 if n == 1 and d == dim else -1 for d, n in enumerate(x.shape)])
    return x.data


STRIDES: dict[str, Call] = {
    "with a number": lambda t, x: (x + 2, x * 2, x == 2, x.clamp(0, 1), 1 - x),
    "alone": lambda t, x: (x.neg(), x.exp(), x.bool(), x.clone(), x.to(t.int64), t.zeros_like(x), x.mvlgamma(2)),
    "with itself": lambda t, x: (x + x, x.maximum(x.mT) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x < x),
    "with a scalar": lambda t, x: (x + t.tensor(2.0), t.where(x > 1, x, 0.0)),
    "converted": lambda t, x: (x.int().exp(), x.int() + x),
    "indexed": lambda t, x: (x[t.tensor([0, 0])] if x.ndim and len(x) else x, x[False], x[None, t.tensor([0])]),
    "joined": lambda t, x: (t.cat([x, x]), t.stack([x, x], -1)) if x.ndim else t.stack([x, x]),
    "moved": lambda t, x: (x.flip(0), x.roll(1, 0), x.repeat(2, *(1,) * (x.ndim - 1))) if x.ndim else x.flip(()),
}


@table(STRIDES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=layouts())
def test_outputs_have_pytorchs_strides_whatever_the_layout(case: Call, x: torch.Tensor) -> None:
    ours, theirs = Outcome.of(case, mindtorch, port(x, mindtorch)), Outcome.of(case, torch, x)
    assert not (found := list(error_differences(ours, theirs))), found
    if theirs.error is None:
        assert_same(ours.value, theirs.value)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(x=layouts(), data=st.data())
def test_views_of_odd_layouts(x: torch.Tensor, data: st.DataObject) -> None:
    """Where a view is possible is PyTorch's decision, and so are its strides."""
    sizes = data.draw(
        st.sampled_from([(-1,), (x.numel(),), (1, *x.shape), (*x.shape, 1), tuple(x.shape[::-1]), (2, -1)])
    )
    both(lambda t, x: x.view(sizes), x)
    both(lambda t, x: x.reshape(sizes), x)
    both(lambda t, x: (x.squeeze(), x.unsqueeze(0), x.contiguous(), x.expand(2, *x.shape)), x)


def test_views_exist_on_the_meta_device() -> None:
    x = tensor_of((2, 3, 4))
    for name, case in VIEWS.items():
        if name == "tensor_split":
            continue  # some indices are data
        ours = tensors_in(case(mindtorch, mindtorch.empty(2, 3, 4, device="meta")))
        for mine, other in zip(ours, tensors_in(case(torch, x)), strict=True):
            if mine.is_meta:
                assert (tuple(mine.shape), tuple(mine.stride()), mine.storage_offset()) == (
                    tuple(other.shape), other.stride(), other.storage_offset()), name


def test_iteration_gives_rows_that_write_through() -> None:
    x = mindtorch.zeros(2, 2)
    for i, row in enumerate(x):
        row += i + 1
    assert array(x).tolist() == [[1, 1], [2, 2]]
    assert all(is_tensor(row) and row._base is x for row in x)


def test_what_has_the_common_shape_already_is_broadcast_as_it_is():
    for lib in (mindtorch, torch):
        leaf, row, number = lib.ones(2, requires_grad=True), lib.ones(1, 2), lib.ones(())
        broadcast = lib.broadcast_tensors(leaf, number)
        assert broadcast[0] is leaf and broadcast[1] is not number
        assert not any(a is leaf for a in lib.broadcast_tensors(leaf, row))
        assert lib.distributions.Normal(leaf, 1.).loc.is_leaf


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("source", ["alone", "view", "written", "parameter", "another dtype", "piece"])
def test_pieces_by_plan_are_views_that_may_not_be_written_in_place(source: str, grad: bool) -> None:
    def said(lib: Any) -> list[Any]:
        x = lib.arange(12.0).reshape(3, 4)
        if source == "another dtype":
            x = lib.view_as_real(lib.complex(x, x))[0]
        elif source == "piece":
            x = x.split(2)[0]
        elif source == "view":
            x = x[:, 1:].t()
        x.requires_grad_(source == "parameter")
        if source == "written":
            x.add_(1)
        found: list[Any] = []
        with lib.set_grad_enabled(grad):
            for _ in range(3):
                for made in (x.unbind(1), x.split(2), x.chunk(2), x.hsplit([2]), x.tensor_split(lib.tensor([1, 2])),
                             x.tensor_split(lib.tensor(2), 1)):
                    part = made[0]
                    found.append([made, part._version, part._is_view(), part.storage_offset(), part.requires_grad,
                                  part._base is not None and tuple(part._base.shape), str(part.grad_fn)[:14]])
                    try:
                        part.mul_(lib.ones(1, requires_grad=True))
                    except RuntimeError as error:
                        found.append(type(error))
                    found.append(part._version)
        return found

    assert_same(said(mindtorch), said(torch))
