"""When loops are compiled, kept on the disk, and loaded; which arrays they take; and what computes without them."""
from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._base import loops
from mindtorch._base.loops import REPAID, Loop, bodies, machine_code, warming
from mindtorch._run import command

from .support import LARGE


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (32, 128, 128), (10, 32, 33), (65, 100, 90), (7, 16, 64)])
def test_products_of_matrices_of_any_sizes_and_layouts_are_those_of_numpy(sizes) -> None:
    m, count, n = sizes
    random = np.random.default_rng(0)
    first, second = (random.standard_normal(shape).astype(np.float32) for shape in ((m, count), (count, n)))
    plain, transposed = loops.product.compiled(1), loops.product_transposed.compiled(1)
    for a in (first, np.asfortranarray(first), np.repeat(first, 2, 1)[:, ::2]):
        for call, b in ((plain, second), (transposed, second.T.copy())):
            out = np.full((m, n), np.nan, np.float32)
            call(a, b, out)
            np.testing.assert_allclose(out, first.astype(np.float64) @ second, rtol=1e-5, atol=1e-5 * count)


def test_a_loop_runs_over_many_rows_of_arrays_at_once() -> None:
    step = loops.sgd.compiled(REPAID + 1)
    rows = [(np.ones(n, np.float32), np.full(n, 2, np.float32)) for n in (1, 5, 40)]
    strange = np.frombuffer(b"-" + np.ones(3, np.float32).tobytes(), np.float32, offset=1)  # not aligned
    given = zip(*rows[:2], (np.ones(3, np.float32), strange), rows[2], strict=True)
    step.each([*map(list, given)], 0.0, np.float32(-0.5))
    assert all((param == 0).all() for param, _ in rows)
    with pytest.raises(TypeError, match="as argument 1"):
        step.each(((rows[0][0], rows[1][0]), [rows[0][1], np.ones(5)]), 0.0, 1.0)
    assert (rows[0][0] == 2).all() and (rows[1][0] == 0).all()


def test_a_loop_of_vectors_is_a_ufunc_of_arrays_that_broadcast_and_have_any_strides() -> None:
    remainder, polynomial = (getattr(loops, name).loops["f"] for name in ("remainder", "polynomial"))
    ufunc, square = remainder.ufunc(REPAID + 1), polynomial.ufunc(REPAID + 1, (0, False))
    assert isinstance(ufunc, np.ufunc) and ufunc is remainder.ufunc(1) and square is not polynomial.ufunc(1, (0, True))
    x, y = np.arange(24, dtype=np.float32).reshape(4, 6), np.full((4, 6), 7, np.float32)
    for a, b in ((x, y), (x.T, y[0, 0]), (x[::2, ::3], y[0, ::3]), (x[:, :1], y[0]), (x[1, 1], y), (x[0, 0], y[0, 0]),
                 (x[::-1], y[:, ::-1]), (x[:0], y[0]), (x, x[:1] + 1)):
        found = ufunc(a, b)
        np.testing.assert_array_equal(found, np.remainder(a, b))
        assert found.shape == np.broadcast_shapes(a.shape, b.shape) and found.dtype == np.float32
        np.testing.assert_array_equal(square(a, np.float32(2)), 2 * a * a - 1)
    out = np.zeros((6, 8), np.float32)
    assert ufunc(x, y, out=out[:4, 1:7]) is not out
    np.testing.assert_array_equal(out[:4, 1:7], x % 7)
    assert not out[4:].any() and not out[:, 0].any() and not out[:, 7].any()
    with pytest.raises(TypeError):
        ufunc(x, y.astype(np.float64))


