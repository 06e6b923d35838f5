"""Tensors from numbers, sequences, arrays and buffers; conversions; copies; other libraries' memory."""
from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import assert_same

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")

NUMBERS = st.one_of(st.booleans(), st.integers(-1000, 1000), st.floats(width=32), st.complex_numbers(max_magnitude=1e3))


def is_ragged(data) -> bool:
    try:
        np.array(data)
    except ValueError:
        return True
    return False


@settings(max_examples=150, deadline=None)
@given(st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=8))
def test_tensor_of_nested_numbers_is_pytorchs_or_raises_as_it_does(data):
    try:
        theirs = torch.tensor(data)
    except Exception as error:
        with pytest.raises(type(error)):
            mindtorch.tensor(data)
        return
    # PyTorch drops in silence what comes after an empty list, as in [[], [1]]
    if not theirs.numel() and is_ragged(data):
        with pytest.raises((ValueError, TypeError), match="sequence"):
            mindtorch.tensor(data)
        return
    assert_same(mindtorch.tensor(data), theirs, rtol=0, atol=0)


def test_meta_sequences_have_any_dtype():
    for name in ("bool", "complex64"):
        pairs = ((t, {"dtype": getattr(t, name), "device": "meta"}) for t in (mindtorch, torch))
        made = ((t.arange(5, **options), t.arange(0, 5, 2, out=t.empty(0, **options))) for t, options in pairs)
        for ours, theirs in zip(*made, strict=True):
            assert_same(ours, theirs)


@pytest.mark.parametrize("make", [
    lambda t: t.tensor([np.float64(1), np.float64(2)]), lambda t: t.tensor([1, 2.5]), lambda t: t.tensor([True, 2]),
    lambda t: t.tensor(np.arange(6).reshape(2, 3)), lambda t: t.tensor([t.tensor(1.0), t.tensor(2.0)]),
    lambda t: t.tensor([[]]), lambda t: t.tensor(range(4)), lambda t: t.tensor(5, dtype=t.uint8),
    lambda t: t.tensor(np.float16(2)), lambda t: t.as_tensor([1, 2], dtype=t.float32), lambda t: t.asarray([1, 2]),
    lambda t: t.scalar_tensor(3), lambda t: t.Tensor(2, 0), lambda t: t.Tensor(), lambda t: t.Tensor([1, 2]),
    lambda t: t.LongTensor([1, 2]), lambda t: t.FloatTensor(0),
    lambda t: t.full((2, 2), True), lambda t: t.full((2,), 1), lambda t: t.full((), 2.5), lambda t: t.arange(1, 10, 3),
    lambda t: t.linspace(t.tensor(1), 2, 3), lambda t: t.linspace(0, t.tensor(1j), 3), lambda t: t.logspace(
        t.tensor(1.0, requires_grad=True), t.tensor(True), 3, 2), lambda t: t.linspace(
            t.tensor(1.0, device="meta"), 2, 3), lambda t: t.signal.windows.kaiser(5, device="meta"),
    lambda t: t.arange(0, 1, 0.3), lambda t: t.range(1, 3), lambda t: t.linspace(0, 1, 7),
    lambda t: t.logspace(0, 2, 5), lambda t: t.eye(3, 2), lambda t: t.ones(2).new_zeros(3, 2),
    lambda t: t.ones(2).new_tensor([1, 2]),
    lambda t: t.ones(2, dtype=t.int16).new_full((2,), 7), lambda t: t.empty_strided((2, 3), (1, 2)).zero_(),
    lambda t: t.zeros_like(t.ones(2, 3).t()), lambda t: t.ones_like(t.ones(2, 3)[:, ::2], dtype=t.int64),
    lambda t: t.ones(2, 3).to(t.int32), lambda t: t.ones(2).to("cpu", t.float64),
    lambda t: t.ones(2).to(t.ones(1).double()), lambda t: t.ones(2).type(t.int8),
    lambda t: t.ones(2).type("torch.DoubleTensor"), lambda t: t.tensor([1.7, -1.7]).long(),
    lambda t: t.tensor([0.0, 2.0]).bool(), lambda t: t.tensor([1 + 2j]).to(t.complex128),
    lambda t: t.tensor([300]).to(t.uint8), lambda t: t.tensor([t.ones(1), 2]), lambda t: t.tensor([t.ones(1, 1)]),
    lambda t: t.tensor([[t.ones(()), t.ones(1)]]), lambda t: t.tensor([[1.0, 2.0], t.ones(2)]),
])
def test_values_dtype_and_strides_are_pytorchs(make):
    assert_same(make(mindtorch), make(torch))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "complex64"])
