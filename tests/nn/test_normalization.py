"""Normalisation: values, graph, running moments, dtypes, double backward, pipeline mode, NPU, and what is refused."""
from __future__ import annotations

import warnings

import pytest

import mindtorch
from tests.nn.both import close, same
from tests.support import assert_same, torch

NORMS = {
    "batch": lambda t: t.nn.BatchNorm1d(6),
    "batch without parameters": lambda t: t.nn.BatchNorm1d(6, affine=False),
    "batch without bias": lambda t: t.nn.BatchNorm1d(6, bias=False),
    "batch without running moments": lambda t: t.nn.BatchNorm1d(6, track_running_stats=False),
    "batch, mean of all batches": lambda t: t.nn.BatchNorm1d(6, momentum=None),
    "instance": lambda t: t.nn.InstanceNorm1d(6),
    "instance with everything": lambda t: t.nn.InstanceNorm1d(6, affine=True, track_running_stats=True),
    "layer": lambda t: t.nn.LayerNorm(5),
    "layer of two dimensions": lambda t: t.nn.LayerNorm((6, 5)),
    "layer without parameters": lambda t: t.nn.LayerNorm(5, elementwise_affine=False),
    "layer without bias": lambda t: t.nn.LayerNorm(5, bias=False),
    "group": lambda t: t.nn.GroupNorm(3, 6),
    "group without parameters": lambda t: t.nn.GroupNorm(2, 6, affine=False),
    "root mean square": lambda t: t.nn.RMSNorm(5),
    "local response": lambda t: t.nn.LocalResponseNorm(3),
}


def graph(node, depth=3):
    return None if node is None else (node.name(), [graph(n, depth - 1) for n, _ in node.next_functions] * (depth > 0))


def trained(t, make, dtype="float32", device="cpu"):
    """A module after two batches and in evaluation: outputs, gradients of two orders, state."""
    t.manual_seed(3)
    dtype = getattr(t, dtype)
    module = make(t)
    for parameter in module.parameters():
        t.nn.init.normal_(parameter)
    module.to(device=device, dtype=dtype)
    seen = []
    for training in (True, True, False):
        module.train(training)
        x = (t.randn(4, 6, 5, dtype=t.float64).to(dtype) * 3 + 1).to(device).requires_grad_()
        out = module(x)
        sources = [x, *module.parameters()]
        first = t.autograd.grad((out * t.arange(5, device=device).to(dtype)).square().sum(), sources, create_graph=True)
        second = t.autograd.grad(sum((g / 64).cos().sum() for g in first), sources, allow_unused=True)
        seen += [out, *first, *second, *module.buffers()]
    return seen


@pytest.mark.parametrize("case", NORMS)
def test_values_and_gradients_of_two_orders(case):
    assert_same(*(trained(t, NORMS[case], "float64") for t in (mindtorch, torch)), rtol=1e-7, atol=1e-7, strides=False)


