"""Every simulated kernel computes what PyTorch computes: for several dtypes, contiguous and strided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mindtorch._backends.npu.bindings import binding, names  # noqa: E402
from mindtorch._backends.npu.simulator.kernels import KERNELS  # noqa: E402
from mindtorch._dtype import DTYPES, dtypes  # noqa: E402

from .cases import CASES, Case, Draw  # noqa: E402

TRIED = "bool|int32|int64|reduced|float32"
TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}
#: Operators that draw random numbers, which have tests of their own.
RANDOM = {
    "aclnn" + name
    for name in (
        "InplaceNormal", "InplaceUniform", "InplaceRandom", "InplaceBernoulli", "InplaceBernoulliTensor", "Bernoulli",
        "BernoulliTensor", "NormalTensorTensor", "NormalTensorFloat", "NormalFloatTensor", "NormalFloatFloat",
        "Randperm", "Multinomial", "DropoutGenMask", "DropoutDoMask",
    )
}
#: Operators that take no tensor that would say which dtype the output has.
FILLING = {"aclnnInplaceZero", "aclnnInplaceOne", "aclnnInplaceFillScalar", "aclnnArange", "aclnnLinspace", "aclnnEye"}


def dtypes_of(case: Case) -> list[str]:
    found = sorted(d.name for d in dtypes(case.only or TRIED) & dtypes(binding(case.name).takes))
    assert found, case
    return found


def kinds_of(number: int, case: Case) -> list[str]:
    """Return a case's dtypes; of those that kernels treat alike, one half and one integer, every other case another."""
    found = dtypes_of(case)
    for alike in (("float16", "bfloat16"), ("int32", "int64")):
        if set(alike) <= set(found):
            found.remove(alike[number % 2])
    return found


#: Case, dtype, and whether the operands have gaps: float32 (or the first dtype) with and without, all others with gaps.
RUNS = [(i, dtype, gaps) for i, case in enumerate(CASES) for kinds in [kinds_of(i, case)] for dtype in kinds
        for gaps in ((False, True) if dtype == ("float32" if "float32" in kinds else kinds[0]) else (True,))]


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """A copy of a tensor's values."""
    tensor = tensor.detach().resolve_conj().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(DTYPES["bfloat16"].np).copy()
    return tensor.numpy().copy()


def strided(array: np.ndarray) -> np.ndarray:
    """The same values with gaps between them, and the dimensions in memory the other way round."""
    room = np.zeros(tuple(2 * n for n in reversed(array.shape)), array.dtype)
    view = room[(..., *(slice(None, None, 2) for _ in array.shape))].T
    view[...] = array
    return view


def laid_out(array: np.ndarray, gaps: bool, writable: bool) -> np.ndarray:
    out = strided(array) if gaps else array.copy()
    out.flags.writeable = writable
    return out


def passed(kind: str, value: Any, gaps: bool) -> Any:
    """A value as a kernel gets it."""
    if value is None:
        return None
    if kind in ("tensor", "ref"):
        return laid_out(array_of(value), gaps, kind == "ref")
    if kind == "tensors":
        return [laid_out(array_of(item), gaps, False) for item in value]
    if kind == "scalar":
        return {bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)
    if kind == "dtype":
        return DTYPES[str(value).removeprefix("torch.")]
    return value


def room_for(expected: Any, gaps: bool) -> Any:
    """An output, which holds nothing that could be right."""
    if expected is None:
        return None
    if isinstance(expected, list):
        return [room_for(item, gaps) for item in expected]
    out = array_of(expected)
    out.view(np.uint8 if out.ndim else out.dtype).fill(1)
    return laid_out(out, gaps, True)


def outcome(case: Case, values: tuple[Any, ...]) -> list[Any]:
    """What PyTorch writes, as a list."""
    clones = [value.clone() if isinstance(value, torch.Tensor) else value for value in values]
    found = case.expected(*clones)
    return list(found) if isinstance(found, tuple) else [found]


def run(case: Case, dtype: str, gaps: bool) -> tuple[list[Any], list[Any]]:
    """What is written, and what PyTorch writes."""
    row, values = binding(case.name), case.values(Draw(getattr(torch, dtype)))
    expected = outcome(case, values)
    if case.name in FILLING:
        expected = [expected[0].to(getattr(torch, dtype))]
    given, results, args = iter(values), iter(expected), []
    for parameter in row.parameters:
        if parameter.kind in ("out", "outs"):
            args.append(room_for(next(results), gaps))
        else:
            if parameter.kind == "ref":
                next(results)
            args.append(passed(parameter.kind, next(given), gaps))
    shapes = KERNELS[case.name](*args)
    found = [args[i] for i in row.writes]
    if shapes is not None:
        assert [tuple(e.shape) for e in expected] == shapes
    return found, expected


def check(found: Any, expected: Any, dtype: str) -> None:
    if expected is None:
        assert found is None
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            check(one, other, dtype)
    else:
        want = array_of(expected)
        assert found.shape == want.shape
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(found, want)
        else:
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            tolerance = TOLERANCE.get(dtype, 1e-6)
            np.testing.assert_allclose(found.astype(wide), want.astype(wide), tolerance, tolerance)


@pytest.mark.parametrize("number, dtype, gaps", RUNS, ids=[
    f"{CASES[i].name}-{i}-{dtype}-{'strided' if gaps else 'contiguous'}" for i, dtype, gaps in RUNS])
def test_a_kernel_computes_what_pytorch_computes(number: int, dtype: str, gaps: bool) -> None:
    found, expected = run(CASES[number], dtype, gaps)
    for one, other in zip(found, expected, strict=True):
        check(one, other, dtype)


def test_every_row_has_a_kernel_and_a_case() -> None:
    assert set(KERNELS) == set(names())
    assert {case.name for case in CASES} | RANDOM == set(names())