@pytest.mark.parametrize(("start", "end", "step"), [
    (0, 1, 0.01), (-3.7, 12.9, 0.103), (5, -7.25, -0.37), (0.5, 5, 1.5), (-2, 9, 3), (2.5, 1e3, 1.7),
])
def test_sequences_are_pytorchs_to_the_last_bit(dtype, start, end, step):
    """PyTorch rounds once for each element, and counts anew at each vector register and from each end."""
    ours, theirs = getattr(mindtorch, dtype), getattr(torch, dtype)
    for steps in (0, 1, 2, 50, 333):
        assert_same(mindtorch.linspace(start, end, steps, dtype=ours), torch.linspace(start, end, steps, dtype=theirs),
                    rtol=0, atol=0)
    if dtype == "complex64":
        with pytest.raises(NotImplementedError, match="\"arange_cpu\" not implemented for 'ComplexFloat'"):
            mindtorch.arange(start, end, step, dtype=ours)
    elif int(step) or dtype != "int64":
        assert_same(mindtorch.arange(start, end, step, dtype=ours), torch.arange(start, end, step, dtype=theirs),
                    rtol=1e-15 if dtype == "float64" else 0, atol=0)  # its last bit depends on the compiler


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_linspace_gives_zeros_the_signs_that_pytorch_gives_them(dtype):
    ends = (-3.0, -0.0, 0.0, 0.3, 1.5)
    for start, end, steps in itertools.product(ends, ends, (1, 2, 3, 5, 16, 33)):
        ours, theirs = [lib.linspace(start, end, steps, dtype=getattr(lib, dtype)) for lib in (mindtorch, torch)]
        assert_same(ours, theirs, rtol=0, atol=0)
        assert ours.signbit().tolist() == theirs.signbit().tolist()


@pytest.mark.parametrize("make", [
    lambda t: t.linspace(0, 1j, 3, dtype=t.float32), lambda t: t.linspace(0, 3, 3, dtype=t.bool),
    lambda t: t.linspace(t.tensor([1.0]), t.tensor(2.0), 3), lambda t: t.logspace(1, t.ones(2), 3),
    lambda t: t.linspace(0, 300, 3, dtype=t.uint8), lambda t: t.linspace(0, 1, -1), lambda t: t.arange(0, 1, 0),
    lambda t: t.arange(3, dtype=t.bool), lambda t: t.arange(0, 5, 0.3, dtype=t.int64),
    lambda t: t.tensor([t.ones(2), t.ones(2)]), lambda t: t.as_tensor([1, t.ones(2)]), lambda t: t.tensor([t.ones(0)]),
    lambda t: t.tensor([t.ones(2, dtype=t.int64)]),
])
def test_sequences_that_cannot_be_raise_pytorchs_error(make):
    with pytest.raises((RuntimeError, ValueError, TypeError)) as theirs:
        make(torch)
    with pytest.raises(theirs.type) as ours:
        make(mindtorch)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]


class Listed:
    """A sequence that is no list."""

    def __init__(self, values, whole=True):
        self.values, self.whole = values, whole

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        if not self.whole:
            raise TypeError
        return self.values[index]


def itself():
    values = [0]
    values.append(values)
    return values


@each_program(
    lambda t: t.tensor(Listed([1.0, 2.0])), lambda t: t.tensor(Listed([1.0, 2.0], whole=False)),
    lambda t: t.tensor(itself()), lambda t: t.as_tensor(itself()),
    lambda t: t.asarray(np.float64(0.5), copy=False), lambda t: t.asarray(np.float64(0.5), copy=True),
    lambda t: t.empty(2, 4, 2**29, 2**29, dtype=t.float64), lambda t: t.zeros(2**62),
    lambda t: t.ones(()).new_empty_strided((2,), ()), lambda t: t.empty_strided((2,), ()),
    lambda t: t.empty_strided([2], [3]).stride(),
    lambda t: t.full((2,), t.tensor(0.5, requires_grad=True)), lambda t: t.full((2,), t.tensor(0.5)),
    lambda t: type("Own", (t.FloatTensor,), {}),
)
def test_what_tensors_are_made_of_is_checked(program):
    assert_same_outcome(program)