@pytest.mark.parametrize("rate", [np.array(-0.5), np.array([[-0.5]]), np.array(-0.5, np.float32)])
def test_loops_are_called_one_after_the_other_by_one_call(rate) -> None:
    cube, step = (getattr(loops, name).compiled(REPAID + 1) for name in ("cube", "sgd"))

    @loops.in_turn
    def both(x: Any, made: Any, param: Any, decay: Any, rate: Any) -> None:
        """Step by the cube."""
        cube(x, made)
        step(param, made, decay.item(), rate.item())
        cube(param, made)

    x, made, param = np.arange(5, dtype=np.float32), np.empty(5, np.float32), np.ones(5, np.float32)
    both(x, made, param, np.array(0.0), rate)  # where a number has another dtype, calls from there on are Python's
    np.testing.assert_array_equal(param, 1 - x**3 / 2)
    np.testing.assert_array_equal(made, param**3)
    with pytest.raises(TypeError, match="as argument 1"):
        both(x, made.astype(np.float64), param, np.array(0.0), rate)
    with pytest.raises(TypeError, match="as argument 0"):
        both(x, made, param.astype(np.float64), np.array(0.0), rate)
    np.testing.assert_array_equal(made, x**3)  # of the call before the one that is refused
    assert both.__doc__ == "Step by the cube."


