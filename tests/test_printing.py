"""`repr` and `str` of tensors are PyTorch's, character for character."""

import ml_dtypes  # noqa: F401  (lets NumPy know bfloat16)
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch
from mindtorch._tensor import printing as _tensor_str

torch = pytest.importorskip("torch", reason="PyTorch's own repr is what these tests compare with")

LIBRARIES = (mindtorch, torch)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

SHAPES = (
    (), (1,), (2,), (7,), (33,), (1, 1), (2, 3), (1, 20), (3, 17), (5, 1), (2, 3, 4), (1, 2, 9),
    (2, 1, 2, 3), (2, 1, 2, 1, 3), (0,), (0, 3), (2, 0), (3, 0, 2), (1, 0, 0, 2), (0, 1, 2, 3, 4),
)
LARGE_SHAPES = ((1001,), (600, 2), (9, 120), (7, 8, 19), (2, 3, 8, 25), (2, 7, 3, 7, 4))

OPTIONS = (
    {},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "precision": 6, "linewidth": 100},
    {"sci_mode": True},
    {"sci_mode": False},
    {"precision": 0},
    {"precision": 1, "sci_mode": True},
    {"precision": 9},
    {"precision": 0, "sci_mode": True},
    {"linewidth": 30},
    {"linewidth": 1},
    {"linewidth": 200, "precision": 2},
    {"threshold": 0},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2, "linewidth": 24},
    {"threshold": 5, "edgeitems": 0},
    {"threshold": 0, "edgeitems": 0},
    {"threshold": 10, "edgeitems": 5, "precision": 3},
)

# What values look like, from real-valued standard normal draws.
VALUES = {
    "unit": lambda draws, rng: draws,
    "whole": lambda draws, rng: np.round(10 * draws),
    "large whole": lambda draws, rng: np.round(1e7 * draws),
    "huge": lambda draws, rng: 1e12 * draws,
    "tiny": lambda draws, rng: 1e-7 * draws,
    "wide": lambda draws, rng: draws * 10.0 ** rng.integers(-12, 12, draws.shape),
    "extreme": lambda draws, rng: draws * 10.0 ** rng.integers(-320, 308, draws.shape),
    "zeros": lambda draws, rng: rng.choice([0.0, -0.0], draws.shape),
    "sparse": lambda draws, rng: np.where(rng.random(draws.shape) < 0.5, 0.0, draws),
    "not finite": lambda draws, rng: rng.choice([np.nan, np.inf, -np.inf], draws.shape),
    "some not finite": lambda draws, rng: np.where(
        rng.random(draws.shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, -0.0], draws.shape), draws
    ),
    "some not finite, whole": lambda draws, rng: np.where(
        rng.random(draws.shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf], draws.shape), np.round(draws)
    ),
}


@pytest.fixture(autouse=True)
def restored_defaults():
    """Every test leaves both libraries' print options and default dtype as it found them."""
    formers = [
        (library, printing.get_printoptions(), library.get_default_dtype())
        for library, printing in ((mindtorch, _tensor_str), (torch, torch._tensor_str))
    ]
    yield
    for library, options, dtype in formers:
        library.set_printoptions(**options)
        library.set_default_dtype(dtype)


def random_array(rng, shape, dtype):
    """Draw an array of `shape` whose values print as `dtype` may have them (float32 stands for bfloat16)."""
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        low, high = [(info.min, info.max), (max(info.min, -9), 9)][rng.integers(2)]
        return np.asarray(rng.integers(low, high, shape, dtype=dtype, endpoint=True))

    def part():
        draws = rng.standard_normal(shape)
        return np.asarray(VALUES[rng.choice(list(VALUES))](draws, rng))

    numpy_dtype = "float32" if dtype == "bfloat16" else dtype
    with np.errstate(over="ignore"):
        if dtype not in COMPLEX:
            return part().astype(numpy_dtype)
        values = np.empty(shape, numpy_dtype)
        values.real, values.imag = part(), part()
        return values


def build(library, array, dtype=None):
    tensor = library.from_numpy(array.copy())
    return tensor.to(library.bfloat16) if dtype == "bfloat16" else tensor


def set_options(options):
    for library in LIBRARIES:
        library.set_printoptions(**options)


def assert_prints_alike(make):
    """`make(library)` has the same repr and str in both libraries."""
    ours, theirs = make(mindtorch), make(torch)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)