@pytest.mark.parametrize("sizes", [
    lambda t: (3.0, 4), lambda t: (np.array(3.0), 4), lambda t: (t.tensor(3.0), t.tensor(4)),
    lambda t: t.tensor([3, 3]), lambda t: (3, t.tensor([4, 4])),
])
def test_sizes_are_whole_numbers(sizes):
    for lib in (mindtorch, torch):
        with pytest.raises(TypeError):
            lib.ones(sizes(lib))
        assert lib.ones((lib.tensor(3), np.int64(4))).shape == (3, 4)


@pytest.mark.parametrize("wrong", [(1.5,), (True,), {1: 1}, 1, None])
def test_strides_are_whole_numbers(wrong):
    for lib in (mindtorch, torch):
        for arguments in (((1,), wrong), (wrong, (1,))):
            with pytest.raises(TypeError):
                lib.empty_strided(*arguments)


#: Layouts to make tensors like: rows, permuted, with gaps, expanded, channels-last, with sizes of one and of none.
LIKE = {
    "rows": lambda t: t.ones(2, 3), "transposed": lambda t: t.ones(2, 3).t(),
    "permuted": lambda t: t.ones(2, 3, 4).permute(2, 0, 1), "with gaps": lambda t: t.ones(4, 6)[::2, 1::2],
    "expanded": lambda t: t.ones(3, 1).expand(3, 4), "a number": lambda t: t.ones(()),
    "channels-last": lambda t: t.ones(2, 3, 4, 5).to(memory_format=t.channels_last),
    "a column": lambda t: t.ones(1, 4).t(), "without elements": lambda t: t.ones(0, 3).t(),
}
OPTIONS = [lambda t: {}, lambda t: {"dtype": t.float16}, lambda t: {"dtype": t.uint8}, lambda t: {"device": "cpu"},
           lambda t: {"memory_format": t.contiguous_format}, lambda t: {"memory_format": t.preserve_format},
           lambda t: {"dtype": t.complex64, "memory_format": t.contiguous_format}]


@pytest.mark.parametrize("layout", LIKE)
def test_factories_of_tensors_like_others_keep_the_strides_that_pytorchs_keep(layout: str) -> None:
    def made(t: Any, options: dict[str, Any]) -> list[Any]:
        x = LIKE[layout](t)
        return [t.zeros_like(x, **options), t.ones_like(x, **options), t.full_like(x, 2.5, **options),
                t.full_like(x, -1, **options), t.empty_like(x, **options).zero_(), t.full_like(x, True, **options),
                t.fill(x, 2.5), t.fill(x, True), t.fill(x, t.tensor(3))]

    for options in OPTIONS * 3:  # later calls by the plans that the second ones make
        for ours, theirs in zip(*[made(t, options(t)) for t in (mindtorch, torch)], strict=True):
            assert_same(ours, theirs)
            assert ours.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex32"])
@pytest.mark.parametrize("number", [1 + 2**-11 + 2**-30, 1 + 2**-8 + 2**-40, 65000, -7.3, 65520, 1e-9, float("nan")])
def test_numbers_fill_half_precision_as_float32_rounds_them_first(dtype: str, number: float) -> None:
    def filled(t: Any, count: int) -> list[Any]:
        half = getattr(t, dtype)
        x = t.zeros(count, dtype=half)
        try:
            made = [t.full((count,), number, dtype=half), t.full_like(x, number), x.new_full((count,), number),
                    x.clone().fill_(number), t.fill(x, number)]
        except RuntimeError as error:
            return [type(error)]
        return [str(tensor.tolist()) for tensor in made]  # as text, which shows NaN

    assert [filled(mindtorch, count) for count in (1, 3)] == [filled(torch, count) for count in (1, 3)]


def test_complex_numbers_fill_in_single_precision_where_the_default_is_half():
    for lib in (mindtorch, torch):
        lib.set_default_dtype(lib.float16)
        try:
            assert lib.full((2,), 1 + 1j).dtype is lib.complex64 and lib.full((2,), 1.0).dtype is lib.float16
        finally:
            lib.set_default_dtype(lib.float32)


def test_numbers_that_require_grad_are_no_parameters():
    for lib in (mindtorch, torch):
        x = lib.ones(2)
        assert lib.isclose(x, x, lib.tensor(1), lib.tensor(1.5)).all()
        with pytest.raises(TypeError, match="float"):
            lib.isclose(x, x, lib.tensor(1), lib.tensor(1.5, requires_grad=True))


