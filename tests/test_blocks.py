"""Large arrays are computed block by block, on several threads: what that must not change, and what must not be left
over.
"""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import mindtorch as torch
from mindtorch._backends.common.blas import MANY, add_product
from mindtorch._backends.common.blocks import LARGE, compute, each_block, processors, threads
from mindtorch._base import loops
from mindtorch._storage import memory


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def helpers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("blocks")}


def meet() -> threading.Barrier:
    """Make a barrier that two blocks pass only at the same time."""
    return threading.Barrier(2, timeout=30)


def fill(out: np.ndarray, step: int = 10) -> None:
    each_block(lambda at: out.__setitem__(at, np.arange(len(out))[at]), len(out), step)


def test_every_block_is_computed_once():
    for count in (0, 1, 9, 10, 11, 95):
        counts = np.zeros(count, int)
        each_block(lambda at, counts=counts: np.add(counts[at], 1, out=counts[at]), count, 10)
        assert (counts == 1).all()


def test_blocks_run_on_as_many_threads_as_are_set():
    barrier, names = meet(), set()

    def work(at: slice) -> None:
        barrier.wait()
        names.add(threading.current_thread())

    each_block(work, 2, 1)
    assert len(names) == 2 and threading.main_thread() in names
    torch.set_num_threads(1)
    names.clear()
    each_block(lambda at: names.add(threading.current_thread()), 20, 1)
    assert names == {threading.main_thread()}


@pytest.mark.skipif(loops.numba() is None, reason="numba is not installed")
def test_helpers_wait_for_the_next_job_awake_for_a_while_and_then_asleep():
    fill(np.zeros(100))
    loops.machine_code.llvm()
    waiting, waited, asleep = loops.until_other.if_imported(), [], threading.Event()

    def noted(x: np.ndarray, count: int, *turns: int) -> None:
        before = x.item()
        waiting(x, count, *turns)
        waited.append((threading.current_thread().name, before, x.item()))
        if threading.current_thread() is not threading.main_thread():
            asleep.set()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loops.until_other, "_function", noted)
        barrier = meet()
        each_block(lambda at: barrier.wait(), 2, 1)
        assert asleep.wait(30)  # nobody has called the helper
    helpers = {name for name, *_ in waited} - {"MainThread"}  # earlier tests may have started several
    assert len(helpers) == 1 and all(name.startswith("blocks ") for name in helpers)
    assert all(before == after for name, before, after in waited if name in helpers)
    barrier = meet()
    each_block(lambda at: barrier.wait(), 2, 1)  # the helper is woken


@pytest.mark.skipif(loops.numba() is None, reason="numba is not installed")
def test_who_waits_awake_sees_what_another_thread_writes_without_pythons_lock():
    loops.machine_code.llvm()
    wait, x, seen = loops.until_other.if_imported(), np.zeros(1, np.int64), []
    turns = 1 << 50  # too many to wait for
    thread = threading.Thread(target=lambda: (wait(x, 0, turns, 1), seen.append(x.item())), daemon=True)
    thread.start()
    x[0] = 1
    thread.join(30)
    assert seen == [1]
    wait(x, 0, turns, 0)  # another one stands there already
    wait(x, 1, 2, turns)  # nobody writes another


def test_small_work_stays_on_the_thread_that_asks():
    names = set()
    each_block(lambda at: names.add(threading.current_thread()), 20, 1, LARGE - 1)
    assert names == {threading.main_thread()}


