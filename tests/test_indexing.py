"""Indexing, gathering and scattering, and joining and rearranging are PyTorch's: values, strides, graphs, errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch
from tests import arguments
from tests.support import Outcome, assert_same, error_differences, port, tensors_in, torch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
Call = Callable[..., Any]
LIBRARIES = (mindtorch, torch)


def names(t: Any) -> dict[str, Any]:
    """Make the tensors of the expressions below, in one of the libraries."""
    return {
        "t": t, "np": np, "F": t.nn.functional,
        "x": (t.arange(60.0) - 7).view(3, 4, 5), "m": (t.arange(12.0) - 4).view(3, 4), "v": t.arange(6.0) * 2,
        "z": t.tensor(3.0), "e": t.zeros(0, 4), "n": t.arange(12).view(3, 4), "c": t.arange(4.0) * (1 + 2j),
        "i": t.tensor([0, 2, -1]), "j": t.tensor([[1, 0], [2, 2]]), "b": t.arange(12).view(3, 4) % 3 == 0,
        "k": t.tensor([True, False, True]), "u": t.tensor([1, 0, 1], dtype=t.uint8), "one": t.tensor(1),
        "cl": t.arange(24.0).view(1, 2, 3, 4).to(memory_format=t.channels_last),
    }


def same_for(run: Callable[..., Any], code: str) -> None:
    """Check that an expression or statement gives the same tensors, or the same exception, in both libraries."""
    ours, theirs = ((Outcome.of(run, code, given := names(t)), given) for t in LIBRARIES)
    assert not (found := list(error_differences(ours[0], theirs[0]))), found
    if theirs[0].error is None and tensors_in(theirs[0].value):
        assert_same(ours[0].value, theirs[0].value)
    for name in "xmvzenc":
        assert_same(ours[1][name], theirs[1][name])


def same_refusal(run: Callable[..., Any], code: str) -> None:
    """Check that both libraries raise the same exception, with the same first line."""
    ours, theirs = (Outcome.of(run, code, names(t)) for t in LIBRARIES)
    assert ours.kind() == theirs.kind() != "no error", ours.error
    mine, other = (str(outcome.error).splitlines()[0] for outcome in (ours, theirs))
    assert mine == other


# -- brackets ------------------------------------------------------------------------------------------------

#: What can stand in the brackets after a tensor of shape (3, 4, 5).
INDICES = [
    "0", "-1", "1, 2", "1, 2, 3", "0, -1, ...", "...", "..., 2", "1, ..., 2", "None", "None, 1", "1, None", "..., None",
    "()", ":", "1:", ":-1", "::2", "1:1", "5:", "-9:9", "2:1", ":, 1:3", "0, 1:, ::3", "True", "False", "True, 1",
    "1, False", "None, ..., None", "one", "one, one", "one, 1:", "np.int64(1)", "np.array(2)",
    "t.tensor(2, dtype=t.int32)", "t.tensor(True)", "t.tensor(False), 1", "i", "i, 1", "1, i", "i, :, 1", ":, i",
    "..., i", ":, j", "j", "j, 0", "i, i", "i, :, i", ":, i, i", "i, None, i", "None, i", "j, :, j", "0, :, i",
    "i, 1:3", "1:, i", "i[:, None], i", "k", "k, 1", "k, i[:2]", "k, :, 2", ":, :, t.arange(5) > 2", "b", "b, 1",
    "b, ..., None", "u", "u, 0", "x > 8", "x > 1e9", "[0, 2]", "[0, 2], [1, 1]", "[[0, 1], [2, 0]],",
    "[True, False, True]", ":, [0]", "[]", ":, []", "[], 1", "np.array([0, 2])", "np.array([True, False, True])",
    "np.array([[0, 1]], dtype=np.int32), 1", "range(2)", "[one, 2]", "[i[0], one]", "(0, 1)", "slice(one, None)",
    "slice(np.int64(1), 3)", "i.to(t.int32)", "i.to(t.uint8)[:2]", "i, True", "None, True, i",
    "t.empty(0, dtype=t.int64)", "i[:0], :, i[:0]", "..., i, None", "i, ..., j[0, 0]", "[0, 1], ..., [0, 1]",
    "[slice(0, 2), 1]", "[None, 1]", "[..., 0]", "[1.0]", "[[0], [0, 1]]", "np.array([0.5])", "b, :2", "b, 1:, None",
    "b, one", "None, b, 1", ":, x[0] > 8", "[[True] * 4] * 3, 1", "n.new_ones(3, 4, dtype=t.uint8), 1",
]


@pytest.mark.parametrize("where", INDICES)
def test_reading_and_writing_by_an_index(where: str) -> None:
    same_for(eval, f"x[{where}]")
    same_for(exec, f"x[{where}] = 5")
    same_for(exec, f"x[{where}] = x[{where}].clone() * 2 + 1")
    same_for(exec, f"x.transpose(0, 2).contiguous().transpose(0, 2)[{where}] = z")


@pytest.mark.parametrize("where", INDICES)
def test_the_graph_of_an_index(where: str) -> None:
    def read(t: Any) -> Any:
        given = names(t)
        x = given["x"].requires_grad_()
        out, nodes = eval(f"x[{where}]", given), []
        node = out.grad_fn
        while node is not None:
            nodes.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        (out * t.arange(float(out.numel())).view(out.shape)).sum().backward()
        return nodes, out._is_view(), x.grad

    def written(t: Any) -> Any:
        given = names(t)
        x, value = given["x"].requires_grad_(), t.tensor(2.0, requires_grad=True)
        given["y"], given["value"] = x * 1, value
        exec(f"y[{where}] = value", given)
        given["y"].pow(2).sum().backward()
        return given["y"].grad_fn.name(), given["y"]._version, x.grad, value.grad

    for program in (read, written):
        ours, theirs = (Outcome.of(program, t) for t in LIBRARIES)
        assert not (found := list(error_differences(ours, theirs))), found
        if theirs.error is None:
            assert ours.value[:2] == theirs.value[:2]
            assert_same(ours.value[2:], theirs.value[2:])


#: What cannot stand there, and what cannot be assigned.
WRONG_INDICES = [
    "x[3]", "x[-4]", "x[0, 4]", "x[0, 0, 0, 0]", "z[0]", "z[:]", "x[..., ...].q", "x[1.0]", "x['a']", "x[{}]",
    "x[::-1]", "x[::0]", "x[1.5:]", "x[t.tensor(1.0)]", "x[t.tensor([1.0])]", "x[i, b, i]", "x[[0, 3]]", "x[i, [0, 4]]",
    "x[[-5]]", "x[k, k]", "x[b.t()]", "x[[True, False]]", "x[i, i[:2]]", "x[0, 0, 0, None, 0]", "x[[0], [0], [0], [0]]",
    "z[[0]]", "e[0]", "e[[0]]", "e[:, 4]", "x[j, i]", "x[1j]", "x[one:z]", "x[[1j]]", "x[b, 7]", "x[b, 1, 1]",
    "x[b, i]", "z[1:]", "z[..., :]",
]


@pytest.mark.parametrize("expression", WRONG_INDICES)
def test_wrong_indices_raise_pytorchs_error(expression: str) -> None:
    same_refusal(eval, expression)


WRONG_ASSIGNMENTS = [
    "x[0] = t.zeros(3)", "x[i] = t.zeros(2, 4, 5)", "x[b] = t.zeros(3)", "x[0] = 'a'", "x[0] = None", "x[3] = 1",
    "x[i, [4]] = 1", "x[[0, 1]] = [[1]]", "x[0, 0, 0] = t.zeros(2)", "x[i] = n[0]", "n[i] = 1j", "n[i] = c",
    "x[k, k] = 1", "x[{}] = 1", "z[0] = 1", "x[...] = t.zeros(7, 3, 4, 5)", "del x[0]", "z[:] = 1", "x[u] = 1",
    "n[0] = 1j", "x[0] = 1e300", "n.to(t.int8)[0] = 300",
]


@pytest.mark.parametrize("statement", WRONG_ASSIGNMENTS)
def test_wrong_assignments_raise_pytorchs_error(statement: str) -> None:
    same_refusal(exec, statement)


ASSIGNMENTS = [
    "x[0] = 1", "x[0] = True", "n[0] = 2.7", "n[i] = 2.7", "n[0] = t.tensor(2.7)", "n[:] = m + 0.5", "c[1] = 2j",
    "x[0] = z", "x[0] = t.ones(1, 5)", "x[0] = t.ones(1, 1, 1, 5)", "x[:, 0] = x[:, 1]", "x[i] = t.ones(5)",
    "x[b] = t.ones(4, 5)", "x[b] = t.ones(5)", "x[x > 3] = 0", "x[x > 3] = t.ones(1)", "x[0] = np.ones((4, 5))",
    "x[0] = np.float64(2)", "x[i] = np.ones(5, dtype=np.float32)", "x[i] = n[0, 0]", "m[i] = m[i.flip(0)]",
    "x[i, i] = t.arange(15.0).view(3, 5)", "x[i, :, i] = 3", "m[:, i] = t.arange(3.0)[:, None]", "z[()] = 4",
    "z[...] = 4", "z[True] = 4", "z[False] = 4", "z[None] = t.tensor([4.0])", "e[:] = 1", "e[[]] = 1", "x[[]] = 1",
    "x[[]] = t.ones(0, 4, 5)", "x[False] = 1", "x[0][1] = 2", "x[0][i] = 2", "x[0, i] += 2", "m[b] *= 2",
    "v[[0, 0, 0]] = 1", "v[k.repeat(2)] = v[k.repeat(2)] + 1", "m[1:, [0, 1]] = m[0, :2]", "m[t.tensor(1)] = 0",
    "m[t.tensor([1])] = 0", "x[0] = t.ones(4, 5, dtype=t.float64)", "x[i, 0, None] = 1", "x.t = 1",
]


@pytest.mark.parametrize("statement", ASSIGNMENTS)
def test_assignments(statement: str) -> None:
    same_for(exec, statement)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data(), shape=st.sampled_from([(), (3,), (2, 3), (3, 1, 2), (2, 0), (2, 2, 2, 3)]),
       value=st.sampled_from([7, "row", "all"]))
def test_any_index_reads_and_writes_as_in_pytorch(data: st.DataObject, shape: tuple[int, ...], value: Any) -> None:
    x = torch.arange(float(np.prod(shape))).view(shape)
    where = arguments.index(data.draw, x)

    def read_and_write(t: Any, x: Any, where: Any) -> Any:
        part = x[where]
        x[where] = value if value == 7 else part.clone() + 1 if value == "all" else t.ones(part.shape[-1:])
        return part, x

    ours = Outcome.of(read_and_write, mindtorch, port(x, mindtorch), port(where, mindtorch))
    theirs = Outcome.of(read_and_write, torch, x, where)
    assert not (found := list(error_differences(ours, theirs))), found
    if theirs.error is None:
        assert_same(ours.value, theirs.value)


# -- the indexing functions ----------------------------------------------------------------------------------

FUNCTIONS = [
    "t.index_select(m, 0, i.abs())", "m.index_select(1, one)", "z.index_select(0, t.tensor([0, 0]))",
    "m.t().index_select(0, t.tensor([3, 0]))", "m.index_select(-1, t.tensor([3], dtype=t.int32))",
    "m.index_fill(0, i, 9)", "m.index_fill(1, one, z)", "n.index_fill_(0, i, 2.5)",
    "m.index_copy(0, t.tensor([2, 0]), t.ones(2, 4))", "m.index_add(0, t.tensor([2, 2]), t.ones(2, 4), alpha=3)",
    "z.index_add(0, one * 0, z)", "m.index_reduce(0, t.tensor([2, 2]), t.full((2, 4), 3.0), 'mean')",
    "m.index_reduce(0, t.tensor([2, 2]), m[:2], 'prod', include_self=False)",
    "m.index_reduce(1, t.tensor([0, 0]), m[:, 1:3], 'amax')", "m.index_put((i,), z)",
    "m.index_put((t.tensor([0, 0]),), z, accumulate=True)", "t.ops.aten.index_put(m, [None, i], t.ones(3), True)",
    "m.index_put((b,), z)", "t.ops.aten.index_put(x, [None, i, i], z)", "n.index_put((i, i), one, True)",
    "m.gather(1, j)", "m.gather(0, j)", "z.gather(0, one * 0)", "m.gather(0, t.empty(0, 4, dtype=t.int64))",
    "m.t().gather(0, j.t())", "m.scatter(1, j, 9)", "m.scatter(0, j, m)", "m.scatter(1, j, 2, reduce='multiply')",
    "m.scatter(1, j, m, reduce='add')", "n.scatter(1, j, 2.7)", "m.scatter_add(0, j, m)",
    "m.scatter_reduce(0, j, m, 'sum')", "m.scatter_reduce(0, j, m, 'mean', include_self=False)",
    "m.scatter_reduce(1, j, m, 'prod')", "m.scatter_reduce(0, j, m, 'amin')", "n.scatter_reduce(0, j, n, 'mean')",
    "m.scatter(1, j, m[:2, :2])", "m.scatter(1, j, 1.5)", "m.scatter(-1, j, float('nan'))",
    "n.scatter(1, j, n[:2, :2])",
    "m.scatter_add(1, j, m[:2, :2])", "x.gather(1, j.view(2, 2, 1))", "x.gather(-3, j.view(1, 2, 2))", "b.gather(1, j)",
    "c.gather(0, j[1])", "m.index_add(0, i.abs(), m)", "m.index_add(1, i.abs(), m[:, :3])", "m.take(one)", "m.take(-j)",
    "z.scatter(0, one * 0, z)", "m.take(j)", "m.t().take(i)", "m.put(j, t.arange(4.0))",
    "m.put(t.tensor([0, 0]), t.ones(2), accumulate=True)", "m.take_along_dim(j, 1)", "m.take_along_dim(j)",
    "m.take_along_dim(m.argsort(1), 1)", "m.masked_select(b)", "m.masked_select(k[:, None])", "z.masked_select(m > 0)",
    "m.t().masked_select(b.t())", "m.masked_scatter(b, v)", "m.masked_scatter(b[0], m)", "m.masked_fill(b, 3)",
    "t.where(b)", "t.where(z > 0)", "t.nonzero(b, as_tuple=True)", "b.nonzero()", "t.argwhere(m)",
    "t.unravel_index(i[:2], (3, 4))", "F.one_hot(j)", "F.one_hot(j, 5)", "F.embedding(j, m)",
    "F.embedding(one, m, padding_idx=1)", "t.embedding(m, j)", "F.one_hot(t.empty(0, dtype=t.int64), 3)",
    "t.unravel_index(t.tensor([12, -1]), (3, 4))", "t.unravel_index(i, 12)",
]
WRONG_CALLS = [
    "m.index_select(0, t.tensor([3]))", "m.index_select(0, j)", "m.index_select(2, i)", "m.index_select(0, z)",
    "m.index_fill(0, t.tensor([9]), 1)", "m.index_fill(0, i, v)", "m.index_copy(0, i, t.ones(2, 4))",
    "m.index_copy(0, t.tensor([0, 9]), t.ones(2, 4))", "m.index_add(0, i, m[:2])", "m.index_add(0, i, n)",
    "m.index_reduce(0, i, m, 'sum')", "m.gather(0, i)", "m.gather(1, j * 9)", "m.gather(1, m)", "m.gather(2, j)",
    "m.scatter(0, j * 9, 1)", "m.scatter(0, j, n)", "m.scatter(0, t.zeros(4, 4, dtype=t.int64), m)",
    "m.scatter(0, j, m, reduce='mean')", "m.scatter_reduce(0, j, m, 'add')", "m.scatter_add(0, j, m[0])",
    "m.gather(0, -j)", "m.scatter(1, -j, 1.0)", "m.scatter_add(1, j * 2, m[:2, :2])", "m.index_add(0, -i, m)",
    "m.scatter(1, j, 1e39)", "m.scatter(0, t.zeros(2, 5, dtype=t.int64), 1.0)", "m.scatter(1, j[0], 1.0)",
    "F.embedding(-j, m)", "v.scatter_(0, t.tensor([0, 1]), v[1:3])", "m.index_add_(0, one, m[:1])",
    "m.take(t.tensor([12]))", "m.put(j, z)", "m.put(j, n.view(-1)[:4])", "m.take_along_dim(m, 0)",
    "m.take_along_dim(i, 0)", "m.masked_select(m)", "m.masked_select(k)", "m.masked_scatter(b, v[:1])",
    "m.masked_scatter(b, n)", "m.index_put((i, i, i), z)", "m.index_put((i,), n)", "F.one_hot(i)", "F.one_hot(m)",
    "F.one_hot(j, 2)", "F.embedding(t.tensor([3]), m)", "F.embedding(m, m)", "t.unravel_index(m, (3, 4))",
    "m.index_put((i, 1), z)", "m.index_put(i, z)",
]


@pytest.mark.parametrize("expression", FUNCTIONS)
def test_functions_that_index(expression: str) -> None:
    same_for(eval, expression)


@pytest.mark.parametrize("expression", WRONG_CALLS)
def test_wrong_calls_raise_pytorchs_error(expression: str) -> None:
    same_refusal(eval, expression)


# -- joining and rearranging ---------------------------------------------------------------------------------

JOINED = [
    "t.cat([m, m])", "t.cat((m, n, b), 1)", "t.cat([m.t(), m.t()], -1)", "t.cat([cl, cl], 1)", "t.cat([t.empty(0), m])",
    "t.cat([e, m])", "t.concat([v, v])", "t.concatenate([m, m], axis=1)", "t.stack([m, m])", "t.stack([z, one])",
    "t.stack([m, n], -1)", "t.stack([m.t(), m.t()], 1)", "t.hstack([v, v])", "t.hstack([z, one])", "t.vstack([v, v])",
    "t.dstack([v, v])", "t.row_stack([v, v])", "t.column_stack([v, v[:, None]])", "t.block_diag(m, v, z, one)",
    "t.cartesian_prod(v, v[:2])", "t.combinations(v, 2)", "t.combinations(v, 3, with_replacement=True)",
    "t.meshgrid(v, v[:2], indexing='ij')", "t.meshgrid(v, z, indexing='xy')", "t.flip(m, (0, -1))", "m.t().flip(0)",
    "m.fliplr()", "m.flipud()", "m.roll(1)", "m.roll((1, -2), (0, 1))", "m.rot90()", "m.rot90(3, (1, 0))",
    "x.rot90(2, (0, 2))", "m.repeat(2, 1)", "m.repeat(2, 1, 0)", "z.repeat(3)", "e.repeat(-2, 1)",
    "m.repeat_interleave(2)", "m.repeat_interleave(2, 1)", "v.repeat_interleave(n.view(-1)[:6])",
    "t.repeat_interleave(i.abs())", "m.tile(2)",
    "x.tile((1, 2))", "m.tril()", "m.triu(1)", "x.tril(-1)", "m.t().triu(-1)", "b.tril()", "t.tril_indices(3, 4, 1)",
    "t.triu_indices(4, 3, -1)", "t.tril_indices(0, 3)", "v.diag()", "m.diag(1)", "v.diag_embed()",
    "m.diag_embed(1, 0, 2)", "v.diagflat(-1)", "m.diagflat()", "m.trace()", "n.trace()", "F.pad(m, (1, 2))",
    "F.pad(m, (1, -1, 0, 2), value=9)", "F.pad(m, (1, 1), 'reflect')", "F.pad(m, (2, 2), 'replicate')",
    "F.pad(m, (3, 1), 'circular')", "F.pad(cl, (1, 1, 1, 1), 'reflect')", "F.pad(cl, (1, 0, 2, 0), 'replicate')",
    "F.pad(cl, (1, 0, 2, 0), 'circular')", "F.pad(cl, (1, 1))", "t.constant_pad_nd(m, (1, 1), 2.5)",
    "F.pixel_shuffle(x.view(1, 4, 3, 5), 2)", "F.pixel_unshuffle(m[None, :2], 2)",
    "F.channel_shuffle(x.view(1, 4, 3, 5), 2)", "F.unfold(cl, 2)", "F.unfold(cl, (2, 3), 1, 1, 2)",
    "F.fold(F.unfold(cl, 2), (3, 4), 2)", "F.fold(F.unfold(cl, 2, padding=1), (3, 4), 2, padding=1)",
    "m.clone(memory_format=t.contiguous_format)", "cl.clone()", "cl.contiguous()",
    "cl.contiguous(memory_format=t.channels_last)", "m.t().clone()", "m.fill_(2)", "m.t().zero_()", "m.fill(z)",
]
WRONG_JOINS = [
    "t.cat([])", "t.cat([m, v])", "t.cat([m, x])", "t.cat([m, m], 2)", "t.cat([z, z])", "t.cat(m)", "t.cat([m, 1])",
    "t.stack([])", "t.stack([m, v])", "t.stack([m, m], 4)", "t.hstack([])", "t.block_diag(x)", "t.cartesian_prod(m)",
    "t.combinations(m)", "t.flip(m, (0, 0))", "t.flip(m, (2,))", "m.roll((1, 2), 0)", "v.rot90()", "m.rot90(1, (0, 0))",
    "m.repeat(2)", "m.repeat(-1, 1)", "m.repeat_interleave(-1)", "m.repeat_interleave(i)", "v.tril()", "z.diag()",
    "x.diag()", "x.trace()", "v.diag_embed(0, 0, 0)", "F.pad(m, (1,))", "F.pad(m, (-5, 0))",
    "F.pad(m, (4, 0), 'reflect')", "F.pad(m, (1, 1, 1, 1), 'reflect')", "F.pad(m, (5, 0), 'circular')",
    "F.pad(m, (1, 1), 'other')", "F.pixel_shuffle(m, 2)", "F.pixel_shuffle(cl, 3)", "F.pixel_unshuffle(cl, 2)",
    "F.channel_shuffle(cl, 3)", "F.unfold(m, 2)", "F.unfold(cl, 9)", "F.fold(m, (3, 4), 2)", "t.tril_indices(-1, 2)",
    "m.fill_(v)", "t.cat((1, m))", "t.cat(3)", "t.block_diag(m, 1)", "F.pad(m, (1,) * 6)", "F.pad(m, (1,), 'reflect')",
    "F.unfold(v, 2)", "F.pad(m > 1, (1, 1), 'reflect')", "F.pad(cl > 1, (1, 1, 0, 0), 'replicate')",
]


@pytest.mark.parametrize("expression", JOINED)
def test_joining_and_rearranging(expression: str) -> None:
    same_for(eval, expression)


@pytest.mark.parametrize("expression", WRONG_JOINS)
def test_wrong_joins_raise_pytorchs_error(expression: str) -> None:
    same_refusal(eval, expression)


GRADIENTS = [
    "x[j]", "m[b]", "m[i, i]", "m.gather(1, j)", "m.index_select(0, i.abs())", "m.take(j)", "m.masked_select(b)",
    "m.masked_scatter(b, v)", "m.masked_scatter(b, m * 2)", "m.index_add(0, i.abs(), m)",
    "m.index_copy(0, t.tensor([2, 0]), m[:2] * 3)", "m.index_fill(0, i, 3.0)", "m.index_put((i,), m[0] * 2)",
    "m.index_put((i, i), v[:3], True)", "m.scatter(0, j, m[:2, :2] * 2)", "m.scatter_add(0, j, m[:2, :2] * 2)",
    "m.put(j, v[:4])", "m.scatter_reduce(0, j, m[:2, :2] * 2, 'prod')", "m.scatter_reduce(0, j, m[:2, :2] * 2, 'amax')",
    "m.scatter_reduce(0, j, m[:2, :2] * 2, 'mean')", "m.index_reduce(0, i.abs(), m * 2, 'amin')",
    "m.index_reduce(0, i.abs(), m + 9, 'prod')", "t.cat([m, m.t().reshape(3, 4)], 1)", "t.stack([v, v * 2])",
    "F.embedding(j, m, padding_idx=2)", "F.embedding(j, m, scale_grad_by_freq=True)", "m.repeat(2, 3)",
    "v.repeat_interleave(2)", "m.tril()", "m.flip(0)", "m.roll(1, 0)", "m.rot90()", "v.diag_embed(1)", "m.diag()",
    "m.trace()", "F.pad(m, (1, -1))", "F.pad(m, (1, 2), 'reflect')", "F.pad(m, (1, 2), 'replicate')",
    "F.pad(m, (1, 2), 'circular')", "F.unfold(x[None], 2)", "F.fold(x.view(1, 20, 3)[:, :8, :2], (2, 3), 2)",
    "F.pixel_shuffle(x.view(1, 4, 3, 5), 2)", "t.cartesian_prod(v, v)", "t.block_diag(m, v)",
    "t.meshgrid(v, v, indexing='ij')[0]", "m.clone().fill_(z)", "m.clone().copy_(v[:4])",
    "m.take_along_dim(m.detach().argsort(1), 1)", "t.where(b, m, z)", "m.select_scatter(v[:4], 0, 1)",
]


#: What they cannot be computed of, there as here: the index names fewer elements than the source has.
REFUSED_GRADIENTS = [
    "m.scatter(0, j, m * 2)", "m.scatter_add(0, j, m * 2)", "m.scatter_reduce(0, j, m * 2, 'mean')",
    "m.scatter_reduce(0, j, m * 2, 'prod')", "m.scatter_reduce(0, j, m * 2, 'amax')",
]


def gradients(expression: str, t: Any) -> Any:
    """Return the name of an expression's node, its gradients for four leaves, and its value."""
    given = names(t)
    leaves = [given[name].requires_grad_() for name in "xmvz"]
    out = eval(expression, given)
    weights = (t.arange(float(out.numel())) + 1).view(out.shape)
    return out.grad_fn.name(), t.autograd.grad(out, leaves, weights, allow_unused=True), out


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients(expression: str) -> None:
    ours, theirs = (gradients(expression, t) for t in LIBRARIES)
    assert ours[0] == theirs[0]
    assert [grad is None for grad in ours[1]] == [grad is None for grad in theirs[1]]
    assert_same(tensors_in(ours[1:]), tensors_in(theirs[1:]))