def test_type_names_and_identity_of_conversions():
    t = mindtorch.ones(2)
    assert t.type() == torch.ones(2).type() and t.to(mindtorch.float32) is t and t.cpu() is t and t.float() is t
    assert t.to("cpu") is t and t.to(mindtorch.device("cpu"), copy=True) is not t and t.contiguous() is t
    assert mindtorch.ones(2, device="meta").type() == torch.ones(2, device="meta").type()


def test_numpy_and_tensors_share_memory_both_ways():
    array = np.arange(6.0).reshape(2, 3)
    t = mindtorch.from_numpy(array)
    t[0, 0] = 9
    array[1, 2] = 7
    assert array[0, 0] == 9 and t[1, 2].item() == 7
    assert np.shares_memory(t.t().numpy(), array) and t.t().numpy().strides == (8, 24)
    assert mindtorch.as_tensor(array).data_ptr() == t.data_ptr() and mindtorch.tensor(array).data_ptr() != t.data_ptr()
    strided = mindtorch.from_numpy(array.T[::2])
    assert strided.stride() == (2, 3) and np.shares_memory(strided.numpy(), array)
    assert np.asarray(t).sum() == array.sum() and np.add(t, 1).shape == (2, 3)
    with pytest.raises(ValueError, match="negative"):
        mindtorch.from_numpy(array[::-1])
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
        mindtorch.from_numpy(np.array(["a"]))


def test_dlpack_shares_memory_with_numpy_and_pytorch_both_ways():
    ours = mindtorch.arange(6.0).view(2, 3).t()
    theirs = torch.from_dlpack(ours)
    theirs[0, 0] = 5
    assert ours[0, 0].item() == 5 and theirs.stride() == ours.stride()
    back = mindtorch.from_dlpack(torch.arange(4).view(2, 2))
    assert back.tolist() == [[0, 1], [2, 3]] and back.dtype is mindtorch.int64
    assert np.from_dlpack(ours).shape == (3, 2)
    with pytest.raises(BufferError, match="require gradient"):
        mindtorch.ones(2, requires_grad=True).__dlpack__()


def test_frombuffer_sees_the_buffer():
    buffer = bytearray(np.arange(4, dtype=np.int32).tobytes())
    t = mindtorch.frombuffer(buffer, dtype=mindtorch.int32, offset=4)
    t[0] = 77
    assert np.frombuffer(buffer, np.int32).tolist() == [0, 77, 2, 3]
    for arguments in ({"count": 5}, {"offset": 99}, {"offset": 3}, {"count": 0}):
        with pytest.raises(ValueError):
            mindtorch.frombuffer(buffer, dtype=mindtorch.int32, **arguments)


def test_copies_keep_sharing_and_gradients_and_pickles_come_back():
    base = mindtorch.arange(4.0).requires_grad_()
    pair = copy.deepcopy([base.detach(), base.detach().view(2, 2)])
    assert pair[0].storage is pair[1].storage and pair[0].storage is not base.storage
    base.sum().backward()
    twin = copy.deepcopy(base)
    assert twin.requires_grad and twin.grad.tolist() == [1, 1, 1, 1] and twin.grad is not base.grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(base * 2)
    for t in (
        base.detach().view(2, 2).t(), mindtorch.tensor([1 + 1j]), mindtorch.ones(2, dtype=mindtorch.bfloat16), base,
    ):
        back = pickle.loads(pickle.dumps(t))
        assert back.tolist() == t.tolist() and back.stride() == t.stride() and back.dtype is t.dtype
        assert back.requires_grad == t.requires_grad


def test_matplotlib_plots_a_tensor():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib")
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(mindtorch.arange(3), mindtorch.arange(3.0) ** 2)
    assert line.get_ydata().tolist() == [0, 1, 4]
    axes.imshow(mindtorch.eye(3))
    pyplot.close(figure)


def test_default_dtype_and_device_reach_the_factories():
    try:
        mindtorch.set_default_dtype(mindtorch.float64)
        assert mindtorch.tensor([1.0]).dtype is mindtorch.float64 and mindtorch.zeros(1).dtype is mindtorch.float64
        assert (mindtorch.tensor([1]) / 2).dtype is mindtorch.float64
    finally:
        mindtorch.set_default_dtype(mindtorch.float32)
    with mindtorch.device("meta"):
        assert mindtorch.zeros(2).is_meta and mindtorch.tensor([1]).is_meta and mindtorch.rand(2).is_meta
    assert mindtorch.zeros(2).is_cpu
    with pytest.raises(TypeError, match="floating"):
        mindtorch.set_default_dtype(mindtorch.int32)


