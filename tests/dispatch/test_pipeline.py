"""Pipeline mode: what is recorded, what flushes, and what a failure leaves behind."""
from __future__ import annotations

import copy
import threading

import pytest

import mindtorch as torch
from mindtorch import library
from mindtorch._dispatch.keys import PIPELINE
from mindtorch._dispatch.local import local
from tests.dispatch.test_registry import restored  # noqa: F401


def is_pending(tensor) -> bool:
    return bool(tensor._keys & PIPELINE)


@pytest.fixture
def inputs():
    return torch.arange(6.0).view(2, 3), torch.ones(3, 2)


def test_recorded_tensors_know_shape_dtype_strides_and_graph_but_not_values(inputs):
    a, b = inputs
    b.requires_grad_()
    with torch.pipeline() as p:
        y = a.mm(b).relu()
        z = y.t()
        assert len(p) == 2 and is_pending(y) and is_pending(z)
        assert (y.shape, y.dtype, z.stride()) == ((2, 2), torch.float32, (1, 2))
        assert y.grad_fn.name() == "ReluBackward0" and z._base is y
        assert y._array is None
    assert not is_pending(y) and not is_pending(z) and len(p) == 0
    assert y.tolist() == [[3.0, 3.0], [12.0, 12.0]] and z.tolist() == [[3.0, 12.0], [3.0, 12.0]]
    assert y.storage is z.storage


@pytest.mark.parametrize("look", [
    lambda t: t.numpy(), lambda t: t.tolist(), lambda t: t.sum().item(), repr, str, lambda t: t.to("cpu"),
    lambda t: bool(t.sum()), lambda t: float(t.sum()), lambda t: t.data_ptr(), copy.deepcopy, lambda t: t.cpu(),
], ids=[
    "numpy", "tolist", "item", "repr", "str", "to cpu", "truth", "float", "data_ptr", "deepcopy", "cpu",
])
def test_every_look_at_the_data_runs_what_is_pending(inputs, look):
    with torch.pipeline() as p:
        y = inputs[0] + 1
        assert len(p) == 1
        look(y)
        assert not is_pending(y) and len(p) == 0
    assert y.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_flush_and_backward_run_what_is_pending(inputs):
    w, one = torch.ones(3, requires_grad=True), torch.tensor(1.0)
    with torch.pipeline() as p:
        y = inputs[0] * w
        p.flush()
        assert not is_pending(y) and p.flushed == 1
        loss = (y * y).sum()
        assert is_pending(loss)
        loss.backward(retain_graph=True)
        assert not is_pending(loss) and w.grad is not None
        w.grad, other = None, inputs[0] * 3  # of which backward needs nothing
        loss.backward(one)
        assert not is_pending(other)
        assert local.pipeline is p and is_pending(w + 1)
    eager = torch.ones(3, requires_grad=True)
    ((inputs[0] * eager) ** 2).sum().backward()
    assert w.grad.tolist() == eager.grad.tolist()


def test_writes_in_place_keep_their_order_and_bump_versions(inputs):
    a = torch.zeros(3)
    view, sibling, apart = a[1:], a[:1], torch.zeros(3)
    with torch.pipeline():
        before = a + 0
        view.add_(5)
        assert is_pending(a) and is_pending(sibling) and not is_pending(apart)
        after = a + 0
        a.mul_(2)
        assert a._version == 2 and is_pending(a) and is_pending(view)
    assert before.tolist() == [0, 0, 0] and after.tolist() == [0, 5, 5] and a.tolist() == [0, 10, 10]
    assert not is_pending(view) and not is_pending(sibling) and view.tolist() == [10, 10]


@pytest.mark.parametrize("device", ["cpu", "npu:0", "npu:1"])
def test_indices_masks_and_ranges_write_and_read_in_a_pipeline_as_without_one(device):
    def program():
        x = torch.zeros(4, device=device)
        x[0] = 5
        x[1] = 6
        x[x > 5] = 7
        x[torch.arange(2, 4, device=device)] = torch.arange(2.0, 4.0, device=device)
        found = x[x > 4]
        x[1:3] += 1
        return x, found, torch.where(x > 2, x, torch.tensor(0.0, device=device))

    with torch.pipeline():
        results = program()
    assert [y.tolist() for y in results] == [[5, 8, 3, 3], [5, 7], [5, 8, 3, 3]] == [y.tolist() for y in program()]