@pytest.mark.parametrize("case", NORMS)
def test_the_npu_agrees_with_the_cpu(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on_npu, on_cpu = (trained(mindtorch, NORMS[case], device=device) for device in ("npu", "cpu"))
    for one, other in zip(on_npu, on_cpu, strict=True):
        assert (one is None) == (other is None)
        assert one is None or mindtorch.allclose(one.cpu(), other, 1e-3, 2e-3)


@pytest.mark.parametrize("case", NORMS)
def test_the_graph_has_pytorchs_names(case):
    def program(t):
        return graph(NORMS[case](t)(t.ones(4, 6, 5, requires_grad=True)).grad_fn, 0)

    same(program)


def test_running_moments_are_pending_with_the_output_in_pipeline_mode():
    module = mindtorch.nn.BatchNorm1d(3)
    x = mindtorch.randn(4, 3)
    with mindtorch.pipeline() as p:
        module(x)
        assert len(p)
        mean = module.running_mean.tolist()  # which runs what is pending
    assert mean == pytest.approx((x.mean(0) * 0.1).tolist(), rel=1e-5)


def test_a_batch_in_channels_last_order_stays_in_it():
    def program(t):
        x = t.randn(2, 6, 3, 4).to(memory_format=t.channels_last).requires_grad_()
        seen = []
        for norm in (t.nn.BatchNorm2d(6), t.nn.GroupNorm(2, 6), t.nn.InstanceNorm2d(6), t.nn.LayerNorm((3, 4)),
                     t.nn.RMSNorm((3, 4))):
            out = norm(x)
            grad, = t.autograd.grad(out.square().sum(), x)
            seen += [out, grad]
        return seen

    close(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_with_parameters_of_float32(dtype):
    def program(t):
        x = t.randn(4, 6, 5).to(getattr(t, dtype))
        w, b = t.ones(6), t.zeros(6)
        found = [t.native_batch_norm(x, w, b, t.zeros(6), t.ones(6), True, 0.1, 1e-5),
                 t.native_group_norm(x, w, b, 4, 6, 5, 3, 1e-5),
                 t.native_layer_norm(x, (5,), t.ones(5), t.zeros(5), 1e-5)]
        return [[(part.dtype, part.shape) for part in parts] for parts in found]

    same(program)


REFUSED = {
    "one value a channel": lambda t: t.nn.BatchNorm1d(3)(t.ones(1, 3)),
    "batch of other channels": lambda t: t.nn.BatchNorm1d(3)(t.ones(2, 4)),
    "batch of images": lambda t: t.nn.BatchNorm2d(3)(t.ones(2, 3)),
    "no running moments": lambda t: t.nn.functional.batch_norm(t.ones(2, 3), None, None),
    "integers": lambda t: t.nn.functional.batch_norm(t.ones(2, 3).long(), None, None, training=True),
    "epsilon": lambda t: t.nn.functional.batch_norm(t.ones(2, 3), None, None, training=True, eps=0),
    "instance of one element": lambda t: t.nn.InstanceNorm1d(3)(t.ones(2, 3, 1)),
    "instance of other channels": lambda t: t.nn.InstanceNorm1d(3, affine=True)(t.ones(2, 4, 5)),
    "one running moment": lambda t: t.nn.functional.instance_norm(t.ones(2, 3, 4), t.ones(3)),
    "layer of nothing": lambda t: t.nn.functional.layer_norm(t.ones(2), ()),
    "layer of another size": lambda t: t.nn.LayerNorm(3)(t.ones(2, 4)),
    "layer of integers": lambda t: t.nn.functional.layer_norm(t.ones(2, 3).long(), (3,)),
    "layer with a weight of another size": lambda t: t.nn.functional.layer_norm(t.ones(2, 3), (3,), t.ones(2)),
    "layer with a weight of float64": lambda t: t.nn.functional.layer_norm(t.ones(2, 3), (3,), t.ones(3).double()),
    "group": lambda t: t.nn.GroupNorm(2, 3),
    "group of other channels": lambda t: t.nn.functional.group_norm(t.ones(2, 3, 4), 2),
    "group of a vector": lambda t: t.nn.functional.group_norm(t.ones(2), 2),
    "root mean square of integers": lambda t: t.nn.functional.rms_norm(t.ones(2, 3).long(), (3,)),
    "local response of a matrix": lambda t: t.nn.functional.local_response_norm(t.ones(2, 3), 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case])


def test_a_synchronised_batch_norm_takes_the_place_of_others():
    def program(t):
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4, bias=False))
        converted = t.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        return converted, converted(t.randn(5, 3)), converted.state_dict()

    same(program)


def test_a_synchronised_batch_norm_needs_a_process_group_that_there_is():
    with pytest.raises(RuntimeError, match="SyncBatchNorm needs a process group"):
        mindtorch.nn.SyncBatchNorm(3, process_group=object())


def test_old_checkpoints_load():
    def program(t):
        state = t.nn.BatchNorm1d(2).state_dict()
        del state["num_batches_tracked"]
        state._metadata[""] = {"version": 1}
        return t.nn.BatchNorm1d(2).load_state_dict(state)

    same(program)


LAZY = {
    "batch": lambda t, **options: t.nn.LazyBatchNorm1d(**options),
    "instance": lambda t, **options: t.nn.LazyInstanceNorm1d(**options),
}


@pytest.mark.parametrize("case", LAZY)
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}, {"bias": False}])
def test_lazy_ones_become_plain_ones(case, options):
    def program(t):
        module = LAZY[case](t, **options)
        before = repr(module)
        out = module(t.randn(4, 3, 5))
        return before, module, type(module).__name__, out, module.state_dict(), module.num_features

    same(program)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_normalisation_across_channels(size):
    close(lambda t: t.nn.CrossMapLRN2d(size, 0.1, 0.75, 2)(t.arange(48.).view(2, 6, 2, 2)))
    x = mindtorch.arange(24, dtype=mindtorch.float64).view(1, 6, 2, 2).requires_grad_()
    assert mindtorch.autograd.gradcheck(mindtorch.nn.CrossMapLRN2d(size, 0.1), x, fast_mode=True)
    same(lambda t: t.nn.CrossMapLRN2d(size)(t.ones(2, 3)))
    same(lambda t: t.nn.CrossMapLRN2d(size))


def test_long_rows_keep_their_digits():
    x = mindtorch.rand(1, 1 << 20) + 1
    exact = (x.double() - x.double().mean()) / x.double().std(unbiased=False)
    out = mindtorch.nn.functional.layer_norm(x, (1 << 20,), eps=0)
    assert (out.double() - exact).abs().max() < 2e-6