@pytest.mark.parametrize("name", [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex32",
    "complex64", "complex128",
])
def test_dtypes_know_what_pytorchs_know(name):
    ours, theirs = getattr(mindtorch, name), getattr(torch, name)
    assert repr(ours) == repr(theirs)
    for attribute in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert str(ours.to_real()) == str(theirs.to_real())
    if ours.is_floating_point or ours.is_complex:
        assert str(ours.to_complex()) == str(theirs.to_complex())
    else:
        with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
            ours.to_complex()
    assert pickle.loads(pickle.dumps(ours)) is ours and copy.deepcopy(ours) is ours
    information = mindtorch.finfo if ours.is_floating_point or ours.is_complex else mindtorch.iinfo
    if name != "bool":
        reference = getattr(torch, information.__name__)(theirs)
        for attribute in ("bits", "min", "max", *(("eps", "tiny") if information is mindtorch.finfo else ())):
            assert getattr(information(ours), attribute) == getattr(reference, attribute), attribute
    for other in ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float64", "complex64"):
        pair = getattr(mindtorch, other), getattr(torch, other)
        assert str(mindtorch.promote_types(ours, pair[0])) == str(torch.promote_types(theirs, pair[1]))
        assert mindtorch.can_cast(ours, pair[0]) == torch.can_cast(theirs, pair[1])


def test_a_program_that_imports_torch_runs_on_mindtorch(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom torch.optim import SGD\n"
        "assert torch is __import__('mindtorch') and torch.__name__ == 'torch', torch\n"
        "print(F.relu(nn.Linear(2, 3)(torch.ones(1, 2))).shape, sys.argv[1:])\n"
        "try:\n    import torch.no_such_module\nexcept ImportError as error:\n    print(error)\n"
        "try:\n    torch.no_such_name\nexcept AttributeError as error:\n    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "mindtorch", "run", str(script), "a", "--b"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == "torch.Size([1, 3]) ['a', '--b']"
    assert "torch.no_such_module" in lines[1] and "mindtorch does not have" in lines[1]
    assert "no_such_name" in lines[2] and "mindtorch does not have" in lines[2]


def test_an_error_of_a_program_is_told_from_the_programs_first_line_on(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    run = subprocess.run([sys.executable, "-m", "mindtorch", "run", str(script)], capture_output=True, text=True)
    lines = run.stderr.splitlines()
    assert run.returncode == 1 and lines[:2] == ["Traceback (most recent call last):",
                                                 f'  File "{script}", line 2, in <module>']
    assert lines[-1].startswith("RuntimeError: inconsistent tensor size")


def test_installing_after_pytorch_was_imported_is_refused():
    with pytest.raises(RuntimeError, match="imported already"):
        mindtorch.install_as_torch()


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "uint8"])
@pytest.mark.parametrize("value", [1j, 2 + 0j])
def test_full_takes_a_complex_number_for_a_real_dtype_only_if_it_is_real(dtype: str, value: complex) -> None:
    check = lambda t: t.full((2,), value, dtype=getattr(t, dtype)).tolist()  # noqa: E731
    try:
        expected = check(torch)
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=str(error)):
            check(mindtorch)
    else:
        assert check(mindtorch) == expected


@each_program(
    lambda t: t.tensor({}), lambda t: t.tensor({"a": 1}), lambda t: t.tensor({1, 2}), lambda t: t.tensor([{1: 2}]),
    lambda t: t.tensor(b"ab"), lambda t: t.tensor(bytearray(b"ab")), lambda t: t.tensor(range(3)),
    lambda t: t.tensor([range(3), range(3)]), lambda t: t.tensor([[1], range(2)]), lambda t: t.tensor((range(0), [])),
    lambda t: t.tensor(1j, dtype=t.float32), lambda t: t.tensor([1j], dtype=t.float16),
    lambda t: t.tensor([1, 1j], dtype=t.int32),
)
def test_what_counts_as_numbers_and_sequences_of_them_is_pytorchs(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.tensor(1e39), lambda t: t.tensor([1e39]), lambda t: t.tensor([[1e39, 1]]),
    lambda t: t.tensor([7e4], dtype=t.float16), lambda t: t.tensor(70000, dtype=t.float16),
    lambda t: t.tensor([1e39], dtype=t.bfloat16), lambda t: t.ones(1).new_tensor([1e39]), lambda t: t.as_tensor([1e39]),
    lambda t: t.tensor(np.array([1e39]), dtype=t.float32), lambda t: t.tensor(np.float64(1e39), dtype=t.float32),
    lambda t: t.as_tensor(np.array([1e39]), dtype=t.float32), lambda t: t.tensor([1e39], dtype=t.float64).float(),
)
def test_numbers_that_are_too_large_become_infinite_without_a_warning(program: Program) -> None:
    assert_same_outcome(program)