@pytest.mark.parametrize("make", [
    lambda **where: torch.ones(2, **where), lambda **where: torch.rand(2, **where),
    lambda **where: torch.arange(2, **where), lambda **where: torch.linspace(0, 1, 3, **where),
    lambda **where: torch.eye(2, **where), lambda **where: torch.randperm(4, **where),
    lambda **where: torch.zeros_like(torch.ones(2), **where), lambda **where: torch.ones(2).to(where["device"]) + 1,
], ids=["ones", "rand", "arange", "linspace", "eye", "randperm", "zeros_like", "to"])
@pytest.mark.parametrize("device", ["cpu", "meta", "npu:0", "npu:1"])
def test_what_is_made_in_a_pipeline_is_of_its_device_before_and_after(make, device):
    torch.manual_seed(0)
    eager = make(device=device)
    torch.manual_seed(0)
    with torch.pipeline():
        made = make(device=device)
        assert made.device == made.untyped_storage().device == torch.device(device)
        assert is_pending(made) is (device != "meta")
    assert made.device == made.untyped_storage().device == torch.device(device)
    assert made.is_meta or made.tolist() == eager.tolist()


def test_only_a_view_of_a_pending_tensor_needs_to_stay_alive(inputs):
    with torch.pipeline():
        z = (inputs[0] + 1).view(-1)[2:]
    assert z.tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("make", [lambda: torch.zeros(4), lambda: torch.empty(0), lambda: torch.zeros(2, 2)[:, 0]])
@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_what_is_given_as_out_has_its_new_shape_at_once(make, pending):
    out, (rest, rows) = make(), (torch.empty(0), torch.tensor([[3.0, 1.0, 2.0]] * 2))
    with torch.pipeline():
        if pending:
            out = make()
        assert torch.mul(rows, 2, out=out) is out and out.shape == (2, 3)
        torch.sort(rows, 1, out=(rest, places := torch.empty(0, dtype=torch.int64)))
        total = out + rest
        assert total.shape == places.shape == (2, 3)
    assert total.tolist() == [[7, 4, 7]] * 2 and places.tolist() == [[1, 2, 0]] * 2


@pytest.mark.parametrize("change", [
    lambda x: x.t_(), lambda x: x.transpose_(0, 1), lambda x: x.unsqueeze_(0), lambda x: x.as_strided_((2,), (1,))])
def test_what_is_recorded_reads_a_tensor_as_it_lay_then(change):
    def function(x):
        rows = x.sum(0)
        return rows, change(x)

    make = [lambda: torch.arange(9.0).view(3, 3).clone(), lambda: torch.arange(9.0).view(3, 3) + 0]
    for new in make:
        expected = [t.tolist() for t in function(new())]
        with torch.pipeline():
            recorded = function(new())
        assert [t.tolist() for t in recorded] == expected
        compiled = torch.compile(function)
        for _ in range(2):
            assert [t.tolist() for t in compiled(new())] == expected


def test_what_is_written_as_out_is_counted_when_it_is_recorded():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    with torch.pipeline() as p:
        y, values, places = x.detach().clone(), torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.add(y, 1, out=y)
        torch.sort(y, out=(values, places))
        assert (y._version, values._version, places._version, len(p)) == (1, 1, 1, 5)
        z = y.requires_grad_().exp()
    assert (y._version, values._version, places._version) == (1, 1, 1)
    assert y.tolist() == [2, -1] and torch.autograd.grad(z.sum(), y)[0].equal(z)


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.add_(x), lambda x: x.exp_(), lambda x: x.fill_(2), lambda x: x[:1].mul_(2),
    lambda x: x.copy_(x.flip(0)), lambda x: x.index_fill_(0, torch.tensor([0]), 1.0), lambda x: x.normal_(),
    lambda x: torch._foreach_add_([x], 1), lambda x: torch.optim.SGD([x], 0.1).step()])
def test_a_write_in_place_is_counted_once(write):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    x.grad = torch.ones(2)
    with torch.pipeline():
        with torch.no_grad():
            write(x)
        y = (x * x).sum()
        torch.autograd.grad(y, x)
        assert x._version == 1
    assert x._version == 1


def test_operators_whose_output_depends_on_data_run_at_once(inputs):
    with torch.pipeline() as p:
        mask = inputs[0] * 2
        found = mask.nonzero()
        assert found.shape == (5, 2) and len(p) == 0
        mask += 1
        assert torch.equal(mask, inputs[0] * 2 + 1) and torch.allclose(mask, mask + 1e-9) and len(p) == 0


