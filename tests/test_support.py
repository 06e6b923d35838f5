"""The tests' own helpers: what is carried over arrives unchanged, and `assert_same` sees every difference."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import mindtorch
from tests.conftest import left_out
from tests.support import Unportable, alias_signature, assert_same, port, torch

DTYPES = [torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64, torch.complex64, torch.complex128]


@pytest.mark.parametrize("lib", [torch, mindtorch])
@pytest.mark.parametrize("dtype", DTYPES)
def test_port_keeps_dtype_shape_stride_offset_and_values(lib, dtype: torch.dtype) -> None:
    flat = torch.arange(24, dtype=torch.float32).to(dtype)
    for tensor in (flat, flat[3], flat.view(4, 6).t(), flat.view(4, 6)[1:, ::2], flat[:1].expand(3, 2),
                   flat[:0], torch.empty(0, 3, dtype=dtype), flat.as_strided((2, 2, 3), (1, 5, 2), 4)):
        assert_same(port(tensor, lib), tensor)


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_port_keeps_shared_storages_and_identity(lib) -> None:
    base = torch.arange(6.0)
    a, b, c, d = port([base, base[2:], base, base.clone()], lib)
    assert a is c
    signature = [entry["storage"] for entry in alias_signature([b, c, d], [a])]
    assert signature == [["input 0"], ["input 0", "output 0"], []]
    a.zero_()
    assert b.tolist() == [0.0] * 4 and not any(t._is_view() for t in (a, b))


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_port_keeps_grad_and_leaves(lib) -> None:
    leaf = torch.ones(3, requires_grad=True)
    for tensor in (leaf, leaf * 2, leaf.detach()):
        ours = port(tensor, lib)
        assert ours.requires_grad == tensor.requires_grad and ours.is_leaf


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_port_carries_every_kind_of_argument(lib) -> None:
    arguments = [torch.float32, torch.device("cpu"), torch.Size([2, 3]), torch.channels_last, torch.strided,
                 slice(1, None, 2), ..., None, 1, 2.5, 3j, "sum", True, {"dim": (0, 1)}]
    ours = port(arguments, lib)
    assert ours == [lib.float32, lib.device("cpu"), lib.Size([2, 3]), lib.channels_last, lib.strided,
                    slice(1, None, 2), ..., None, 1, 2.5, 3j, "sum", True, {"dim": (0, 1)}]
    assert port(torch.Generator().manual_seed(7), lib).initial_seed() == 7
    assert port(torch.ones(2, 3)[:, 1], lib, "meta").device.type == "meta"


def test_port_refuses_what_has_no_counterpart() -> None:
    for value in (torch.ones(2).to_sparse(), torch.ones(2, dtype=torch.complex64).conj(), object()):
        with pytest.raises(Unportable):
            port(value, torch)


WRONG = [
    ("value", lambda x: x + 1e-3),
    ("dtype", lambda x: x.double()),
    ("shape", lambda x: x[None]),
    ("stride", lambda x: x.t().contiguous().t()),
    ("offset", lambda x: torch.cat([torch.zeros(1, 3), x])[1:]),
    ("requires_grad", lambda x: x.clone().requires_grad_()),
    ("device", lambda x: x.to("meta")),
    ("conj", lambda x: x.to(torch.complex64).conj()),
    ("alias storage", lambda x: x.clone()),
    ("alias view", lambda x: x.view(2, 3)),
    ("type", lambda x: x.numpy()),
    ("type", lambda x: [x]),
]


@pytest.mark.parametrize(("kind", "alter"), WRONG)
def test_assert_same_names_the_difference(kind: str, alter: Callable[[torch.Tensor], object]) -> None:
    x = torch.arange(6.0).view(2, 3).clone()
    assert_same(x, x, alias=([x], [x]))
    with pytest.raises(AssertionError, match=re.escape(kind)):
        assert_same(alter(x), x, alias=([x], [x]))


def test_of_a_sampled_test_every_nth_case_is_kept() -> None:
    marks = {"slow": pytest.mark.sampled(3), "quick": None}
    cases = [SimpleNamespace(nodeid=f"tests/test_{kind}.py::test[{i}]", get_closest_marker=lambda _, mark=mark: mark)
             for kind, mark in marks.items() for i in range(7)]
    left = [case.nodeid for case in left_out(cases)]  # type: ignore[arg-type]
    assert left == [f"tests/test_slow.py::test[{i}]" for i in (1, 2, 4, 5)]