def test_the_default_device_is_that_of_the_thread() -> None:
    found: dict[str, list[str]] = {}
    for lib in (mindtorch, torch):
        devices = found[lib.__name__] = []

        def make(lib=lib, devices=devices) -> None:
            devices.append(lib.ones(1).device.type)
            lib.set_default_device("meta")
            devices.append(lib.ones(1).device.type)

        try:
            lib.set_default_device("meta")
            thread = threading.Thread(target=make)
            thread.start()
            thread.join()
            lib.set_default_device(None)
            make()
        finally:
            lib.set_default_device(None)
    assert found["mindtorch"] == found["torch"] == ["cpu", "meta", "cpu", "meta"]


@each_program(*[lambda t, name=name, options=options: getattr(t, f"{name}_window")(**options)
                for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")
                for options in ({"window_length": -1}, {"window_length": 1}, {"window_length": 5})])
def test_windows_and_their_errors(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, look=look: look(t.ones(1, device="meta")) for look in (
    bool, int, float, lambda x: x.item(), lambda x: x.tolist(), lambda x: 1 if x else 2, lambda x: x.is_nonzero())])
def test_a_tensor_without_data_cannot_be_looked_at(program: Program) -> None:
    assert_same_outcome(program)


UNIFORM = [[1, 2], [[1, 2], [3, 4]], (1.5, 2), [[0.5], (1.5,)], [True, False], [[True], [2]], [2**62, 1], [-1, 3], 7,
           1.5, True, [1e300, 1.0], [2**63], [70000, 1], [[]], [], [[1, 2], [3]], [[1], [[2]]], [1, [2]],
           [(1, 2), [3, 4]], [float("nan"), 1.0], [2**100], [300], [[[[[1]]]]], [[[[[1, 2]], [[3]]]]], [None], ["a"],
           [1, 2j]]


@pytest.mark.parametrize("data", UNIFORM, ids=repr)
@pytest.mark.parametrize("dtype", (None, "uint8", "int8", "int64", "float16", "bfloat16", "float32", "bool"))
def test_numbers_of_one_type_become_what_pytorch_makes_of_them(data: Any, dtype: str | None) -> None:
    def made(t: Any) -> Any:
        try:
            return t.tensor(data, dtype=dtype and getattr(t, dtype))
        except (OverflowError, RuntimeError, TypeError, ValueError):
            return None

    ours, theirs = made(mindtorch), made(torch)
    assert (ours is None) is (theirs is None)
    if ours is not None:
        assert_same(ours, theirs)


def test_sequences_made_twice_are_the_same_and_share_nothing() -> None:
    def made(t: Any) -> list[Any]:
        return [t.arange(5.0), t.arange(-0.0, 3.0), t.arange(0.0, 3.0), t.arange(0, 3.0), t.arange(1, 10, 3),
                t.arange(0, 1, 0.3), t.arange(0, 1, 0.3, dtype=t.float64), t.arange(3, dtype=t.int32),
                t.arange(3, 0, -1), t.arange(2.0, dtype=t.float16), t.linspace(0, 1, 5), t.linspace(-0.0, 1, 3),
                t.linspace(0, 1, 5, dtype=t.complex64), t.logspace(0, 1, 4), t.logspace(0, 1, 4, 2), t.eye(3),
                t.eye(2, 3, dtype=t.bool),
                t.eye(0), t.tril_indices(3, 3), t.tril_indices(3, 4, 1), t.triu_indices(3, 3, dtype=t.int32)]

    try:
        for dtype in ("float32", "float64", "float32"):
            for t in (mindtorch, torch):
                t.set_default_dtype(getattr(t, dtype))
            for _ in range(3):
                for ours, theirs in zip(made(mindtorch), made(torch), strict=True):
                    assert_same(ours, theirs)
                    ours.zero_()
    finally:
        for t in (mindtorch, torch):
            t.set_default_dtype(t.float32)
    with mindtorch.observe() as trace:
        mindtorch.arange(5.0)
    assert next(event.op for event in trace) == "arange"
    assert mindtorch.arange(3.0, device="meta").is_meta and mindtorch.arange(3.0, requires_grad=True).requires_grad