@pytest.mark.parametrize("expression", REFUSED_GRADIENTS)
def test_gradients_that_are_refused(expression: str) -> None:
    ours, theirs = (Outcome.of(gradients, expression, t) for t in LIBRARIES)
    assert ours.kind() == theirs.kind() == "RuntimeError", ours.error


def test_an_output_takes_the_result() -> None:
    for t in LIBRARIES:
        out = t.empty(0)
        assert t.cat([t.ones(2), t.zeros(1)], out=out) is out
        assert out.tolist() == [1, 1, 0]
        shared = t.arange(4.0)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            t.gather(shared, 0, t.tensor([1, 0]), out=shared[:2])


def test_a_tensor_with_one_integer_is_an_index_of_lists_and_arrays() -> None:
    assert [10, 20, 30][mindtorch.tensor(1)] == 20
    assert np.arange(3)[mindtorch.tensor([2])] == 2
    assert np.arange(3)[mindtorch.tensor([2, 0])].tolist() == [2, 0]
    with pytest.raises(TypeError):
        [1][mindtorch.tensor(0.5)]


@pytest.mark.parametrize("program", [
    lambda t: t.index_select(t.ones(0, 3), 0, t.tensor([0])), lambda t: t.ones(5, 0).index_select(0, t.tensor([5])),
    lambda t: t.nn.functional.embedding(t.tensor([0]), t.ones(0, 3)),
    lambda t: t.nn.functional.embedding(t.tensor([-1]), t.ones(5, 0)),
    lambda t: t.index_select(t.ones(0, 3), 0, t.tensor([], dtype=t.int64)),
    lambda t: t.ones(()).index_add(0, t.tensor([0, 0]), t.ones(2)),
    lambda t: t.ones(()).index_add(0, t.tensor([0]), t.ones(1)),
    lambda t: t.ones(()).index_add(0, t.tensor([0]), t.ones(())),
    lambda t: t.ones(()).index_reduce(0, t.tensor([0, 0]), t.ones(2), "prod"),
    lambda t: t.ones(3).bool().index_reduce(0, t.tensor([0]), t.ones(1).bool(), "amax"),
    lambda t: t.ones(0).bool().index_reduce(0, t.tensor([], dtype=t.int64), t.ones(0).bool(), "mean"),
    *[lambda t, dtype=dtype, shape=shape, mode=mode, own=own: t.ones(shape, dtype=getattr(t, dtype)).index_reduce(
        0, t.zeros(shape[0], dtype=t.int64), t.ones(shape, dtype=getattr(t, dtype)), mode, include_self=own)
      for dtype in ("bool", "complex64") for shape in ((2, 2), (2, 0), (2,), (0,)) for mode in ("prod", "mean", "amax")
      for own in (True, False)],
])
def test_single_elements_and_empty_dimensions_are_indexed_as_in_pytorch(program) -> None:
    def outcome(t):
        try:
            return program(t).tolist()
        except (RuntimeError, IndexError) as error:  # NotImplementedError is a RuntimeError, too
            return type(error), str(error).splitlines()[0]

    assert outcome(mindtorch) == outcome(torch)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_a_mask_or_a_list_chooses_what_pytorch_chooses(dtype: str) -> None:
    writes: list[Callable[[Any, Any], Any]] = [
        lambda y, i: y[i], lambda y, i: y.__setitem__(i, 1), lambda y, i: y.__setitem__(i, y[i])]

    def run(t: Any) -> list[Any]:
        found: list[Any] = []
        for shape in ((4,), (3, 4), (2, 3, 4), (0, 4)):
            numbers = t.arange(24)[:t.Size(shape).numel()].reshape(shape)
            plain = numbers.to(getattr(t, dtype))
            for x in (plain, plain.mT if len(shape) > 1 else plain[::2]):
                masks = [x.long() % 3 == 0, t.ones(x.shape[:1], dtype=t.bool), t.ones(5, dtype=t.bool), t.tensor(True)]
                for index in (*masks, ([0, 2],), (slice(None), [0, 2]), (slice(None), [[0, -1]]), (Ellipsis, [1, 0]),
                              (slice(None), [9]), (slice(None), slice(None), [1]), (None, [1])):
                    for write in writes:
                        y = x.clone()
                        try:
                            read = write(y, index)
                            found.append((y.tolist(), read if read is None else (read.tolist(), read.stride())))
                        except (IndexError, RuntimeError) as error:
                            found.append(type(error))
        return found

    assert run(mindtorch) == run(torch)