def assert_array_prints_alike(array, dtype=None):
    assert_prints_alike(lambda library: build(library, array, dtype))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_every_dtype_under_every_option(dtype, options):
    rng = np.random.default_rng([DTYPES.index(dtype), OPTIONS.index(options)])
    set_options(options)
    for shape in SHAPES:
        assert_array_prints_alike(random_array(rng, shape, dtype), dtype)


@pytest.mark.parametrize("options", [{}, {"edgeitems": 1, "linewidth": 40}, {"sci_mode": True}], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_summaries_of_large_tensors(dtype, options):
    rng = np.random.default_rng(DTYPES.index(dtype))
    set_options(options)
    for shape in LARGE_SHAPES:
        assert_array_prints_alike(random_array(rng, shape, dtype), dtype)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_magnitudes(dtype, values):
    rng = np.random.default_rng(list(VALUES).index(values))
    for shape in [(), (1,), (3,), (4, 5)]:
        with np.errstate(over="ignore"):
            array = np.asarray(VALUES[values](rng.standard_normal(shape), rng)).astype(dtype)
        assert_array_prints_alike(array)


@pytest.mark.parametrize("values", [
    [1.0, 1000.0], [1.0, 1000.1], [1.5, 1500.0], [1.5, 1501.0],
    [1e8], [1.00000001e8], [1e8 - 0.5], [1e-4], [0.99e-4], [-1e-4, 0.0], [0.5, np.nan], [5.0, np.inf],
], ids=str)
def test_thresholds_of_scientific_mode(values):
    assert_array_prints_alike(np.array(values))
    assert_array_prints_alike(np.array(values, dtype=np.float32))


@pytest.mark.parametrize("bits", [np.uint16(0x7C01), np.uint32(0x7F800001)], ids=["float16", "float32"])
def test_signalling_nans_print_without_a_warning(bits):
    assert_array_prints_alike(np.array([bits]).view(f"float{8 * bits.itemsize}"))


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(
    array=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.complex64, np.complex128, np.int64, np.uint8]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    options=st.fixed_dictionaries({}, optional={
        "precision": st.integers(0, 12),
        "threshold": st.integers(0, 30),
        "edgeitems": st.integers(0, 3),
        "linewidth": st.integers(0, 150),
        "sci_mode": st.sampled_from([None, True, False]),
    }),
)
def test_any_values_under_any_options(array, options):
    set_options({"profile": "default", **options})
    assert_array_prints_alike(array)


@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_summary_begins_above_the_threshold(size):
    assert_array_prints_alike(np.arange(size))


def test_summary_touches_only_what_it_shows():
    # Ten million million elements in the memory of one: anything that looked at all would not end.
    assert_prints_alike(lambda library: library.zeros(1).expand(10**7, 10**6))


def test_summary_decides_its_format_from_what_it_shows():
    array = np.ones(2000)
    array[1000] = 1e20
    assert_array_prints_alike(array)
    array[1] = 0.5
    assert_array_prints_alike(array)


def test_printing_leaves_no_trace_in_the_tensor():
    for library in LIBRARIES:
        tensor = library.ones(3, requires_grad=True) * 2
        version = tensor._version
        repr(tensor)
        assert tensor._version == version
        tensor.untyped_storage().resize_(64)  # as numpy() would forbid