def test_what_asarray_is_given_keeps_its_history_unless_it_is_asked_not_to():
    def program(t):
        a = t.ones(3, requires_grad=True)
        b = a + 2
        made = [t.asarray(b), t.asarray(a), t.asarray(b, copy=True), t.asarray(b, requires_grad=False),
                t.asarray(b, requires_grad=True), t.asarray(b, dtype=t.float64), t.asarray([1.0])]
        return [(x.requires_grad, x.is_leaf, x.grad_fn and x.grad_fn.name()) for x in made]

    assert program(mindtorch) == program(torch)


def test_typed_tensors_are_on_the_cpu_whatever_the_default_device_is():
    def program(t):
        here = t.ones(2)
        with t.device("meta"):
            made = [t.Tensor([1.0]), t.FloatTensor(2, 3), t.LongTensor([1]), t.normal(0.0, 1.0, (2,)), t.tensor([1]),
                    t.as_tensor(here), t.asarray(here), t.asarray(np.ones(2)), t.as_tensor(here, device="cpu")]
        return [x.device.type for x in made]

    assert_same_outcome(program)


FACTORIES: dict[str, Program] = {
    **{name: lambda t, name=name, **options: getattr(t, name)(2, **options)
       for name in ("empty", "zeros", "ones", "rand", "randn", "eye", "hann_window")},
    **{f"{name}_like": lambda t, name=name, **options: getattr(t, f"{name}_like")(t.ones(2), **options)
       for name in ("empty", "zeros", "ones", "rand", "randn")},
    **{f"new_{name}": lambda t, name=name, **options: getattr(t.ones(2), f"new_{name}")(2, **options)
       for name in ("empty", "zeros", "ones")},
    "full": lambda t, **options: t.full((2,), 0.5, **options),
    "full_like": lambda t, **options: t.full_like(t.ones(2), 0.5, **options),
    "new_full": lambda t, **options: t.ones(2).new_full((2,), 0.5, **options),
    "new_tensor": lambda t, **options: t.ones(2).new_tensor([0.5], **options),
    "tensor": lambda t, **options: t.tensor([0.5], **options), "arange": lambda t, **options: t.arange(2.0, **options),
    "linspace": lambda t, **options: t.linspace(0, 1, 3, **options),
    "logspace": lambda t, **options: t.logspace(0, 1, 3, **options),
    "randint": lambda t, **options: t.randint(3, (2,), dtype=t.float32, **options),
    "randint_like": lambda t, **options: t.randint_like(t.ones(2), 3, **options),
    "randperm": lambda t, **options: t.randperm(3, dtype=t.float32, **options),
    "normal": lambda t, **options: t.normal(0.0, 1.0, (2,), **options),
    "empty_strided": lambda t, **options: t.empty_strided((2, 2), (1, 2), **options),
    "scalar_tensor": lambda t, **options: t.scalar_tensor(0.5, **options),
}


@pytest.mark.parametrize("options", [{}, {"requires_grad": False}, {"requires_grad": True}], ids=str)
@pytest.mark.parametrize("name", FACTORIES)
def test_what_is_made_is_a_leaf_that_requires_a_gradient_only_where_one_is_asked_for(name: str, options) -> None:
    made = [FACTORIES[name](lib, **options) for lib in (mindtorch, torch)]
    assert [[str(x.dtype), x.requires_grad, x.is_leaf, str(x.layout), str(x.device), x.is_pinned()] for x in made] == [
        [str(made[1].dtype), options.get("requires_grad", False), True, "torch.strided", "cpu", False]] * 2


@pytest.mark.parametrize("name", ["zeros", "ones_like", "linspace", "randn", "normal"])
def test_the_signature_of_a_factory_has_what_its_function_takes_besides_the_operators(name: str) -> None:
    assert {"dtype", "device", "requires_grad"} <= {*inspect.signature(getattr(mindtorch, name)).parameters}