WRITES: list[Callable[[Any, Any], Any]] = [
    lambda t, x: x.zero_(), lambda t, x: x.fill_(2), lambda t, x: x.fill_(-0.0), lambda t, x: x.fill_(2.5),
    lambda t, x: x.fill_(float("nan")), lambda t, x: x.fill_(True), lambda t, x: x.fill_(300),
    lambda t, x: x.masked_fill_(x > 1, 7), lambda t, x: x.masked_fill_(x > 1, 0.1),
    lambda t, x: x.masked_fill_(x > 1, 1e39),
    lambda t, x: x.masked_fill_(x[:1] > 1, 3), lambda t, x: x.masked_fill_(t.tensor(True), 3),
    lambda t, x: x.masked_fill_(x, 1), lambda t, x: x.masked_fill_(t.ones(9, dtype=t.bool), 1),
    lambda t, x: x.scatter_add_(0, t.tensor([1, 0]), t.arange(4).to(x.dtype)),
    lambda t, x: x.scatter_(0, t.tensor([[1, 0]]), t.arange(12).view(3, 4).to(x.dtype)),
    lambda t, x: x.scatter_(-1, t.tensor([[1], [0]]), t.arange(12).view(3, 4).to(x.dtype)),
    lambda t, x: x.scatter_(0, t.tensor([[1, 0]]), t.arange(1).view(1, 1).to(x.dtype)),
    lambda t, x: x.scatter_add_(0, t.tensor([[1, 9]]), t.arange(12).view(3, 4).to(x.dtype)),
    lambda t, x: x.fill_(-3), lambda t, x: x.fill_(1e-8),
    *[lambda t, x, dim=dim: x.index_add_(dim, t.tensor([1, 1]), x.narrow(dim, 0, 2).clone()) for dim in (0, -1)],
    *[lambda t, x, at=at: x.index_put_((t.tensor(at),), x[:2].clone(), accumulate=True) for at in ([1, -2], [1, 9])],
    lambda t, x: x.index_put_((t.tensor([0, 1]), t.tensor([1, 1])), x[0, :2].clone(), accumulate=True),
    lambda t, x: x.put_(t.tensor([1, -3]), x.flatten()[:2].clone(), accumulate=True),
]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_small_tensors_are_written_as_pytorchs_or_writing_is_refused(dtype: str) -> None:
    for shape, write in itertools.product(((4,), (3, 4), (), (0, 4)), WRITES):
        for view in (lambda x: x, lambda x: x.mT if x.dim() > 1 else x, lambda x: x[::2] if x.dim() else x):
            made, refused = [], []
            for t in (mindtorch, torch):
                x = view(t.arange(12)[:t.Size(shape).numel()].reshape(shape).to(getattr(t, dtype)))
                try:
                    made.append((write(t, x) is x, x, x._version))
                except (IndexError, NotImplementedError, RuntimeError, TypeError):
                    refused.append(t)
            assert len(refused) in (0, 2), (shape, WRITES.index(write), refused)
            if made:
                assert made[0][0] and made[0][2] == made[1][2]
                assert_same(made[0][1], made[1][1])


