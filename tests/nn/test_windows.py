"""Convolution, pooling and resampling in the forms that programs write, beside PyTorch; lazy modules."""
from __future__ import annotations

import copy
import importlib
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mindtorch
from tests.nn.both import close, same
from tests.support import array, assert_same, port, torch

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return torch.from_numpy(RNG.standard_normal(shape))


def second_gradients(t: Any, run: Any, inputs: list[Any]) -> list[Any]:
    """The output, its gradients, and the gradients of what these add up to."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    out = run(t, *inputs)
    first = t.autograd.grad((out * out).sum(), inputs, create_graph=True)
    total = sum((g * g).sum() for g in first)
    return [out, *first, *t.autograd.grad(total, inputs)]


def agree(run: Any, *inputs: Any) -> None:
    ours = second_gradients(mindtorch, run, port(list(inputs), mindtorch))
    theirs = second_gradients(torch, run, list(inputs))
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine.detach().contiguous(), other.detach().contiguous())


# -- convolution -------------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {}, "stride": {"stride": 2}, "padding": {"padding": 2}, "dilation": {"dilation": 2, "padding": 2},
    "all": {"stride": 3, "padding": 1, "dilation": 2}, "same": {"padding": "same"},
    "same, dilated": {"padding": "same", "dilation": 3}, "valid": {"padding": "valid"}, "groups": {"groups": 2},
    "depthwise": {"groups": 4, "padding": 1},
}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("setting", SETTINGS)
def test_convolution(setting, dims):
    options = SETTINGS[setting]
    x, w, b = numbers(2, 4, *(7, 8, 6)[:dims]), numbers(4, 4 // options.get("groups", 1), *(3, 2, 2)[:dims]), numbers(4)
    agree(lambda t, x, w, b: getattr(t.nn.functional, f"conv{dims}d")(x, w, b, **options), x, w, b)


@pytest.mark.parametrize("infinite", ["input", "weight"])
@pytest.mark.parametrize("filters", [(2, 2, 3, 2), (9, 2, 2, 3)])
def test_infinity_reaches_the_gradients_of_what_it_was_multiplied_with_alone(filters, infinite):
    x, weight = numbers(2, 2, 5, 6), numbers(*filters)
    (x if infinite == "input" else weight)[0, 0, 1, 0] = torch.inf
    results = []
    for t in (mindtorch, torch):
        leaves = [port(part, t).detach().requires_grad_() for part in (x, weight)]
        out = t.nn.functional.conv2d(*leaves)
        out.backward(t.ones_like(out))
        results.append([leaf.grad for leaf in leaves])
    for mine, theirs in zip(*results, strict=True):
        assert theirs.isfinite().any()
        assert_allclose(array(mine), array(theirs))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", [
    {}, {"stride": 2, "output_padding": 1}, {"padding": 1, "dilation": 2}, {"groups": 2, "stride": 3, "padding": 2},
])
def test_transposed_convolution(options, dims):
    x, w, b = numbers(2, 4, *(4, 3, 3)[:dims]), numbers(4, 2, *(3, 4, 3)[:dims]), numbers(2 * options.get("groups", 1))
    agree(lambda t, x, w, b: getattr(t.nn.functional, f"conv_transpose{dims}d")(x, w, b, **options), x, w, b)


def test_convolution_of_complex_numbers():
    x, w = torch.complex(numbers(2, 3, 6), numbers(2, 3, 6)), torch.complex(numbers(4, 3, 2), numbers(4, 3, 2))
    ours = [value.requires_grad_() for value in port([x, w], mindtorch)]
    theirs = [x.requires_grad_(), w.requires_grad_()]
    results = [t.nn.functional.conv1d(*inputs) for t, inputs in ((mindtorch, ours), (torch, theirs))]
    assert_same(*results)
    for t, result, inputs in zip((mindtorch, torch), results, (ours, theirs), strict=True):
        t.view_as_real(result).pow(2).sum().backward()
        del inputs
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine.grad, other.grad)


def test_channels_last_goes_on_to_the_output():
    def program(t):
        x = t.ones(2, 3, 8, 8).to(memory_format=t.channels_last)
        y = t.nn.functional.max_pool2d(t.nn.Conv2d(3, 4, 3)(x), 2)
        return [y.stride(), t.nn.functional.interpolate(y, scale_factor=2).stride()]

    same(program)


def test_unbatched_input():
    same(lambda t: [t.nn.functional.conv2d(t.ones(3, 5, 5), t.ones(2, 3, 3, 3)), t.nn.MaxPool2d(2)(t.ones(3, 5, 5))])


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (1, 3, 3, 3), (70, 3, 40, 40)])
def test_batches_of_any_size(shape):
    x, w = numbers(*shape).float(), numbers(8, 3, 3, 3).float()
    assert_same(mindtorch.nn.functional.conv2d(*port([x, w], mindtorch)), torch.nn.functional.conv2d(x, w),
                rtol=1e-4, atol=1e-4)


def test_pipeline_and_meta():
    def program(t):
        return t.nn.Sequential(t.nn.Conv2d(1, 4, 3, stride=2), t.nn.ReLU(), t.nn.AvgPool2d(2),
                               t.nn.Upsample(scale_factor=2, mode="bilinear"))

    mindtorch.manual_seed(0)
    model, x = program(mindtorch), mindtorch.randn(2, 1, 12, 12)
    with mindtorch.pipeline() as pipeline:
        pending = model(x)
        assert len(pipeline) and pending.shape == (2, 4, 4, 4)
    assert_allclose(array(pending), array(model(x)))
    assert model.to("meta")(x.to("meta")).shape == (2, 4, 4, 4)


def test_on_the_npu():
    mindtorch.manual_seed(0)
    model = mindtorch.nn.Sequential(mindtorch.nn.Conv2d(2, 4, 3, padding=1, groups=2), mindtorch.nn.MaxPool2d(3, 2, 1),
                                    mindtorch.nn.ConvTranspose2d(4, 2, 2, stride=2), mindtorch.nn.AdaptiveAvgPool2d(3))
    there, x = copy.deepcopy(model).to("npu"), mindtorch.randn(2, 2, 9, 8)
    with mindtorch.observe() as trace:
        result = there(x.to("npu"))
        result.sum().backward()
    assert not [event for event in trace if event.kernel == "fallback"]
    model(x).sum().backward()
    assert_allclose(array(result.cpu()), array(model(x)), rtol=1e-4, atol=1e-5)
    for mine, other in zip(there.parameters(), model.parameters(), strict=True):
        assert_allclose(array(mine.grad.cpu()), array(other.grad), rtol=1e-4, atol=1e-5)


EMPTY = {
    "no samples": lambda t: (t.nn.Conv2d(4, 4, 3, 2, 1, groups=4), t.zeros(0, 4, 4, 4)),
    "no samples, transposed": lambda t: (t.nn.ConvTranspose2d(4, 4, 3, 2, 1, groups=4), t.zeros(0, 4, 4, 4)),
    "no channels": lambda t: (t.nn.Conv2d(0, 5, 3, 2), t.zeros(2, 0, 4, 4)),
    "no filters": lambda t: (t.nn.Conv1d(1, 0, 1), t.zeros(2, 1, 4)),
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("case", EMPTY)
def test_convolution_of_nothing(case):
    def program(t):
        module, x = EMPTY[case](t)
        out = module(x.requires_grad_())
        out.backward(t.ones_like(out))
        return out, x.grad, [parameter.grad for parameter in module.parameters()]

    same(program)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_as_functions(dims):
    def program(t):
        x, settings = t.linspace(-1, 1, 2 * 4 * 5 ** dims).view(2, 4, *[5] * dims), (2, 1, 1, 2)
        weight = t.linspace(0, 1, 6 * 2 * 3 ** dims).view(6, 2, *[3] * dims)
        grad = getattr(t.nn.functional, f"conv{dims}d")(x, weight, None, *settings)
        return (getattr(t.nn.grad, f"conv{dims}d_input")(x.shape, weight, grad, *settings),
                getattr(t.nn.functional.grad, f"conv{dims}d_weight")(x, weight.shape, grad, *settings))

    close(program)


# -- pooling -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fill", [None, float("nan"), float("-inf")])
@pytest.mark.parametrize("settings", [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 1, 1)])
def test_places_of_equal_maxima(settings, fill):
    x = torch.from_numpy(RNG.integers(-2, 3, (2, 3, 9, 8)).astype(np.float32))
    if fill is not None:
        x[torch.from_numpy(RNG.random(x.shape) < 0.4)] = fill
    for ceil_mode in (False, True):
        found = [t.nn.functional.max_pool2d(given, *settings, ceil_mode=ceil_mode, return_indices=True)
                 for t, given in ((mindtorch, port(x, mindtorch)), (torch, x))]
        assert_same(*found)
    assert_same(mindtorch.nn.functional.adaptive_max_pool2d(port(x, mindtorch), (2, 5), True),
                torch.nn.functional.adaptive_max_pool2d(x, (2, 5), True))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_last_nan_and_else_the_first_maximum_of_each_region_counts_in_large_regions(dims):
    x = torch.arange(2 * 4096).remainder(89).float().reshape(2, *{1: (4096,), 2: (64, 64), 3: (16, 16, 16)}[dims])
    x.view(-1)[::901] = torch.nan
    name = f"adaptive_max_pool{dims}d"
    assert_same(getattr(mindtorch.nn.functional, name)(port(x, mindtorch), (2, 3, 1)[:dims], True),
                getattr(torch.nn.functional, name)(x, (2, 3, 1)[:dims], True))

@pytest.mark.parametrize("largest", [9, 2**62])
@pytest.mark.parametrize("dims, size", [(1, 7), (2, 6), (3, 4)])
def test_averages_of_integers_are_cut_and_wrap_around_in_each_call(dims: int, size: int, largest: int) -> None:
    x = torch.from_numpy(np.random.default_rng(1).integers(-largest, largest, (2, *[size] * dims)))
    ours, theirs = (getattr(library.nn.functional, f"avg_pool{dims}d") for library in (mindtorch, torch))
    for padding in (0, 1):
        for _ in range(3):  # the second call makes a plan
            assert_same(ours(port(x, mindtorch), 2, 1, padding), theirs(x, 2, 1, padding))



POOLS = {
    "max": lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), "max of volumes": lambda t, x:
        t.nn.functional.max_pool3d(x, 2, 1), "avg": lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1, True, False),
    "avg by 5": lambda t, x: t.nn.functional.avg_pool2d(x, (3, 2), divisor_override=5),
    "adaptive avg": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (3, 5)),
    "global avg": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "adaptive max": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, (3, 5)),
    "lp": lambda t, x: t.nn.functional.lp_pool2d(x.abs() + 1, 2, 2),
    "unpooled": lambda t, x: t.nn.functional.max_unpool2d(*t.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(name):
    agree(POOLS[name], numbers(2, 3, 8, 6))


@pytest.mark.parametrize("indices", [False, True])
def test_the_channels_of_a_single_volume_stay_last(indices):
    x = torch.arange(3 * 4 * 4 * 4.).view(1, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)[0]
    assert_same(mindtorch.nn.functional.max_pool3d(port(x, mindtorch), 2, return_indices=indices),
                torch.nn.functional.max_pool3d(x, 2, return_indices=indices))


REFUSED_POOLS = {
    f"{kind} {what}, {dims}d": (lambda t, kind=kind, dims=dims, make=make:
                                make(t, getattr(t.nn.functional, f"adaptive_{kind}_pool{dims}d"), dims))
    for kind in ("avg", "max") for dims in (1, 2, 3) for what, make in {
        "without channels": lambda t, pool, dims: pool(t.ones(1, 0, *[5] * dims), 2),
        "without places": lambda t, pool, dims: pool(t.ones(1, 2, *[0] * dims), 2),
        "into nothing": lambda t, pool, dims: pool(t.ones(1, 2, *[5] * dims, requires_grad=True), 0).sum().backward(),
    }.items()
} | {
    "fractional, one number of two": lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 2, 5, 5), (1,), 3),
    "fractional, two numbers of three": lambda t: t.nn.functional.fractional_max_pool3d(t.ones(2, 5, 5, 5), 1, (3, 3)),
    "fractional, too large": lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 2, 5, 5), 3, 4),
    "unpooling to two numbers of three": lambda t: t.nn.functional.max_unpool3d(
        t.ones(1, 3, 1, 1, 1), t.zeros(1, 3, 1, 1, 1, dtype=t.int64), [1, 1]),
}


@pytest.mark.parametrize("case", REFUSED_POOLS)
def test_pooling_that_is_refused(case):
    same(REFUSED_POOLS[case])


@pytest.mark.parametrize("size", [(0, 1), (0, 0)])
def test_fractional_pooling_into_nothing(size):
    same(lambda t: t.nn.FractionalMaxPool2d(2, size)(t.ones(2, 3, 5, 5)))


def test_fractional_pooling_draws_what_pytorch_draws():
    same(lambda t: t.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.6), return_indices=True)(
        t.arange(2 * 3 * 9 * 9.).view(2, 3, 9, 9)))


# -- resampling --------------------------------------------------------------------------------------------------------

MODES = [("nearest", {}), ("nearest-exact", {}), ("area", {}), ("bilinear", {}), ("bilinear", {"align_corners": True}),
         ("bicubic", {}), ("bilinear", {"antialias": True}), ("bicubic", {"antialias": True}),
         ("lanczos", {"antialias": True})]


@pytest.mark.parametrize(("mode", "options"), MODES)
@pytest.mark.parametrize("size", [{"size": (5, 13)}, {"scale_factor": (1.7, 0.6)}, {"scale_factor": 40},
                                  {"scale_factor": 0.5, "recompute_scale_factor": True}])
def test_interpolation(mode, options, size):
    agree(lambda t, x: t.nn.functional.interpolate(x, mode=mode, **options, **size), numbers(2, 2, 7, 8))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_bytes_are_exact(mode, antialias):
    x = torch.from_numpy(RNG.integers(0, 256, (2, 3, 13, 17)).astype(np.uint8))
    for size in ((5, 31), (40, 9)):
        assert_same(*[t.nn.functional.interpolate(given, size, mode=mode, antialias=antialias)
                      for t, given in ((mindtorch, port(x, mindtorch)), (torch, x))])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode, padding, corners):
    agree(lambda t, x, grid: t.nn.functional.grid_sample(x, grid, mode, padding, corners),
          numbers(2, 3, 4, 5), numbers(2, 3, 2, 2))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_beyond_an_image_do_not_read_its_first_element(mode, padding):
    """Which is infinite here; another one is NaN."""
    def program(t):
        x = t.zeros(1, 1, 3, 3)
        x[0, 0, 0, 0], x[0, 0, 2, 2] = float("inf"), float("nan")
        x.requires_grad_()
        grid = t.tensor([[[[0.9, -1.3], [1.3, 0.9], [1.5, 1.5], [-1.4, 0.2], [0.2, -1.4]]]], requires_grad=True)
        samples = t.nn.functional.grid_sample(x, grid, mode, padding, align_corners=False)
        return samples, t.autograd.grad(samples, [x, grid], t.ones_like(samples))

    same(program)


def test_affine_grid():
    agree(lambda t, theta: t.nn.functional.affine_grid(theta, (2, 1, 3, 4), align_corners=False), numbers(2, 2, 3))


# -- lazy modules ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [
    lambda t: t.nn.LazyLinear(3), lambda t: t.nn.LazyLinear(3, bias=False), lambda t: t.nn.LazyConv1d(4, 2, groups=2),
    lambda t: t.nn.LazyConvTranspose1d(4, 3, stride=2, output_padding=1),
])
def test_a_lazy_module_becomes_plain_with_pytorchs_numbers(make):
    def program(t):
        module = make(t)
        before = [repr(module), repr(module.weight), module.has_uninitialized_params(), list(module.state_dict())]
        return [before, module(t.ones(2, 4, 6)), repr(module), dict(module.state_dict()), type(module).__name__]

    same(program)


@pytest.mark.parametrize("convert", ["double", "half"])
def test_lazy_modules_are_converted_before_their_first_call(convert):
    def program(t):
        module = t.nn.Sequential(t.nn.LazyLinear(3), t.nn.LazyBatchNorm1d())
        getattr(module, convert)()
        lazy = [repr(tensor) for tensor in (module[0].weight, module[1].weight, module[1].running_mean)]
        module.float()
        return [lazy, module(t.arange(6.0).view(3, 2)), dict(module.state_dict())]

    same(program)


REFUSED = {
    "how many": lambda t, lazy: lazy.weight.numel(), "how many dimensions": lambda t, lazy: lazy.bias.dim(),
    "numbers": lambda t, lazy: lazy.weight.tolist(), "a number": lambda t, lazy: lazy.weight.item(),
    "a plain tensor of it": lambda t, lazy: lazy.weight.detach(),
    "arithmetic": lambda t, lazy: lazy.weight + 1, "a function": lambda t, lazy: t.relu(lazy.weight),
    "its shape": lambda t, lazy: lazy.weight.shape, "shared memory": lambda t, lazy: lazy.share_memory(),
    "another like it": lambda t, lazy: t.empty_like(lazy.weight),
    "state of its shape": lambda t, lazy: t.optim.Adagrad(lazy.parameters()),
    "its norm": lambda t, lazy: t.nn.utils.weight_norm(lazy),
    "its spectrum": lambda t, lazy: t.nn.utils.spectral_norm(lazy),
    "loading it elsewhere": lambda t, lazy: t.nn.Linear(5, 3).load_state_dict(lazy.state_dict()),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated")
@pytest.mark.parametrize("case", REFUSED)
def test_what_a_parameter_without_a_shape_refuses(case):
    same(lambda t: REFUSED[case](t, t.nn.LazyLinear(3)), message=case.startswith(("its", "shared")))


def test_lazy_modules_are_converted_copied_and_loaded():
    def program(t):
        lazy = t.nn.LazyLinear(3).double()
        other, plain = copy.deepcopy(lazy), t.nn.Linear(5, 3)
        loaded = t.nn.LazyLinear(3)
        loaded.load_state_dict(plain.state_dict())
        return [repr(other.weight), str(lazy.weight.dtype).split(".")[1], loaded(t.ones(2, 5)), repr(loaded)]

    same(program)


# -- modules -----------------------------------------------------------------------------------------------------------

def test_output_size_of_a_transposed_convolution():
    def program(t):
        upsample = t.nn.ConvTranspose2d(2, 2, 3, stride=2, padding=1)
        x = t.ones(1, 2, 4, 4)
        return [tuple(upsample(x, output_size=size).shape) for size in ((7, 7), (8, 8), (1, 2, 8, 7))]

    same(program)
    same(lambda t: t.nn.ConvTranspose2d(2, 2, 3, stride=2)(t.ones(1, 2, 4, 4), output_size=(4, 4)))


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_padding_modes_and_first_values(mode):
    close(lambda t: t.nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)(t.arange(60.).view(1, 2, 5, 6)))


def test_a_network_keeps_its_state():
    def program(t):
        model = t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.LazyLinear(2))
        model(t.ones(1, 1, 8, 8))
        return [repr(model), {name: tuple(value.shape) for name, value in model.state_dict().items()}]

    same(program)


def test_loss_of_a_convolutional_network_falls_as_pytorchs():
    def program(t):
        model = t.nn.Sequential(t.nn.Conv2d(1, 8, 3, padding=1), t.nn.ReLU(), t.nn.MaxPool2d(2),
                                t.nn.Conv2d(8, 16, 3, padding=1), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(),
                                t.nn.Linear(16 * 4, 10))
        optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        x, y, losses = t.randn(16, 1, 8, 8), t.randint(0, 10, (16,)), []
        for _ in range(15):
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return t.stack(losses)

    same(program)


@pytest.mark.parametrize("given", [(0, 1, 2), (0,), (1,), (2,), ()], ids=str)
def test_the_derivative_of_a_convolutions_gradient_is_an_operator(given: tuple[int, ...]) -> None:
    shapes = (1, 2, 4), (3, 2, 2), (3,), (1, 3, 3), (3, 2, 2), (1, 2, 4)
    arrays = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate(shapes)]

    def gradients(t: Any) -> Any:
        tensors = [t.tensor(a) if i > 2 or i in given else None for i, a in enumerate(arrays)]
        return t.ops.aten._convolution_double_backward(*tensors, [1], [0], [1], False, [0], 1, [False, True, True])

    for ours, theirs in zip(gradients(mindtorch), gradients(torch), strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_native_channel_shuffle_is_seen_as_an_operator_of_its_own(t: Any) -> None:
    x, seen = t.arange(8.0).view(1, 4, 2), []
    mode = importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode

    class Names(mode):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Names():
        made = t.nn.functional.native_channel_shuffle(x, 2)
    assert made.flatten().tolist() == [0, 1, 4, 5, 2, 3, 6, 7] and seen == ["aten.native_channel_shuffle.default"]


@pytest.mark.parametrize("settings", [
    {"padding": 1}, {"stride": (2, 1), "padding": (0, 2)}, {"dilation": (1, 2), "stride": 3}], ids=str)
def test_columns_of_large_images_are_added_up_in_pytorchs_order(settings):
    x = torch.from_numpy(RNG.random((3, 2, 40, 31), np.float32))
    columns = torch.nn.functional.unfold(x, 3, **settings)
    mine = port(columns, mindtorch)
    for _ in range(3):  # a plan computes all but the first
        assert_same(mindtorch.nn.functional.fold(mine, (40, 31), 3, **settings),
                    torch.nn.functional.fold(columns, (40, 31), 3, **settings), rtol=0, atol=0)