@each_program(
    lambda t: t.triu_indices(True, 3), lambda t: t.tril_indices(3, 3, requires_grad=True),
    lambda t: t.arange(5, step=2), lambda t: t.arange(1, 2, 3, 4), lambda t: t.zeros(2, layout="strided"),
    lambda t: t.zeros(2, out=t.ones(2), requires_grad=True), lambda t: t.zeros(2, out=3),
    lambda t: [f(3, 2, out=out) for f in (t.zeros, t.ones, lambda *size, out: t.full(size, 2.5, out=out)) for out in (
        t.empty(3, 2), t.empty(6), t.empty(2, 3).t(), t.empty(1, 1).expand(3, 2), t.empty(3, 2, dtype=t.int64))],
    lambda t: t.linspace(0, 1, 4, out=t.ones(2, 2)), lambda t: t.zeros(4, out=t.ones(2, 2)).shape,
    lambda t: t.zeros_like(t.ones(2), out=t.ones(2)), lambda t: t.empty(2, memory_format="contiguous_format"),
    lambda t: t.eye(2.0), lambda t: t.arange("a"),
    lambda t: [(t.zeros(2, layout=t.strided), t.ones_like(t.ones(2), layout=t.strided)) for _ in range(2)],
)
def test_the_binder_checks_the_arguments_of_factories(program):
    assert_same_outcome(program)


@pytest.mark.parametrize("program", [
    lambda t: t.tril_indices(3, 3, layout=t.sparse_coo), lambda t: t.eye(2, layout=t.sparse_coo),
    lambda t: t.ones(2, layout=t.sparse_coo), lambda t: t.Tensor(3, dtype=t.float64), lambda t: t.zeros(2, (3,))])
def test_what_no_factory_takes_is_refused_by_pytorchs_error(program):
    with pytest.raises(Exception) as theirs:
        program(torch)
    with pytest.raises(theirs.type):
        program(mindtorch)


@each_program(
    lambda t: t.device("cpu", index="1"), lambda t: t.device("cpu", index=1.0), lambda t: t.device("cpu", np.int64(1)),
    lambda t: t.device(t.device("cpu", 1)), lambda t: t.device("cpu:0"), lambda t: t.device("cpu:0", 1),
)
def test_a_device_takes_pytorchs_indices(program: Program) -> None:
    assert_same_outcome(program)


def test_no_truth_value_is_an_index_of_a_device() -> None:
    with pytest.raises(TypeError, match="must be int, not bool"):
        mindtorch.device("cpu", True)


@pytest.mark.parametrize("kind", [mindtorch.device("cpu"), 0], ids=str)
def test_a_device_that_has_an_index_takes_no_other(kind: Any) -> None:
    with pytest.raises(TypeError, match="'type' must be str"):
        mindtorch.device(kind, 1)


def test_equal_devices_are_one_object():
    cpu = mindtorch.device("cpu")
    assert cpu is mindtorch.device("cpu") is copy.deepcopy(cpu) is pickle.loads(pickle.dumps(cpu))
    assert mindtorch.device("cpu", 0) is mindtorch.device("cpu:0") is not cpu


@each_program(*[
    (lambda t, call=call, count=count: [call(t, kind, device) for kind, device in (
        (float, "cpu"), (int, "cpu:0"), (bool, "meta"), (float, "cpu"), (str, "cpu"), (float, "cpus"))[:count]])
    for call in (lambda t, kind, device: t.zeros(2, 3, dtype=kind, device=device, requires_grad=kind is float),
                 lambda t, kind, device: t.full((2,), 1, dtype=kind, device=device),
                 lambda t, kind, device: t.ones(4).new_zeros(3, 1, dtype=kind, device=device),
                 lambda t, kind, device: t.zeros_like(t.ones(2), dtype=kind, device=device))
    for count in (4, 5, 6)
])
def test_texts_of_devices_and_types_of_python_are_read_at_every_call(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_sequences_by_plan_have_the_dtype_asked_for(dtype: str) -> None:
    found = []
    for lib in (mindtorch, torch):
        asked, first, last = getattr(lib, dtype), lib.tensor(1.0), lib.tensor(7.5)
        found.append([[lib.linspace(1, 7.5, 6, dtype=asked), lib.linspace(first, last, 6, dtype=asked),
                       lib.linspace(first, 2, 0, dtype=asked), lib.logspace(0.0, 2.0, 3, 2.0, dtype=asked),
                       lib.logspace(first, last, 0, dtype=asked), lib.eye(2, 3, dtype=asked),
                       *([] if asked.is_complex else [lib.arange(1, 9, 2, dtype=asked)])] for _ in range(3)])
    assert_same(*found)