LAYOUTS = {
    "transposed": lambda t: t.t(),
    "strided": lambda t: t[::2, 1::3],
    "offset": lambda t: t[3],
    "expanded": lambda t: t[:, :1].expand(40, 7),
    "permuted": lambda t: t.view(5, 8, 30).permute(2, 0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_views(dtype, layout):
    array = random_array(np.random.default_rng(0), (40, 30), dtype)
    assert_prints_alike(lambda library: LAYOUTS[layout](build(library, array)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_conjugates(dtype):
    array = random_array(np.random.default_rng(0), (5, 3), dtype)
    assert_prints_alike(lambda library: build(library, array).conj())


HISTORIES = {
    "leaf": lambda m: m.ones(2, 3, requires_grad=True),
    "empty leaf": lambda m: m.ones(0, 3, requires_grad=True),
    "double leaf": lambda m: m.ones(3, dtype=m.float64, requires_grad=True),
    "sum": lambda m: m.ones(2, requires_grad=True) + 1,
    "product": lambda m: m.ones(2, 2, requires_grad=True) @ m.ones(2, 2),
    "scalar": lambda m: m.ones(2, requires_grad=True).sum(),
    "view": lambda m: m.ones(2, 3, requires_grad=True).view(6),
    "wrapped to a second line": lambda m: m.ones(16, requires_grad=True).exp(),
    "wrapped twice": lambda m: m.ones(16, 1, dtype=m.float64, requires_grad=True).t().exp(),
    "detached": lambda m: (m.ones(2, requires_grad=True) + 1).detach(),
    "complex": lambda m: m.ones(2, dtype=m.complex64, requires_grad=True) * 2,
}


@pytest.mark.parametrize("linewidth", [20, 40, 80])
@pytest.mark.parametrize("history", HISTORIES)
def test_grad_suffixes(history, linewidth):
    set_options({"linewidth": linewidth})
    assert_prints_alike(HISTORIES[history])


def test_grad_suffix_of_a_tensor_written_through_a_view():
    def written(library):
        tensor = library.ones(3, requires_grad=True) * 1
        tensor[0] = 2
        return tensor

    assert_prints_alike(written)


def test_grad_suffix_of_a_view_with_an_invalid_history():
    def view_written_without_grad(library):
        base = library.ones(3, requires_grad=True) * 1
        with library.no_grad():
            view = base.view(3)
            view.add_(1)
        return view

    assert_prints_alike(view_written_without_grad)


def test_grad_suffix_of_a_custom_function():
    def doubled(library):
        class Double(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        return Double.apply(library.ones(2, requires_grad=True))

    assert_prints_alike(doubled)


def test_inference_tensors():
    def made_in_inference_mode(library):
        with library.inference_mode():
            return library.ones(2, 3) * 2

    assert_prints_alike(made_in_inference_mode)


@pytest.mark.parametrize("shape", [(), (2, 3), (0,), (2, 0), (1, 2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_meta_tensors(dtype, shape):
    def on_meta(library):
        return library.empty(shape, dtype=getattr(library, dtype), device="meta")

    assert_prints_alike(on_meta)
    if dtype in FLOATS + COMPLEX:
        assert_prints_alike(lambda library: on_meta(library).requires_grad_())


@pytest.mark.parametrize("default", FLOATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_default_dtype_is_not_said(dtype, default):
    rng = np.random.default_rng(0)
    for library in LIBRARIES:
        library.set_default_dtype(getattr(library, default))
    for shape in [(), (3,), (0,), (2, 0)]:
        assert_array_prints_alike(random_array(rng, shape, dtype), dtype)
    assert_prints_alike(lambda library: library.empty(2, dtype=getattr(library, dtype), device="meta"))


def test_parameters():
    assert_prints_alike(lambda library: library.nn.Parameter(library.ones(2, 3)))
    assert_prints_alike(lambda library: library.nn.Parameter(library.ones(2, 3), requires_grad=False))


def test_subclasses_print_their_name():
    def subclass_instance(library):
        class Coordinates(library.Tensor):
            pass

        return library.ones(16, 2, dtype=library.float64).as_subclass(Coordinates)

    assert_prints_alike(subclass_instance)


def test_subclass_parameters():
    def parameter(library):
        class Weight(library.nn.Parameter):
            pass

        return Weight(library.ones(2))

    assert_prints_alike(parameter)


def test_given_contents_stand_in_for_the_values():
    ours = _tensor_str._str(mindtorch.ones(2, dtype=mindtorch.float64), tensor_contents="contents")
    theirs = torch._tensor_str._str(torch.ones(2, dtype=torch.float64), tensor_contents="contents")
    assert ours == theirs


def test_set_printoptions_keeps_what_is_not_given():
    for given_options in [{"precision": 7}, {"edgeitems": 1}, {"sci_mode": True}, {"profile": "full"}, {}]:
        set_options(given_options)
        assert _tensor_str.get_printoptions() == torch._tensor_str.get_printoptions()


def test_set_printoptions_refuses_an_unknown_profile():
    former = _tensor_str.get_printoptions()
    with pytest.raises(ValueError, match="'wide' is not one of default, short, full"):
        mindtorch.set_printoptions(precision=2, profile="wide")
    assert _tensor_str.get_printoptions() == former


def test_printoptions_restores_the_former_options_even_after_an_error():
    mindtorch.set_printoptions(precision=7, sci_mode=True)
    former = _tensor_str.get_printoptions()
    with pytest.raises(KeyError), _tensor_str.printoptions(profile="short"):
        assert _tensor_str.get_printoptions()["precision"] == 2
        assert _tensor_str.get_printoptions()["sci_mode"] is None
        raise KeyError
    assert _tensor_str.get_printoptions() == former


def test_the_class_of_tensors_has_its_public_name():
    assert repr(type(mindtorch.ones(1))).replace("mindtorch", "torch") == repr(torch.Tensor)
    assert repr(mindtorch.nn.Parameter).replace("mindtorch", "torch") == repr(torch.nn.Parameter)