def test_equal_compares_shapes_dtypes_and_elements() -> None:
    def compared(t: Any) -> list[Any]:
        tensors = [t.ones(2), t.ones(2, dtype=t.float64), t.ones(2, dtype=t.int64), t.ones(1, 2),
                   t.tensor([1.0, float("nan")]), t.ones(2, 2)[0], t.ones(2, 2)[:, 0], t.ones(0), t.ones(0, 2),
                   t.tensor(1.0), t.tensor([True, True])]
        return [t.equal(a, b) for a, b in itertools.product(tensors, repeat=2)]

    assert compared(mindtorch) == compared(torch)


# -- repeated places ---------------------------------------------------------------------------------------------------

NUMBERS = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def numbers(t: Any, shape: tuple[int, ...], seed: int, dtype: str, high: int = 4) -> Any:
    """Return small whole numbers from 1, with which every dtype computes exactly."""
    drawn = np.random.default_rng(seed).integers(1, high, shape)
    return t.tensor(drawn.tolist(), dtype=t.int64).reshape(shape).to(getattr(t, dtype))


def places(t: Any, shape: tuple[int, ...], count: int) -> Any:
    """Return places among ``count``, most of them repeated."""
    return numbers(t, shape, 1, "int64", count + 1) - 1


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("at", [(), (1,), (3,), (2, 2), (1, 3), (3, 1), (2, 1, 2), (0,), (2, 0)], ids=str)
def test_values_that_broadcast_are_added_at_repeated_places(dtype: str, at: tuple[int, ...]) -> None:
    """NumPy's ``add.at`` reads past a vector of values that broadcasts to an index of several dimensions."""
    for rows in [(2,), (4,), (3, 4)]:
        whole = (*at, *rows[1:])
        for cut in range(len(whole) + 1):
            for size in {whole[cut:], tuple(1 for _ in whole[cut:]), tuple(
                    1 if d % 2 else n for d, n in enumerate(whole[cut:]))}:
                ours, theirs = (numbers(t, rows, 2, dtype).index_put(
                    (places(t, at, rows[0]),), numbers(t, size, 3, dtype), accumulate=True) for t in LIBRARIES)
                assert_same(ours, theirs)