def test_threads_are_started_once():
    fill(np.zeros(100))
    before = helpers()
    for _ in range(50):
        fill(np.zeros(100))
    assert helpers() == before


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_reaches_the_caller_after_all_threads_have_stopped(who):
    barrier, running, done = meet(), [], []

    def work(at: slice) -> None:
        if at.start > 1:
            done.append(at.start)
            return
        running.append(at.start)
        barrier.wait()
        is_caller = threading.current_thread() is threading.main_thread()
        if is_caller == (who == "caller"):
            raise ValueError(f"in the {who}")
        time.sleep(0.05)
        running.remove(at.start)

    with pytest.raises(ValueError, match=f"in the {who}"):
        each_block(work, 1000, 1)
    assert len(running) == 1  # the one that raised: the other one was waited for
    out = np.zeros(100)
    fill(out)
    assert (out == np.arange(100)).all()


def test_blocks_within_blocks():
    out = np.zeros((20, 30))
    each_block(lambda at: [fill(row, 3) for row in out[at]], 20, 2)
    assert (out == np.arange(30)).all()


def test_several_threads_that_compute_at_once():
    arrays = [np.zeros(500) for _ in range(8)]
    threads = [threading.Thread(target=fill, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((array == np.arange(500)).all() for array in arrays)


def test_an_interrupt_ends_the_blocks():
    started = []

    def work(at: slice) -> None:
        started.append(at.start)
        if len(started) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            each_block(work, 1000, 1)
    finally:
        signal.signal(signal.SIGINT, before)
    count = len(started)
    assert count < 1000
    time.sleep(0.05)
    assert len(started) == count
    out = np.zeros(100)
    fill(out)
    assert (out == np.arange(100)).all()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or processors() < 2, reason="needs two processors of Linux")
def test_helpers_stay_off_the_processor_that_called_them():
    fill(np.zeros(100))
    assert threads().helpers
    for helper in threads().helpers:
        assert os.sched_getaffinity(helper) == os.sched_getaffinity(0) - {threads().avoided}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    fill(np.zeros(100))
    child = os.fork()
    if not child:
        barrier, out = meet(), np.zeros(100)
        try:
            each_block(lambda at: barrier.wait(), 2, 1)
            fill(out)
            os._exit(0 if (out == np.arange(100)).all() and torch.get_num_threads() == 2 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_process_ends_while_threads_wait_and_work():
    program = textwrap.dedent("""
        import threading, time
        import mindtorch as torch
        from mindtorch._backends.common.blocks import each_block
        torch.set_num_threads(2)
        barrier = threading.Barrier(2)
        threading.Thread(target=each_block, args=(lambda at: (barrier.wait(), time.sleep(0.2)), 2, 1)).start()
        each_block(lambda at: time.sleep(0.01), 4, 1)
        import atexit
        atexit.register(lambda: each_block(lambda at: time.sleep(0.01), 4, 1))
        """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def norm(x, y):
    return torch.nn.functional.layer_norm(x, (1000,), y[0], y[1])


def attention(x, y):
    x, y = x.view(20, 7, 100, 100), y.view(20, 7, 100, 100)
    return torch.nn.functional.scaled_dot_product_attention(x, y, x + y, is_causal=True)


def gradients(function):
    def backward(x, y):
        x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
        return torch.cat(torch.autograd.grad((function(x, y) ** 2).sum(), [x, y]))

    return backward


PROGRAMS = {
    "add": lambda x, y: x + y,
    "in place": lambda x, y: x.clone().mul_(y),
    "row": lambda x, y: x * y[0],
    "transposed": lambda x, y: x.t() + y.t(),
    "softmax": lambda x, y: x.softmax(1),
    "gelu": lambda x, y: torch.nn.functional.gelu(x),
    "norm": norm,
    "gradients of norm": gradients(norm),
    "attention": attention,
    "gradients of attention": gradients(attention),
    "sums": lambda x, y: torch.cat([x.sum(0), x.sum(1), x.sum()[None], x.t().sum(0), x.view(2, 700, 1000).sum(1)[0]]),
    "extrema": lambda x, y: torch.cat([x.amax(0), x.amin(1), x.amax()[None], x.t().amax(1)]),
    "norms": lambda x, y: torch.cat([x.norm(2, 1), x.norm()[None], y.norm(2, 0), y.t().norm(2, 1, keepdim=True)[:, 0]]),
    "order": lambda x, y: torch.cat([*x.sort(1), *y.topk(7, 1), x.argsort(1, descending=True), y.argsort(0)], 1),
    "powers": lambda x, y: x**2 + x**3 + x.abs() ** -0.5,
    "copies": lambda x, y: x.double() + y.clone().copy_(x.half()),
    "a choice": lambda x, y: torch.where(x > 0, x, y).masked_fill(y > 1, 3.0),
    "running sums": lambda x, y: x.cumsum(0) + y.cumsum(1),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(program):
    x, y, results = torch.randn(1400, 1000), torch.randn(1400, 1000), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        results.append(program(x, y))
    assert results[0].equal(results[1]) and results[0].equal(results[2])


def test_parts_make_the_reduction_of_the_whole():
    values = np.random.default_rng(0).integers(-9, 9, (3, 701, 700)).astype(np.float32)  # whose sums are exact
    values[1, 600, 333] = np.nan
    x = torch.from_numpy(values)
    for dim in (0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        for keep in (False, True):
            for mine, theirs in ((x.sum(dim, keep), values.sum(dim, keepdims=keep)),
                                 (x.amax(dim, keep), values.max(dim, keepdims=keep)),
                                 (x.amin(dim, keep), values.min(dim, keepdims=keep)),
                                 (x.isnan().any(dim, keep), np.isnan(values).any(dim, keepdims=keep))):
                np.testing.assert_array_equal(mine.numpy(), theirs)
    np.testing.assert_array_equal(x.mT.amin(1).numpy(), values.min(2))
    assert torch.arange(LARGE + 5).sum().item() == (LARGE + 5) * (LARGE + 4) // 2


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex64], ids=str)
def test_choices_among_many_are_those_of_numpy(dtype):
    random = np.random.default_rng(0)
    mask = random.random((300, 333)) < 0.5
    x, y = (random.standard_normal((300, 333)).astype(dtype.np) for _ in range(2))
    if dtype.is_floating_point:
        x[:3, :4], y[:2, :4] = [np.nan, np.inf, -0.0, 0.0], [-0.0, np.nan, -np.inf, 1e-40]
    one = np.asarray(y[0, 1])
    for first, second in ((x, y), (x, one), (one, x), (x.T.copy().T, y), (x, y[0]), (one, one)):
        chosen = torch.where(*map(torch.from_numpy, (mask, first, second))).numpy()
        expected = np.where(mask, first, second)
        assert chosen.dtype == expected.dtype and chosen.tobytes() == expected.tobytes()
    filled = torch.from_numpy(x).masked_fill(torch.from_numpy(mask), 7).numpy()
    assert filled.tobytes() == np.where(mask, x.dtype.type(7), x).tobytes()


def test_ufuncs_take_what_broadcasts():
    rows, columns = 3, LARGE // 2
    matrix, row, column = (np.random.default_rng(0).random(shape) for shape in ((rows, columns), columns, (rows, 1)))
    for other in (matrix, row, column, np.asarray(2.0), 2.0, np.asfortranarray(matrix)):
        out = np.empty((rows, columns))
        assert compute(np.subtract, out, matrix, other) is out
        assert (out == matrix - other).all()
        assert (compute(np.subtract, out.T, matrix.T, 1) == matrix.T - 1).all()
    assert (compute(np.add, matrix.copy(), matrix, matrix) == 2 * matrix).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("rows", [1, 2 * MANY // 256])
def test_a_product_is_added_to_what_is_there(dtype, rows):
    left, right, out = (np.arange(size, dtype=dtype).reshape(shape) for size, shape in (
        (3 * rows, (rows, 3)), (768, (3, 256)), (256 * rows, (rows, 256))))
    expected = out + left.astype(np.complex128) @ right
    add_product(out, left, right)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_no_warning_comes_from_a_block():
    with np.errstate(all="raise"):
        assert torch.zeros(2 * LARGE).log().eq(-torch.inf).all()
        assert torch.zeros(2 * LARGE).log_().eq(-torch.inf).all()


def test_large_arrays_begin_on_a_cache_line():
    for shape in ((memory.LARGE,), (3, memory.LARGE), (0,), ()):
        array = memory.allocate(shape, np.dtype(np.float32))
        assert array.shape == shape and array.flags.c_contiguous and array.flags.writeable
        assert array.nbytes < memory.LARGE or array.ctypes.data % memory.LINE == 0
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
        memory.allocate((1 << 50,), np.dtype(np.float32))


def test_memory_stays_flat():
    resource = pytest.importorskip("resource")
    x = torch.randn(512, 1024)
    for _ in range(5):
        (x + x).softmax(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        (x + x).softmax(1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # KiB


def test_numpy_keeps_its_settings():
    before = np.getbufsize(), np.geterr()
    torch.zeros(1500, 1000) + torch.arange(1000.0)
    assert (np.getbufsize(), np.geterr()) == before


@pytest.mark.parametrize("largest", [2, 1 << 20, 1 << 24, 1 << 40])
def test_integers_are_multiplied_exactly(largest):
    random = np.random.RandomState(0)
    for dtype in (np.int64, np.int32, np.uint8):
        left, right = (random.randint(-largest, largest, shape).astype(dtype) for shape in ((40, 30), (30, 50)))
        np.testing.assert_array_equal((torch.from_numpy(left) @ torch.from_numpy(right)).numpy(), left @ right)  # type: ignore[operator]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_many_integers_are_clamped_as_few(dtype: str) -> None:
    x = torch.arange(100_003).to(getattr(torch, dtype))
    for bounds in ((3, 9), (None, 9), (3, None), (9, 3), (-100, 100), (100, -100)):
        assert x.clamp(*bounds).tolist() == [part for few in x.split(1000) for part in few.clamp(*bounds).tolist()]


def test_what_is_clamped_in_one_pass_keeps_zeros_and_nans():
    x = torch.tensor([-0.0, float("nan"), -1.0, 2.0, float("inf")]).repeat(LARGE)
    for clamped, expected in (
            (x.relu(), [-0.0, np.nan, 0, 2, np.inf]), (x.clamp(min=0.0), [-0.0, np.nan, 0, 2, np.inf]),
            (x.clamp(-0.5, 1.0), [-0.0, np.nan, -0.5, 1, 1])):
        for some in (clamped[:5], clamped[-5:]):
            np.testing.assert_array_equal(some.numpy(), np.float32(expected))
            assert np.signbit(some[0].item())


@pytest.mark.parametrize("alpha", [1, 0, -0.5, 3])
def test_scaled_additions_in_place(alpha):
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.float16, torch.int64):
        if dtype is torch.int64 and isinstance(alpha, float):
            continue
        x, y = torch.arange(LARGE + 3).remainder(100).to(dtype), torch.arange(LARGE + 3).remainder(77).to(dtype)
        expected = x + alpha * y
        torch.testing.assert_close(x.clone().add_(y, alpha=alpha), expected)
        torch.testing.assert_close(expected.sub_(y, alpha=alpha), x)
    y = torch.full((LARGE,), torch.inf)
    assert torch.zeros(LARGE).add_(y, alpha=alpha).isnan().all() == (alpha == 0)


def test_topk_where_lines_have_equals_and_nans():
    x = torch.tensor([[3.0, 1, 3, 3, 0, 2], [5, float("nan"), 5, 4, 3, 2], [6, 5, 4, 3, 2, 1]])
    values, indices = x.topk(2)
    assert indices.tolist()[2] == [0, 1] and indices.tolist()[1][0] == 1
    assert values[0].tolist() == [3, 3] and values[1][1] == 5
    assert x.topk(2, largest=False).values[0].tolist() == [0, 1]


def test_gathering_in_blocks():
    x, at = torch.randn(600, 500), torch.randint(0, 500, (512, 400))
    assert x.gather(1, at).equal(x[torch.arange(512)[:, None], at])
    assert x.t().gather(1, at[:500]).equal(x.t()[torch.arange(500)[:, None], at[:500]])
    with pytest.raises(RuntimeError, match="index 500 is out of bounds for dimension 1 with size 500"):
        x.gather(1, at.fill_(500))


def test_many_elements_are_stacked_in_blocks():
    x, y = np.random.default_rng(0).standard_normal((2, 300, 7, 500))
    for dim in (1, 2, -1):
        before = threads().begun.item()
        assert (torch.stack([torch.from_numpy(x), torch.from_numpy(y)], dim).numpy() == np.stack([x, y], dim)).all()
        assert threads().begun.item() > before


def test_rows_at_many_indices():
    x, at = torch.randn(3000, 128), torch.randint(0, 3000, (90, 100))
    expected = x.numpy()[at.numpy()]
    embedding = torch.nn.functional.embedding
    for found in (x[at], embedding(at, x), x.index_select(0, at.view(-1)).view(90, 100, 128), x[at - 3000],
                  x.t().contiguous().t()[at]):
        np.testing.assert_array_equal(found.numpy(), expected)
    at[-1, -1] = 3000
    for call in (lambda: x[at], lambda: embedding(at, x), lambda: embedding(at - 1000, x),
                 lambda: x.index_select(0, at.view(-1))):
        with pytest.raises(IndexError, match=r"out of (range|bounds)"):
            call()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
def test_many_elements_are_filled_with_a_number(dtype):
    dtype = getattr(torch, dtype)
    for value in (0, 1):
        for filled in (torch.full((LARGE + 3,), value, dtype=dtype), torch.ones(LARGE + 3, dtype=dtype).fill_(value)):
            assert filled.eq(value).all()
    if dtype.is_floating_point:
        assert torch.full((LARGE,), -0.0, dtype=dtype).signbit().all()


@pytest.mark.parametrize("shape", [(1100, 1000), (300, 4000), (4000, 300), (2, 700, 800), (1_100_000, 1),
                                   (1, 1_100_000)])
@pytest.mark.parametrize("diagonal", [0, 1, -3, 250, -777, 5000, -5000])
def test_triangles_of_many_elements_are_those_of_numpy(shape, diagonal):
    x = torch.arange(np.prod(shape)).view(shape)
    for name, other in (("tril", np.tril), ("triu", np.triu)):
        expected = other(x.numpy(), diagonal)
        np.testing.assert_array_equal(getattr(x, name)(diagonal).numpy(), expected)
        np.testing.assert_array_equal(getattr(x.mT.clone().mT, name)(diagonal).numpy(), expected)
        np.testing.assert_array_equal(getattr(x.clone(), name + "_")(diagonal).numpy(), expected)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "complex64"])
def test_a_mask_chooses_elements_and_rows_as_numpy_does(dtype, share):
    random = np.random.default_rng(0)
    x = torch.from_numpy(random.integers(-9, 9, (70, 80, 3))).to(getattr(torch, dtype))
    for size in (1, 2, 3):
        mask = torch.from_numpy(random.random(x.shape[:size]) < share)
        for given in (x, x.mT.clone().mT):
            expected = given._array[mask.numpy()]  # type: ignore[index]
            chosen = given[mask]
            assert (chosen.dtype, chosen.shape) == (x.dtype, expected.shape) and chosen.is_contiguous()
            assert chosen._array.tobytes() == expected.tobytes()
            assert given.masked_select(mask.view(*mask.shape, *[1] * (3 - size))).equal(chosen.view(-1))
    with pytest.raises(IndexError, match="mask"):
        x[mask[:-1]]
