"""Programs that PyTorch warns about are warned about, in its words; some of it once in a process, as PyTorch does."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._base.call_site import Told
from tests.support import torch

PROGRAMS = {
    "float of what requires grad": lambda lib: float(lib.ones(1, requires_grad=True)),
    "complex of what requires grad": lambda lib: complex(lib.ones(1, requires_grad=True)),
    "int of what requires grad": lambda lib: int(lib.ones(1, requires_grad=True)),
    "item of what requires grad": lambda lib: lib.ones(1, requires_grad=True).item(),
    "float of what requires grad, without grad mode":
        lambda lib: lib.no_grad()(float)(lib.ones(1, requires_grad=True)),
    "float of what does not": lambda lib: float(lib.ones(1)),
    "stft without a window": lambda lib: lib.stft(lib.arange(16.), 8, return_complex=True),
    "stft with a window": lambda lib: lib.stft(lib.arange(16.), 8, window=lib.ones(8), return_complex=True),
    "istft without a window": lambda lib: lib.istft(lib.ones(5, 9, dtype=lib.complex64), 8),
    "tensor of a tensor": lambda lib: lib.tensor(lib.ones(2)),
    "new_tensor of a tensor": lambda lib: lib.ones(2).new_tensor(lib.ones(2)),
    "as_tensor of a tensor": lambda lib: lib.as_tensor(lib.ones(2), dtype=lib.float64),
    "tensor of arrays": lambda lib: lib.tensor([np.ones(2)] * 2),
    "tensor of lists of arrays": lambda lib: lib.tensor([[np.ones(2)]] * 2),
    "where of bytes": lambda lib: lib.where(lib.tensor([1, 0], dtype=lib.uint8), 1., 2.),
    "cholesky": lambda lib: lib.cholesky(lib.eye(2)),
    "linalg.cholesky": lambda lib: lib.linalg.cholesky(lib.eye(2)),
    "qr": lambda lib: lib.qr(lib.eye(2)),
    "lu": lambda lib: lib.lu(lib.eye(2)),
    "lu_solve": lambda lib: lib.lu_solve(lib.ones(2, 1), *lib.linalg.lu_factor(lib.eye(2))),
    "triangular_solve": lambda lib: lib.triangular_solve(lib.ones(2, 1), lib.eye(2)),
    "chain_matmul": lambda lib: lib.chain_matmul(lib.eye(2), lib.eye(2)),
    "index_reduce": lambda lib: lib.ones(2).index_reduce(0, lib.tensor([0]), lib.ones(1), "prod"),
    "svd": lambda lib: lib.svd(lib.eye(2)),
    "backward with create_graph": lambda lib: (lib.ones(1, requires_grad=True) * 2).backward(create_graph=True),
    "grad with create_graph": lambda lib: lib.autograd.grad((x := lib.ones(1, requires_grad=True)) * 2, x,
                                                            create_graph=True),
    "set_default_tensor_type": lambda lib: lib.set_default_tensor_type("torch.FloatTensor"),
    "std of one": lambda lib: lib.ones(1).std(),
    "variances without results": lambda lib: (lib.ones(0, 1).var(1), lib.ones(0, 3).std(1, correction=0)),
    "random integers that a dtype cannot hold": lambda lib: lib.empty(1, dtype=lib.float16).random_(2**12),
    "indexing with bytes": lambda lib: lib.ones(2)[lib.tensor([1, 0], dtype=lib.uint8)],
    "meshgrid without indexing": lambda lib: lib.meshgrid(lib.arange(2), lib.arange(2)),
    "complex to real": lambda lib: lib.ones(2, dtype=lib.complex64).float(),
    "MSELoss that broadcasts": lambda lib: lib.nn.functional.mse_loss(lib.ones(3), lib.ones(3, 1)),
    "convolution padded to its size by an odd number": lambda lib: lib.nn.functional.conv1d(
        lib.ones(1, 1, 4), lib.ones(1, 1, 2), padding="same"),
    "convolution padded to its size by an even number": lambda lib: lib.nn.functional.conv1d(
        lib.ones(1, 1, 4), lib.ones(1, 1, 2), padding="same", dilation=2),
    "Softmax without dim": lambda lib: lib.nn.Softmax()(lib.ones(2, 2)),
    "T of three dimensions": lambda lib: lib.ones(2, 2, 2).T,
    "LSTM of one layer with dropout": lambda lib: lib.nn.LSTM(2, 2, dropout=.5),
    **{f"{name} tensors": lambda lib, to=to: to(lib.eye(2)) for name, to in {
        "CSR": lambda x: x.to_sparse_csr(), "CSC": lambda x: x.to_sparse_csc(),
        "BSR": lambda x: x.to_sparse_bsr((1, 1)), "BSC": lambda x: x.to_sparse_bsc((1, 1))}.items()},
    **{f"sparse tensors, checked: {checked}": lambda lib, checked=checked: (
        lib.sparse_coo_tensor([[0]], [1.], check_invariants=checked),
        lib.sparse_csr_tensor([0, 1], [0], [1.], check_invariants=checked)) for checked in (None, True, False)},
    "quantised tensors": lambda lib: lib.quantize_per_tensor(lib.ones(2), .1, 0, lib.qint8),
    "complex half precision": lambda lib: (lib.ones(2, dtype=lib.complex32), lib.ones(2).half() * 1j),
    "Hardtanh of old": lambda lib: lib.nn.Hardtanh(min_value=0),
    "out= that is resized": lambda lib: lib.add(lib.ones(2), 1, out=lib.ones(3)),
}


@pytest.fixture
def always():
    """Warnings that are told once are told each time, and are forgotten afterwards."""
    libraries = [mindtorch] if torch is None else [mindtorch, torch]
    for lib in libraries:
        lib.set_warn_always(True)
    yield
    for lib in libraries:
        lib.set_warn_always(False)


def told(program: Any, lib: Any) -> list[tuple[type, str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program(lib)
    return [(item.category, str(item.message).partition(" (Triggered internally")[0]) for item in found]


@pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_warns_as_it_does_in_pytorch(name: str, always) -> None:
    assert {*told(PROGRAMS[name], mindtorch)} == {*told(PROGRAMS[name], torch)}


def test_a_warning_names_the_line_of_the_program(always) -> None:
    x = mindtorch.ones(1, requires_grad=True)
    for program in (lambda: float(x), lambda: mindtorch.tensor(x), lambda: mindtorch.cholesky(mindtorch.eye(1)),
                    lambda: (x * 1).backward(create_graph=True), lambda: x.detach().where(x > 0, 1.),
                    x.var, lambda: mindtorch.std_mean(x.half(), 0), lambda: mindtorch.ones(1000, 1).var(1)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            program()
        assert {item.filename for item in found} <= {__file__}


def test_a_warning_is_told_once_unless_always_is_asked(monkeypatch) -> None:
    monkeypatch.setattr(Told, "once", set())
    x = mindtorch.ones(1, requires_grad=True)
    assert len(told(lambda lib: [float(x) for _ in range(3)], mindtorch)) == 1
    assert told(lambda lib: float(x), mindtorch) == []
    mindtorch.set_warn_always(True)
    try:
        assert len(told(lambda lib: [float(x) for _ in range(3)], mindtorch)) == 3
    finally:
        mindtorch.set_warn_always(False)


def test_a_storage_of_elements_is_deprecated(monkeypatch) -> None:
    monkeypatch.setattr(Told, "once", set())
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        mindtorch.ones(2).storage()
    assert told(lambda lib: lib.ones(2).storage(), mindtorch) == []


@pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")
@pytest.mark.parametrize("program", [
    lambda lib: lib.ones(4).put_(lib.arange(2), lib.ones(2)),
    lambda lib: lib.ones(4).put_(lib.arange(2), lib.ones(2), accumulate=True),
    lambda lib: lib.nn.functional.max_unpool1d(lib.ones(1, 1, 2), lib.tensor([[[0, 2]]]), 2),
    lambda lib: lib.nn.functional.max_unpool3d(lib.ones(1, 1, 1, 1, 1), lib.zeros(1, 1, 1, 1, 1, dtype=lib.int64), 2),
], ids=["put_", "put_ that adds", "max_unpool1d", "max_unpool3d"])
def test_what_is_not_deterministic_is_refused_or_told_where_determinism_is_asked(program, always) -> None:
    found = []
    for lib in (mindtorch, torch):
        try:
            lib.use_deterministic_algorithms(True)
            try:
                refused = program(lib) is None
            except RuntimeError as error:
                refused = str(error)
            lib.use_deterministic_algorithms(True, warn_only=True)
            found.append((refused, told(program, lib)))
        finally:
            lib.use_deterministic_algorithms(False)
    assert found[0] == found[1]


def test_a_factorization_by_plan_warns_as_its_first_call_does(always) -> None:
    for program in (lambda lib: lib.cholesky(lib.eye(3)), lambda lib: lib.triangular_solve(lib.ones(3, 1), lib.eye(3))):
        assert len(told(lambda lib, run=program: [run(lib) for _ in range(4)], mindtorch)) == 4