def combined(t: Any, dtype: str, shape: tuple[int, ...], dim: int, count: int, transposed: bool) -> list[Any]:
    """Return a tensor combined with another one at ``count`` places of a dimension, in each way that there is."""
    x = numbers(t, shape, 2, dtype)
    y = numbers(t, source := (*shape[:dim], count, *shape[dim + 1:]), 3, dtype, 3)
    if transposed and x.dim() > 1:
        x, y = x.mT.contiguous().mT, y.mT.contiguous().mT
    line, each = places(t, (count,), shape[dim]), places(t, source, shape[dim])
    found = [x.index_add(dim, line, y), x.index_add(dim, line, y, alpha=2), x.scatter_add(dim, each, y)]
    if not x.is_complex():
        for reduce, own in itertools.product(("prod", "mean", "amax", "amin"), (True, False)):
            found.append(x.scatter_reduce(dim, each, y, reduce, include_self=own))
            found.append(x.index_reduce(dim, line, y, reduce, include_self=own))
    return found


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)], ids=str)
def test_sums_and_products_at_repeated_places(dtype: str, shape: tuple[int, ...]) -> None:
    for case in itertools.product(range(len(shape)), (0, 1, 5, 40), (False, True)):
        assert_same(combined(mindtorch, dtype, shape, *case), combined(torch, dtype, shape, *case), strides=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("at", [(), (3,), (2, 3), (0,), (2, 0), (40, 2)], ids=str)
def test_gradients_of_rows_that_are_read_repeatedly(dtype: str, at: tuple[int, ...]) -> None:
    def gradients_of(t: Any) -> list[Any]:
        found, embedding = [], t.nn.functional.embedding
        for read in (lambda w, i: w[i], lambda w, i: w.index_select(0, i.reshape(-1)), lambda w, i: embedding(i, w),
                     lambda w, i: embedding(i, w, scale_grad_by_freq=True)):
            weight = numbers(t, (4, 3), 2, dtype).requires_grad_()
            y = read(weight, places(t, at, 4))
            y.backward(numbers(t, tuple(y.shape), 3, dtype, 3))
            found.append(weight.grad)
        return found

    assert_same(gradients_of(mindtorch), gradients_of(torch), strides=False)


RECORDED_INDICES = [
    (..., slice(None, 3)), (..., slice(3, None), None), (slice(None), 1), (0, ..., -1), (..., ),
    (slice(None, None, 2), slice(0, 9)),
    (None, slice(-2, None), None, 2), (slice(1, 1), ...), (1, -1, 4), (slice(0, None), slice(None, 4)),
]


@pytest.mark.parametrize("index", RECORDED_INDICES, ids=str)
@pytest.mark.parametrize("strided", [False, True], ids=["contiguous", "strided"])
def test_an_index_of_what_is_recorded_has_a_node_for_each_item_that_is_no_whole_dimension(strided, index):
    found = []
    for t in LIBRARIES:
        leaf = t.arange(60.0).view(4, 3, 5).requires_grad_()
        view = (leaf.mul(1).transpose(0, 1) if strided else leaf)[index]
        nodes, node = [], view.grad_fn
        while node is not None:
            nodes.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        view.square().sum().backward()
        found.append((nodes, view.tolist(), view.stride(), view.storage_offset(), leaf.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 3, 1), (2, 3), (1, 1, 3)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_rows_are_added_where_other_dimensions_have_one_element(shape: tuple[int, ...], dim: int) -> None:
    def program(t: Any) -> list[Any]:
        seen = []
        for _ in range(3):  # the second call of a layout is planned
            x, at = t.arange(float(math.prod(shape))).reshape(shape), t.tensor([0, 0, shape[dim] - 1])
            rows = [*shape]
            rows[dim] = 3
            source = t.arange(float(math.prod(rows))).reshape(rows)
            seen += [x.index_add(dim, at, source), x.index_reduce(dim, at, source, "amax"),
                     x.index_copy(dim, at, source)[..., :0], x.index_fill(dim, at, 7.0)]
        return [(found.tolist(), found.shape) for found in seen]

    assert program(mindtorch) == program(torch)


def written_in_other_orders(t: Any, dtype: str, order: tuple[int, ...], shape: tuple[int, ...]) -> list[Any]:
    """Return what writes make, three times each, of a tensor that is contiguous in an order of its dimensions."""
    x = numbers(t, tuple(shape[d] for d in order), 2, dtype).permute([order.index(d) for d in range(len(shape))])
    found: list[Any] = []
    for dim in range(len(shape)):
        line, y = places(t, (shape[dim],), shape[dim]), numbers(t, shape, 3, dtype)
        each, other = places(t, shape, shape[dim]), t.arange(shape[dim]).flip(0)
        for _ in range(3):
            found += [x.index_add(dim, line, y), x.scatter_add(dim, each, y.mT.contiguous().mT), x.gather(dim, each),
                      x.scatter(dim, each, 7), x.index_copy(dim, other, y), x.index_fill(dim, line, 5),
                      x.clone().scatter_reduce_(dim, each, y, "amax", include_self=False)]
            if not dim:
                found += [x.index_put((line,), y, accumulate=True), x.index_put((other,), y), x.index_put(
                    (line[:, None], places(t, (3,), shape[1])), y[0, 0], accumulate=True), x.index_put((-line,), y[0])]
    return found


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16"])
@pytest.mark.parametrize("order, shape", [((1, 0), (3, 4)), ((2, 0, 1), (4, 5, 3)), ((1, 0), (50, 60)),
                                          ((0, 2, 1), (3, 40, 40))], ids=str)
def test_writes_keep_the_order_of_the_memory(dtype: str, order: tuple[int, ...], shape: tuple[int, ...]) -> None:
    ours, theirs = (written_in_other_orders(t, dtype, order, shape) for t in LIBRARIES)
    assert_same(ours, theirs)


def test_an_index_out_of_bounds_is_refused_by_a_plan_for_another_order_of_memory() -> None:
    for shape in ((3, 4), (60, 50)):
        x, y = mindtorch.zeros(shape[::-1]).t(), mindtorch.ones(shape)
        for at in (0, 0, 0, shape[1]):
            index = mindtorch.full((shape[1],), at)
            if at:
                with pytest.raises(RuntimeError, match=f"index {at} is out of bounds for dimension 1 with size {at}"):
                    x.scatter_add(1, index.expand(shape).contiguous(), y)
            else:
                x.scatter_add(1, index.expand(shape).contiguous(), y)


@pytest.mark.parametrize("dtype", ["bool", "int64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 0), (4, 5), (70, 80), (3, 40, 50)], ids=str)
def test_elements_that_are_found_are_those_of_pytorch(dtype: str, shape: tuple[int, ...]) -> None:
    for low, masked in ((0, True), (1, True), (1, False)):
        found = []
        for t in LIBRARIES:
            x = (numbers(t, shape, 4, "int64", low + 4) - 1).to(getattr(t, dtype)) * masked
            turned = x.mT.contiguous().mT if len(shape) > 1 else x
            chosen = numbers(t, shape, 5, "int64", 3) > 1
            found.append([[t.nonzero(y), t.nonzero(y, as_tuple=True), t.unique(y, True, True, True),
                           t.unique_consecutive(y, return_counts=True), y.masked_scatter(chosen, x),
                           y.masked_select(chosen), y.masked_select(chosen | True),
                           (y[:1] if shape and shape[-1] else y).masked_scatter(chosen, x)]
                          for y in (x, turned) for _ in range(3)])
        assert_same(*found)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (2, 0)], ids=str)
def test_few_elements_are_put_in_order_as_by_pytorch(dtype: str, shape: tuple[int, ...]) -> None:
    found = []
    for t in LIBRARIES:
        x = (numbers(t, shape, 4, "int64") - 1).to(getattr(t, dtype))
        found.append([[x.sort(stable=True, dim=0), x.sort(stable=True, dim=0, descending=True), x.msort(), x.argsort(0),
                       x.cummax(0), x.cummin(0), *([] if x.numel() == 0 else [x.max(0), x.min(0, keepdim=True)]),
                       *([x.logcumsumexp(0)] if x.is_floating_point() else []), t.equal(x, x.clone())]
                      for _ in range(3)])
    assert_same(*found)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16"])
def test_positions_in_a_line_are_those_of_pytorch_in_each_form(dtype: str) -> None:
    found = []
    for t in LIBRARIES:
        line = t.tensor([1, 5, 2, 9, 7, 3, 8]).to(getattr(t, dtype))  # in which the steps decide
        x, backwards, out = numbers(t, (2, 3), 2, dtype, 9), t.arange(6, -1, -1), t.empty(2, 3, dtype=t.int64)
        result = t.searchsorted(line, x, right=True, out=out)
        found.append([result, out, t.searchsorted(line, x, sorter=backwards), t.searchsorted(line, x[0, :1]),
                      t.bucketize(x[0, 0], line), t.searchsorted(line, 5),
                      t.bucketize(x[:1, :1], line, out_int32=True)])
        for number in (*line, *(line + 1), *(line - 9)):
            found[-1] += [t.searchsorted(line, number, right=right) for right in (False, True)]
            found[-1] += [t.bucketize(number.reshape(1, 1), line), t.searchsorted(line[:0], number)]
        if line.is_floating_point():
            line[2] = math.nan
            found[-1] += [t.bucketize(x[0, 0], line), t.bucketize(line[2], line), t.searchsorted(line, x)]
        assert result is out
    assert_same(*found)


@pytest.mark.parametrize("shape", [(9,), (3, 3), (0,), (2,)], ids=str)
def test_sequences_are_written_into_outputs_of_any_shape(shape: tuple[int, ...]) -> None:
    ours, theirs = ([t.arange(9, out=t.zeros(shape)), t.linspace(0, 8, 9, out=t.zeros(shape)), t.rand(
        9, out=t.zeros(shape)) * 0] for t in LIBRARIES)
    assert_same(ours, theirs)