def test_a_failure_names_operator_and_line_clears_the_queue_and_invalidates(inputs, restored):  # noqa: F811
    def fails(self):
        raise ZeroDivisionError("division by zero")

    library.kernel("fails(Tensor self) -> Tensor", "cpu")(fails)
    library.meta("fails", lambda self: torch.empty_like(self))
    with torch.pipeline() as p:
        good = inputs[0] + 1
        bad = torch.fails(good)
        later = bad + 1
        with pytest.raises(
            RuntimeError, match=r"aten::fails, recorded at .*test_pipeline.py:\d+ in .*ZeroDivisionError"
        ):
            p.flush()
        assert len(p) == 0
    assert good.tolist() == [[1, 2, 3], [4, 5, 6]]
    for invalid in (bad, later):
        with pytest.raises(RuntimeError, match=r"invalid.*aten::fails"):
            invalid.tolist()
        with pytest.raises(RuntimeError, match="invalid"):
            invalid + 1
    assert (good + 1).sum().item() == 27
    with torch.pipeline() as again, pytest.raises(RuntimeError, match="invalid"):
        later.add_(1)
    assert len(again) == 0


def test_what_a_failed_flush_was_to_write_later_is_invalid_and_what_it_wrote_before_is_not(inputs, restored):  # noqa: F811
    def fails(self):
        raise ZeroDivisionError

    library.kernel("fails(Tensor self) -> Tensor", "cpu")(fails)
    library.meta("fails", lambda self: torch.empty_like(self))
    written, never = torch.zeros(2), torch.zeros(2)
    view = never[:1]
    with torch.pipeline() as p:
        written.add_(1)
        torch.fails(written)
        never.add_(1)
        with pytest.raises(RuntimeError, match="aten::fails"):
            p.flush()
    assert written.tolist() == [1, 1]
    for invalid in (never, view):
        with pytest.raises(RuntimeError, match="invalid"):
            invalid.tolist()


@pytest.mark.parametrize("mode", [True, False])
def test_kernels_run_outside_of_the_graph_and_leave_the_grad_mode_as_it_was(mode, restored):  # noqa: F811
    seen = []

    def looks(self):
        seen.append((self.requires_grad, torch.is_grad_enabled()))
        return torch.mul(self, 2)

    library.kernel("looks(Tensor self) -> Tensor", "cpu")(looks)
    library.meta("looks", lambda self: torch.empty_like(self))
    library.derivative("looks", self=lambda grad: grad * 2)
    x = torch.ones(2, requires_grad=True)
    with torch.pipeline() as p:
        y = torch.looks(x)
        with torch.set_grad_enabled(mode):
            p.flush()
            assert torch.is_grad_enabled() is mode
    assert seen == [(False, False)] and x.requires_grad and y.grad_fn.name() == "LooksBackward0"


def test_errors_that_the_meta_kernel_finds_are_raised_where_they_are_made(inputs):
    with torch.pipeline(), pytest.raises(RuntimeError, match="cannot be multiplied"):
        inputs[0].mm(inputs[0])


def test_leaving_the_block_by_an_exception_runs_nothing(inputs):
    with pytest.raises(KeyError), torch.pipeline():
        y = inputs[0] + 1
        raise KeyError("mine")
    assert local.pipeline is None
    with pytest.raises(RuntimeError, match="left by an exception"):
        y.tolist()


def test_pipelines_are_per_thread_and_nest(inputs):
    results = []
    with torch.pipeline() as outer:
        thread = threading.Thread(target=lambda: results.append(is_pending(inputs[0] + 1)))
        thread.start()
        thread.join()
        first = inputs[0] + 1
        with torch.pipeline() as inner:
            second = first + 1
            assert len(inner) == 1
        assert not is_pending(second) and second.tolist() == [[2, 3, 4], [5, 6, 7]]
        assert local.pipeline is outer
    assert results == [False]


def test_a_pending_tensor_used_outside_its_block_waits_first(inputs):
    p = torch.pipeline()
    with p:
        y = inputs[0] + 1
        results = []
        thread = threading.Thread(target=lambda: results.append((y * 2).tolist()))
        thread.start()
        thread.join()
    assert results == [[[2, 4, 6], [8, 10, 12]]]


def test_random_numbers_are_drawn_in_the_recorded_order():
    torch.manual_seed(3)
    eager = [torch.rand(3).tolist(), torch.randn(3).tolist()]
    torch.manual_seed(3)
    with torch.pipeline():
        first, second = torch.rand(3), torch.randn(3)
    assert [first.tolist(), second.tolist()] == eager


def _mask(device):
    x = torch.arange(4.0, device=device)
    x[x > 1] = 7
    return x, x[x < 5]


def _items(device):
    x = torch.zeros(4, device=device)
    x[0], x[1] = 5, 6
    x[2:] = torch.ones(2, device=device)
    x[3] += 2
    return x.mul_(2).view(2, 2).t().contiguous()


