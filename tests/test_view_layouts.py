"""Every view with every argument of a small grid: PyTorch's layout, or PyTorch's error word for word."""
from __future__ import annotations

import itertools
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch
from tests.support import torch

#: Tensors by their layouts: contiguous, transposed, sliced with an offset, expanded, empty, of one element, of none.
TENSORS = {
    "contiguous": lambda t: t.arange(24.0).view(2, 3, 4), "a matrix": lambda t: t.arange(6.0).view(2, 3),
    "transposed": lambda t: t.arange(6.0).view(2, 3).t(), "a row": lambda t: t.arange(4.0).view(1, 4),
    "a column": lambda t: t.arange(4.0).view(4, 1),
    "permuted": lambda t: t.arange(24.0).view(2, 3, 4).permute(2, 0, 1),
    "a part": lambda t: t.arange(40.0).view(5, 8)[1::2, 2:8:2], "expanded": lambda t: t.ones(3, 1).expand(3, 4),
    "without elements": lambda t: t.ones(2, 0, 3), "a vector": lambda t: t.arange(7.0)[1:],
    "a number": lambda t: t.arange(3.0)[1], "one element": lambda t: t.ones(1, 1),
}
DIMS = (-4, -1, 0, 1, 2, 3)
NUMBERS = (-5, -1, 0, 1, 2, 3, 9)
SHAPES = [(), (-1,), (0,), (2, 3), (3, 2), (6,), (4, 6), (2, -1), (-1, -1), (24,), (1, 6), (2, 3, 4), (-2, 3), (7,),
          (3, 1, 2), (4, 1), (1,), (-1, 0), (2, 12), (4, 4), (5, 3, 4), (3, -1), (-1, 3, 4)]