def test_small_tensors_and_few_large_ones_do_not_import_numba() -> None:
    code = ("import sys, mindtorch as t; x = t.randn(100_000); y = x.half(); x.sigmoid()\n"
            "x[:4000].view(100, -1).softmax(1)\n"
            "x.cumsum(0), y * y, y.bfloat16() + 1, t.randn(300_000)\n"
            "assert not {'numba', 'llvmlite'}.intersection(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loop_that_is_kept_on_the_disk_is_loaded_without_numba() -> None:
    assert Loop("atan").compiled(LARGE) is not None
    code = ("import sys, numpy as np; from mindtorch._base import loops; x = np.ones(9, np.float32)\n"
            "loops.Loop('atan').compiled(loops.LARGE)(x, x); assert abs(x - 0.7853982).max() < 1e-6, x\n"
            "assert 'numba' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loop_of_a_compiled_program_is_loaded_from_the_disk_without_numba() -> None:
    code = ("import sys, mindtorch as t; f = t.compile(lambda x, y: t.nn.functional.gelu(x + 1) * y - 2)\n"
            "x = t.linspace(-3, 3, 5000).view(50, 100).t(); y = t.ones(1)\n"
            "assert (f(x, y) - (t.nn.functional.gelu(x + 1) - 2)).abs().max() < 1e-6; found = 'numba' in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run([sys.executable, "-c", f"{code}assert not found"], check=True)


def test_a_loop_refuses_arrays_that_its_code_is_not_for_and_takes_numbers_of_numpy() -> None:
    cube, threshold = (getattr(loops, name).compiled(REPAID + 1) for name in ("cube", "threshold_backward"))
    x, out = np.arange(1, 8, dtype=np.float32), np.empty(7, np.float32)
    for wrong in (x.astype(np.float64), x[::2]):
        with pytest.raises(TypeError, match="takes a contiguous array of float32 with 1 dimensions as argument 0"):
            cube(wrong, out)
    lines = loops.product_of_lines.compiled(REPAID)
    with pytest.raises(TypeError, match="of float32 with 2 dimensions as argument 0"):
        lines(x, out)
    cube(x.reshape(1, 7, 1), out)  # a vector is any array's elements
    np.testing.assert_array_equal(out, x**3)
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.float32, offset=1)
    assert not unaligned.flags.aligned and not unaligned.flags.writeable
    cube(unaligned, out)
    np.testing.assert_array_equal(out, x**3)
    threshold(x, x, np.float32(3), out)
    np.testing.assert_array_equal(out, np.where(x <= 3, 0, x))


def test_an_exact_loop_is_compiled_sooner_where_another_one_is() -> None:
    machine_code.llvm()
    loop = Loop("widen_bfloat16", exact=True)
    assert loop.compiled(loops.SOON) is None
    assert loop.compiled(1) is not None


def test_a_loop_that_does_not_repay_the_first_one_is_compiled_where_another_is(monkeypatch) -> None:
    loop = Loop("until_other", True)
    with monkeypatch.context() as patched:
        patched.setattr(machine_code, "is_ready", lambda: False)
        assert loop.if_imported() is None
    machine_code.llvm()
    assert loop.if_imported() is not None


def test_an_exact_loop_is_compiled_when_numpy_has_computed_as_much_as_repays_it(monkeypatch) -> None:
    loop = Loop("widen_bfloat16", exact=True)
    monkeypatch.setattr(machine_code, "is_ready", lambda: False)  # as before another loop was compiled
    assert loop.compiled(REPAID // 2) is None
    assert loop.compiled(REPAID // 2) is None
    assert loop.compiled(1) is loop.compiled(1) is not None


@pytest.mark.parametrize("kept", [True, False])
def test_a_loop_that_waits_computes_one_element_once_it_is_on_the_disk_or_repaid(kept, monkeypatch) -> None:
    machine_code.llvm()
    assert Loop("digamma_float32").compiled(REPAID) is not None  # which keeps it
    monkeypatch.setattr(machine_code, "kept", machine_code.kept if kept else lambda name: None)
    loop = Loop("digamma_float32", waits=True)
    assert (loop.compiled(1) is not None) == kept
    assert loop.compiled(loops.SOON) is not None and loop.compiled(1) is not None


def test_another_loop_computes_all_large_arrays_and_no_small_one() -> None:
    loop = Loop("atan")
    assert loop.compiled(loops.LARGE - 1) is None
    assert loop.compiled(loops.LARGE) is not None
    assert loop.compiled(loops.LARGE - 1) is None
    assert loops.gelu.compiled(loops.SOME) is not None and loops.gelu.compiled(loops.SOME - 1) is None


def test_programs_compute_small_tensors_by_loops_and_few_numbers_by_numpy(used) -> None:
    x = mindtorch.linspace(0, 999, loops.FEW).sin().view(-1, 64).requires_grad_()

    def function(x: Any) -> Any:
        return mindtorch.nn.functional.gelu(x)

    eager = function(x)
    gradient, = mindtorch.autograd.grad(eager.sum(), x)
    assert not used
    compiled = mindtorch.compile(function)
    for _ in range(2):
        result = compiled(x)
        mindtorch.testing.assert_close(result.detach(), eager.detach())
        mindtorch.testing.assert_close(mindtorch.autograd.grad(result.sum(), x)[0], gradient)
    assert used == {"gelu", "gelu_backward"}
    used.clear()
    few = x.detach()[1:]
    for _ in range(2):
        assert compiled(few).equal(function(few))
    assert function(x).equal(eager) and not used


def test_numpy_computes_where_numba_is_missing(monkeypatch, nothing_kept) -> None:
    monkeypatch.setattr(loops, "numba", lambda: None)
    loop = Loop("atan")
    assert loop.compiled(LARGE) is loop.compiled(LARGE) is None


def test_a_loop_that_cannot_be_compiled_is_told_once(monkeypatch, nothing_kept) -> None:
    def fail() -> None:
        raise ValueError("no such instruction")

    monkeypatch.setitem(bodies.LOOPS, "atan", fail)
    loop = Loop("atan")
    with pytest.warns(RuntimeWarning, match="could not compile the loop atan.*no such instruction"):
        assert loop.compiled(LARGE) is None
    assert loop.compiled(LARGE) is None


def test_a_loop_that_cannot_be_kept_on_the_disk_is_compiled_all_the_same(monkeypatch, tmp_path) -> None:
    file = tmp_path / "no directory"
    file.touch()
    monkeypatch.setattr(machine_code, "PLACES", (file,))
    assert machine_code.kept("cube") is None
    assert Loop("cube").compiled(LARGE) is not None


def test_an_interrupt_waits_until_a_loop_is_compiled(monkeypatch, nothing_kept) -> None:
    code = bodies.LOOPS["atan"]()

    def make() -> bytes:
        signal.raise_signal(signal.SIGINT)
        return code

    monkeypatch.setitem(bodies.LOOPS, "atan", make)
    loop = Loop("atan")
    with pytest.raises(KeyboardInterrupt):
        loop.compiled(LARGE)
    monkeypatch.setitem(bodies.LOOPS, "atan", None)  # it need not be made again
    assert loop.compiled(LARGE) is not None


def test_loops_take_the_settings_that_the_simulated_npu_has_as_arrays(used) -> None:
    x = mindtorch.randn(64, 64, device="npu").requires_grad_()
    x.relu().backward(mindtorch.ones(64, 64, device="npu"))
    assert x.grad.equal((x > 0).float())  # which waits for the device
    assert "threshold_backward" in used


@pytest.mark.parametrize("error", [OSError("failed to map"), MemoryError("no room")])
def test_numpy_computes_where_numba_finds_no_room_in_memory(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_module(name: str) -> None:
        raise error

    monkeypatch.setattr(loops.forks, "load_module", load_module)
    with pytest.warns(RuntimeWarning, match=f"numba cannot be loaded, so NumPy computes all loops: {error}"):
        assert loops.numba.__wrapped__() is None


@pytest.fixture
def begun(monkeypatch, tmp_path) -> list[list[str]]:
    """Return the commands that would compile loops for later programs, on a disk that has none yet."""
    commands: list[list[str]] = []
    monkeypatch.delenv("MINDTORCH_LOOPS")
    monkeypatch.setattr(machine_code, "PLACES", (tmp_path / "loops",))
    monkeypatch.setattr(warming, "_begun", None)
    monkeypatch.setattr(warming.subprocess, "Popen", lambda command, **options: commands.append(command) or command)
    return commands


def test_a_loop_that_rounds_differently_begins_with_the_next_program_and_an_exact_one_when_it_is_there(begun) -> None:
    gelu, half = Loop("gelu"), Loop("widen_float16", True)
    assert gelu.compiled(loops.LARGE) is None and half.compiled(REPAID + 1) is None
    assert len(begun) == 1 and begun[0][3] == "gelu"  # one process compiles all
    assert [*warming.compile_missing(["gelu", "widen_float16"])] == [("gelu", None), ("widen_float16", None)]
    assert gelu.compiled(loops.LARGE) is None and half.compiled(1) is None
    assert half.compiled(REPAID + 1) is not None and Loop("gelu").compiled(loops.LARGE) is not None
    assert len(begun) == 1


@pytest.mark.parametrize("reason", ["asked for", "no place", "no process"])
def test_a_loop_is_compiled_at_once_where_no_process_could_keep_it_or_if_that_is_asked_for(
        begun, monkeypatch, tmp_path, reason) -> None:
    if reason == "asked for":
        monkeypatch.setenv("MINDTORCH_LOOPS", "wait")
    elif reason == "no place":
        (tmp_path / "file").touch()
        monkeypatch.setattr(machine_code, "PLACES", (tmp_path / "file" / "loops",))
    else:
        monkeypatch.setattr(warming.subprocess, "Popen", lambda *args, **options: (tmp_path / "no" / "file").stat())
    assert Loop("cube", True).compiled(REPAID + 1) is not None and not begun


def test_of_processes_that_compute_together_the_first_begins_unless_kept_loops_are_enough(begun, monkeypatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert Loop("cube", True).compiled(REPAID + 1) is None and not begun
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("MINDTORCH_LOOPS", "kept")
    assert Loop("cube", True).compiled(REPAID + 1) is None and not begun
    monkeypatch.delenv("MINDTORCH_LOOPS")
    assert Loop("cube", True).compiled(REPAID + 1) is None and len(begun) == 1


def test_the_process_that_compiles_loops_begins_with_the_one_that_was_asked_for(monkeypatch, tmp_path) -> None:
    order: list[str] = []
    monkeypatch.setattr(machine_code, "PLACES", (tmp_path,))
    monkeypatch.setattr(warming.os, "nice", lambda by: order.append(f"nice {by}"), raising=False)
    monkeypatch.setenv("MINDTORCH_LOOPS", "later")
    names = ("cube", "sgd", "gelu")
    monkeypatch.setattr(warming, "table", lambda: {
        name: lambda name=name: order.append(name) or b"code" for name in names})
    warming.child("sgd")
    assert order[:2] == ["nice 19", "sgd"] and sorted(order[2:]) == ["cube", "gelu"]
    assert machine_code.kept("gelu") == b"code"


def test_the_command_compiles_what_the_disk_lacks_and_says_what_fails(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(machine_code, "PLACES", (tmp_path,))
    monkeypatch.setattr(sys, "argv", ["mindtorch", "loops"])
    table = {"a": lambda: b"code", "b": lambda: b"".join(["no bytes"])}  # type: ignore[list-item]
    monkeypatch.setattr(warming, "table", lambda: table)
    assert command.main() == 1 and "b: sequence item 0" in capsys.readouterr().out
    table["b"] = lambda: b"code"
    assert command.main() == 0 and "2 of 2 loops: b" in capsys.readouterr().out