PROGRAMS = {
    "factories": lambda device: (
        torch.linspace(0, 1, 3, device=device) + torch.arange(3, device=device), torch.eye(3, device=device).sum(0),
        torch.full((3,), 2.0, device=device) * torch.tensor([1.0, 2, 3], device=device),
        torch.empty_strided((2, 2), (1, 2), device=device).fill_(1.0) + 1),
    "copies to a device and back": lambda device: (torch.ones(3).to(device) + 1).cpu() * 2,
    "a mask": _mask,
    "items": _items,
    "numbers of the host": lambda device: torch.ones(3, device=device) + torch.tensor(1.0),
}


@pytest.mark.parametrize("device", ["cpu", "npu", "npu:1"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:.*no NPU kernel")
def test_programs_give_in_a_pipeline_what_they_give_without_one(name, device):
    wanted = PROGRAMS[name](device)
    with torch.pipeline():
        results = PROGRAMS[name](device)
    for result, right in zip(results, wanted, strict=True):
        assert result.device == right.device and result.dtype is right.dtype and result.tolist() == right.tolist()


def test_views_of_what_is_to_be_written_are_pending_and_settled() -> None:
    x = torch.ones(2, 3)
    with torch.pipeline():
        x.add_(1)
        row = x[0]
        y = row * 2
        x[1] = 5
        row.sub_(1)
    assert y.tolist() == [4] * 3 and x.tolist() == [[1] * 3, [5] * 3]
    assert (row + 1).tolist() == [2] * 3


def test_all_lists_that_are_to_be_written_are_pending_with_those_that_see_them_until_then() -> None:
    """A fused step writes parameters and buffers."""
    params, grads = [torch.ones(2), torch.full((3,), 2.0)], [torch.ones(2), torch.ones(3)]
    buffers = [torch.zeros(2), torch.zeros(3)]
    views = [p.view(-1) for p in params]
    with torch.pipeline():
        torch._fused_sgd_(params, grads, buffers, weight_decay=0.0, momentum=0.5, lr=1.0, dampening=0.0, nesterov=False,
                          maximize=False, is_first_step=True)
        assert all(map(is_pending, [*params, *views, *buffers])) and not any(map(is_pending, grads))
        assert buffers[0].tolist() == [1, 1]
    assert not any(map(is_pending, [*params, *views, *buffers]))
    assert [x.tolist() for x in views] == [[0, 0], [1, 1, 1]] and [x.tolist() for x in buffers] == [[1, 1], [1, 1, 1]]
    assert [x._version for x in (*params, *buffers)] == [1] * 4


def test_what_an_operator_writes_beside_its_result_is_pending_until_then() -> None:
    """Running statistics are."""
    mean, variance = torch.zeros(2), torch.ones(2)
    with torch.pipeline() as p:
        out = torch.nn.functional.batch_norm(torch.arange(6.0).view(3, 2), mean, variance, training=True, momentum=1.0)
        assert is_pending(mean) and is_pending(variance) and is_pending(out)
        assert [entry.shapes[:2] for entry in p.pending if "batch_norm" in entry.op.name] == [[(2,), (2,)]]
    assert not is_pending(mean) and mean.tolist() == [2, 3] and variance.tolist() == [4, 4]


def test_what_an_operator_in_place_writes_beside_its_tensor_is_pending_until_then() -> None:
    """The noise of rrelu is: only the tensor itself counts the write, as in PyTorch."""
    x, noise = torch.tensor([-1.0, 2.0]), torch.zeros(2)
    with torch.pipeline():
        torch.ops.aten.rrelu_with_noise_(x, noise, 0.25, 0.25, True)
        assert is_pending(x) and is_pending(noise)
    assert (x.tolist(), noise.tolist()) == ([-0.25, 2.0], [0.25, 1.0])
    assert (x._version, noise._version) == (1, 0)


def test_a_meta_kernel_may_be_written_in_operators(restored):  # noqa: F811
    """They see tensors of the meta device, in the layouts that the operator was called with."""
    layouts = []

    def meta(x):
        layouts.append((x.device.type, x.stride(), x.is_contiguous()))
        return (x * 2).t()

    library.kernel("turned(Tensor self) -> Tensor", "cpu")(lambda self: (self * 2).t())
    library.meta("turned", meta)
    x = torch.arange(6.0).view(2, 3)
    with torch.pipeline():
        out, again = torch.turned(x), torch.turned(x.t())
        assert is_pending(out) and (out.shape, out.stride()) == ((3, 2), (1, 3)) and again.stride() == (3, 1)
    assert out.tolist() == [[0, 6], [2, 8], [4, 10]] and again.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert layouts == [("meta", (3, 1), True), ("meta", (1, 3), False)]