def calls() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Names of methods, with their arguments."""
    for name in ("view", "expand", "reshape"):
        yield from ((name, (shape,)) for shape in SHAPES)
    for name in ("squeeze", "unsqueeze", "unbind", "squeeze_", "unsqueeze_"):
        yield from ((name, (dim,)) for dim in DIMS)
    for name in ("squeeze", "squeeze_", "t", "t_", "detach"):
        yield name, ()
    yield "ravel", ()
    for name in ("flatten", "swapaxes", "movedim"):
        yield from ((name, dims) for dims in itertools.product((-4, -1, 0, 1, 2), repeat=2))
    yield from (("movedim", dims) for dims in [((0, 1), (1, 0)), ((0, 2), (1, 0)), ((0,), (0, 1)), ((0, 0), (0, 1))])
    yield from (("squeeze", (dims,)) for dims in [(0, 1), (0, -1), (1, 1), (), (5, 0)])
    for name in ("transpose", "transpose_"):
        yield from ((name, dims) for dims in itertools.product(DIMS, DIMS))
    yield from (("permute", (dims,)) for dims in [
        (0, 1), (1, 0), (2, 0, 1), (-1, 0, 1), (0, 0), (0,), (), (1, 5), (-1, -2), (0, 1, 2)])
    yield from (("select", pair) for pair in itertools.product(DIMS, NUMBERS))
    yield from (("narrow", row) for row in itertools.product((-1, 0, 3), (-2, 0, 1), NUMBERS))
    yield from (("narrow_copy", row) for row in itertools.product((-1, 0), (-1, 0, 1), (0, 1, 2)))
    for name in ("diagonal", "diagonal_copy"):
        yield from ((name, row) for row in itertools.product((-3, -1, 0, 1, 3), (0, -1, 3), (0, 1, -2)))
    for name in ("chunk", "unsafe_chunk", "tensor_split", "unsafe_split"):
        yield from ((name, row) for row in itertools.product((-1, 0, 1, 2, 9), (-1, 0, 1)))
    yield from (("select_copy", pair) for pair in itertools.product((-1, 0, 1), (-1, 0, 9)))
    yield from ((name, ()) for name in ("clone", "contiguous", "t_copy", "squeeze_copy", "alias_copy", "double"))
    yield from (("unfold", row) for row in itertools.product((-1, 0, 3), (-1, 0, 1, 2, 3, 9), (-1, 0, 1, 2)))
    yield from (("split", row) for row in itertools.product((-1, 0, 1, 2, 9), DIMS))
    yield from (("split", row) for row in itertools.product(
        [[1, 2], [2, 1], [3], [1, 1], [-1, 3], [0, 2], [2, 0, 1, 0]], (0, 1, -1, 5)))
    yield from ((name, row) for name in ("as_strided", "as_strided_copy") for row in [
        ((2,), (1,)), ((2, 2), (1,)), ((2,), (-1,)), ((-2,), (1,)), ((2,), (1,), -1), ((2,), (1,), 1),
        ((3, 2), (1, 1), 0), ((30,), (1,)), ((2,), (50,)), ((1,), (50,)), ((0,), (50,)), ((), ()), ((), (), 1),
        ((), (), 90), ((2, 3), (0, 1))])
    yield from (("__getitem__", (slice(*bounds),)) for bounds in itertools.product(
        (None, -3, 0, 1, 9), (None, -1, 0, 2, 9), (None, 1, 2, 3)))
    yield from (("__getitem__", (index,)) for index in [
        (0, None), (Ellipsis, 0), (None, Ellipsis), (slice(None), -1), (slice(1, None), slice(None, None, 2)),
        (0, 0, 0), (Ellipsis, None, slice(0, 2)), (1, Ellipsis, 1), (None,), (Ellipsis, Ellipsis), (-9,),
        (0, 9), (slice(None, None, -1),), (None, None, 0), (slice(2, 1), Ellipsis, slice(None))])


def seen(value: Any) -> Any:
    """Return the layout of a view, or of each of several."""
    if isinstance(value, (tuple, list)):
        return [seen(item) for item in value]
    reaches = value.untyped_storage().nbytes() // value.element_size()
    elements = value.tolist() if all(value.stride()) or not value.numel() else reaches
    return tuple(value.shape), value.stride(), value.storage_offset(), value.is_contiguous(), elements


def outcome(t: types.ModuleType, name: str, args: tuple[Any, ...], make: Any) -> Any:
    self = make(t)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(self, name)(*args) if hasattr(self, name) else getattr(t, name)(self, *args)
    except Exception as error:  # which one it is, is what is compared
        return type(error).__name__, str(error).partition("\nException raised")[0]
    return seen(found), seen(self)


@pytest.mark.parametrize("tensor", TENSORS)
def test_every_view_is_laid_out_as_pytorchs_or_refused_in_its_words(tensor: str) -> None:
    make = TENSORS[tensor]
    different = []
    for name, args in calls():
        if tensor == "a number" and name == "expand" and min(args[0], default=0) < 0:
            continue  # PyTorch makes tensors of negative sizes
        theirs = outcome(torch, name, args, make)
        for _ in range(3):  # the later times by the layout that was kept from the first ones
            ours = outcome(mindtorch, name, args, make)
        if ours != theirs:
            different.append(f"{name}{args}: {ours}\n    PyTorch: {theirs}")
    assert not different, "\n".join(different)


def parts(t: Any) -> Any:
    """Return layouts of views of real and imaginary parts at several offsets, and gradients through writes to them."""
    found = []
    x = t.arange(24.0).view(4, 6)
    z = t.view_as_complex(x.view(4, 3, 2))
    for view in (lambda: z.real, lambda: z.imag, lambda: z[:, 1:].imag, lambda: z.t().real, lambda: z.conj().imag,
                 lambda: t.view_as_real(z[1:]), lambda: t.view_as_real(z.t()), lambda: t.view_as_real(z.conj()),
                 lambda: t.view_as_complex(x[:, 2:].view(4, 2, 2)), lambda: t.view_as_complex(x[:, 1:5].view(4, 2, 2))):
        for _ in range(3):
            try:
                found.append((*seen(view()), str(view().dtype), view()._is_view()))
            except RuntimeError as error:
                found.append(str(error).partition("\n")[0])
    leaf = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = leaf * 1
    w.imag.mul_(3)
    w.real.add_(w.imag.detach())
    t.view_as_real(w)[0].mul_(2)
    real = w.real
    w.mul_(2)
    (t.view_as_real(w) ** 2).sum().backward()
    return [*found, real.grad_fn.name(), real._version, leaf.grad.tolist()]


def test_views_of_the_parts_of_complex_numbers_begin_where_pytorchs_do_and_are_written_through() -> None:
    assert parts(mindtorch) == parts(torch)


def written(t: Any) -> Any:
    """Write views in place; return them, and the memory that they see."""
    found = []
    views = [
        *TENSORS.values(), lambda t: t.arange(9.0).as_strided((2, 3), (1, 3), 1),
        lambda t: t.arange(12.0).view(3, 4)[:, 1:2], lambda t: t.arange(12.0).view(4, 3).t()[::2]]
    for make, write in itertools.product(views, (
            lambda t, x: x.neg_(), lambda t, x: x.abs_(), lambda t, x: x.add_(1), lambda t, x: x.mul_(x),
            lambda t, x: x.sub_(t.ones_like(x)), lambda t, x: x.add_(x.flip(0) if x.dim() else x, alpha=2),
            lambda t, x: x.add_(x.new_ones(x.shape[::-1]).permute([*range(x.dim() - 1, -1, -1)])),
            lambda t, x: x.relu_(), lambda t, x: x.clamp_(1, 4), lambda t, x: x.div_(x.new_tensor(2)),
            lambda t, x: x.mul_(True), lambda t, x: x.addcmul_(x, x), lambda t, x: x[0:1].sub_(x[0]),
            lambda t, x: x.pow_(2), lambda t, x: x.floor_())):
        x = make(t)
        try:
            result = write(t, x)
            memory = t.as_strided(x, (x.untyped_storage().nbytes() // 4,), (1,), 0)
            found.append((memory.tolist(), result.stride(), x._version))
        except (RuntimeError, IndexError) as error:
            found.append(type(error))
    return found


def test_writing_in_place_into_memory_with_gaps_leaves_the_gaps_alone() -> None:
    assert written(mindtorch) == written(torch)


def test_an_element_that_several_indices_mean_is_written_as_if_they_were_computed_before() -> None:
    for write in (lambda x: x.add_(1), lambda x: x.mul_(2), lambda x: x.neg_(), lambda x: x.sigmoid_()):
        x = mindtorch.arange(9.0)
        view = x.as_strided((3, 3), (2, 2))
        expected = write(view.clone())
        write(view)
        assert mindtorch.equal(view, expected) and x[1::2].tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("sizes", [(-1, -1), (-2, 2), (3, -1), (5,)])
def test_sizes_into_which_a_dimension_cannot_be_unflattened_are_told_in_pytorchs_words(sizes: tuple[int, ...]) -> None:
    words = []
    for t in (mindtorch, torch):
        with pytest.raises(RuntimeError) as info:
            t.zeros(4, 6).unflatten(0, sizes)
        words.append([line.partition(": sizes")[0] for line in str(info.value).splitlines()[:2]])
    assert words[0] == words[1]


def test_parts_of_complex_numbers_that_are_computed_are_laid_out_as_pytorchs() -> None:
    def strides(t: Any) -> list[Any]:
        x = t.ones(2, 3, 4, dtype=t.complex64)
        layouts = [x.permute(order)[..., :n] for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)) for n in (1, 2)]
        layouts += [x[:1, :2, :1].as_strided((1, 2, 1), (7, 1, 5)), x[:, :1].expand(2, 5, 4)]
        return [part(layout).stride() for layout in layouts for part in (t.abs, t.angle)]

    assert strides(mindtorch) == strides(torch)
