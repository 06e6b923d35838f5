"""The small names that every program has say and raise what those of a PyTorch for the CPU do."""
from __future__ import annotations

import operator
import subprocess
import sys
import warnings
from typing import Any

import pytest

import mindtorch
import mindtorch.cuda.amp
from tests.support import name_of, torch


def outcome(program: Any, lib: Any) -> tuple[Any, ...]:
    """Return a program's result, in terms that are equal in both libraries, or its error; and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            value = program(lib)
        except Exception as error:
            return type(error), str(error)
    if isinstance(value, (lib.Tensor, lib.device)):
        value = str(value)
    elif isinstance(value, lib.dtype):
        value = name_of(value)
    return value, [str(warning.message) for warning in told if warning.category is FutureWarning]


@pytest.mark.parametrize("program", [
    lambda t: t.cuda.is_available(),
    lambda t: t.cuda.device_count(),
    lambda t: t.cuda.is_initialized(),
    lambda t: t.cuda.is_bf16_supported(),
    lambda t: t.cuda.manual_seed(3),
    lambda t: t.cuda.manual_seed_all(3),
    lambda t: t.cuda.empty_cache(),
    lambda t: t.cuda.memory_allocated(),
    lambda t: t.cuda.max_memory_allocated(0),
    lambda t: t.cuda.memory_reserved(),
    lambda t: t.cuda.get_arch_list(),
    lambda t: t.cuda.get_rng_state_all(),
    lambda t: t.cuda.current_device(),
    lambda t: t.cuda.get_device_name(0),
    lambda t: t.cuda.get_device_properties(0),
    lambda t: t.cuda.get_device_capability(),
    lambda t: t.cuda.synchronize(),
    lambda t: t.cuda.mem_get_info(),
    lambda t: t.cuda.current_stream(),
    lambda t: t.cuda.get_rng_state(),
    lambda t: t.cuda.Stream(),
    lambda t: t.cuda.Event(enable_timing=True),
    lambda t: t.cuda.stream(None).__enter__(),
    lambda t: t.cuda.FloatTensor(3),
    lambda t: t.cuda.nvtx.range_push("x"),
    lambda t: t.zeros(2, device="cuda"),
    lambda t: t.zeros(2).to("cuda:1"),
    lambda t: t.zeros(2).cuda(), lambda t: t.zeros(2).cuda(1), lambda t: t.nn.Linear(1, 1).cuda(0),
    lambda t: t.tensor([1], device=t.device("cuda", 0)),
    lambda t: t.nn.Linear(1, 1).cuda(),
    lambda t: t.nn.Linear(1, 1).to(t.device("cuda")),
    lambda t: t.nn.ReLU().cuda().training,
    lambda t: t.zeros(2, device="xpu"),
    lambda t: t.zeros(2).to("mps"),
    lambda t: t.zeros(2).is_cuda,
    lambda t: [t.finfo(t.float16) == t.finfo(t.float16), t.finfo(t.float32) == t.finfo(t.complex64),
               t.iinfo(t.int8) != t.iinfo(t.int8), t.iinfo(t.int8) == t.finfo(t.float32)],
    lambda t: str(t.fft.fftfreq(5, out=t.zeros(5, dtype=t.float64))),
    lambda t: t.fft.rfftn(t.zeros(2, dtype=t.complex64)),
    lambda t: t.fft.ihfft2(t.zeros(2, 2, dtype=t.complex64)),
    lambda t: t.fft.ihfft(t.zeros(2, dtype=t.complex64)),
    lambda t: [getattr(t.zeros(2), f"is_{kind}") for kind in ("sparse_csr", "ipu", "maia", "mtia", "vulkan", "xla")],
    lambda t: (x := t.ones(2)).to_dense() is x and str(x.to_dense(t.int64)),
    lambda t: t.device("cuda:3"),
    lambda t: t.device("cuda", 1).index,
    lambda t: t.device("mps").type,
    lambda t: t.device("cuda:"),
    lambda t: t.xpu.is_available(),
    lambda t: t.xpu.synchronize(),
    lambda t: t.mps.is_available(),
    lambda t: t.mps.device_count(),
    lambda t: t.mps.manual_seed(1),
    lambda t: t.mps.synchronize(),
    lambda t: t.mps.current_allocated_memory(),
    lambda t: t.cpu.is_available(),
    lambda t: t.cpu.device_count(),
    lambda t: t.cpu.current_device(),
    lambda t: t.cpu.synchronize(),
    lambda t: t.accelerator.is_available(),
    lambda t: t.accelerator.current_accelerator(),
    lambda t: t.accelerator.device_count(),
    lambda t: t.accelerator.synchronize(),
    lambda t: t.accelerator.current_device_idx(),
    lambda t: t.backends.cudnn.is_available(),
    lambda t: t.backends.cudnn.version(),
    lambda t: (t.backends.cudnn.enabled, t.backends.cudnn.benchmark, t.backends.cudnn.deterministic),
    lambda t: (t.backends.cudnn.allow_tf32, t.backends.cuda.matmul.allow_tf32),
    lambda t: (t.backends.cuda.is_built(), t.backends.mps.is_built(), t.backends.mps.is_available()),
    lambda t: (t.backends.cuda.flash_sdp_enabled(), t.backends.cuda.math_sdp_enabled()),
    lambda t: t.backends.cpu.get_cpu_capability(),
    lambda t: (t.version.cuda, t.version.hip, t.version.debug),
    lambda t: t.is_tensor(t.ones(1)) and not t.is_tensor(1),
    lambda t: t.is_storage(t.ones(1).untyped_storage()) and not t.is_storage(1),
    lambda t: t.is_floating_point(t.ones(1)),
    lambda t: t.is_floating_point(1),
    lambda t: t.is_complex(t.ones(1)),
    lambda t: t.is_nonzero(t.zeros(1)),
    lambda t: t.is_nonzero(t.ones(2)),
    lambda t: t.ones(1).is_nonzero(),
    lambda t: t.is_inference(t.ones(1)),
    lambda t: (t.is_conj(t.ones(1)), t.is_neg(t.ones(1)), t.is_signed(t.ones(1))),
    lambda t: t.is_same_size(t.ones(1), t.ones(2)),
    lambda t: t.numel(t.ones(2, 3)),
    lambda t: t.numel(3),
    lambda t: t.get_device(t.ones(1)),
    lambda t: (t.typename(t.ones(2)), t.typename(t.ones(2, dtype=t.int64)), t.typename(3), t.typename(len)),
    lambda t: str(t.ones(1).layout),
    lambda t: isinstance(t.ones(1), t.FloatTensor) and not isinstance(t.ones(1), t.LongTensor),
    lambda t: t.ones(1).type(t.LongTensor).dtype,
    lambda t: t.FloatTensor([1, 2]),
    lambda t: t.autograd.Variable(t.ones(1), requires_grad=True),
    lambda t: isinstance(t.ones(1), t.autograd.Variable),
    lambda t: t.get_float32_matmul_precision(),
    lambda t: t.set_num_threads(0),
    lambda t: t.set_num_threads(1.5),
    lambda t: t.set_num_interop_threads(0),
    lambda t: t.set_deterministic_debug_mode("loud"),
    lambda t: t.set_deterministic_debug_mode(3),
    lambda t: t.use_deterministic_algorithms(1),
    lambda t: t.use_deterministic_algorithms(False, warn_only=1),
    lambda t: t.set_default_tensor_type("torch.LongTensor"),
    lambda t: t.__version__.startswith("2.13.0+"),
    lambda t: (t.__version__ >= "2.1", t.__version__ > (2, 13), t.__version__ < "3", t.__version__ >= "2.13.0rc1"),
    lambda t: (t.__version__ == "2.13.0", t.__version__ != "2.13.0", "2.13" in t.__version__, t.__version__ >= "2.9"),
    lambda t: (t.compiler.is_compiling(), t.compiler.is_dynamo_compiling(), t.compiler.is_exporting()),
    lambda t: t.cuda.amp.GradScaler().is_enabled(),
    lambda t: t.cuda.amp.autocast()._enabled,
])
def test_a_name_does_what_it_does_in_pytorch(program, monkeypatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU", "auto")
    assert outcome(program, mindtorch) == outcome(program, torch)


def test_what_is_marked_for_a_compiler_runs_as_it_is(monkeypatch) -> None:
    def count(items):
        return len(items)

    def stands_in(items):
        return len(items)

    compiler = mindtorch.compiler
    for mark in (compiler.allow_in_graph, compiler.assume_constant_result, compiler.substitute_in_graph(stands_in)):
        assert mark(count) is count  # marks hold in the whole process, so that none is of a function that others call
    for mark in (compiler.disable, compiler.disable(recursive=False), mindtorch._dynamo.disable):
        assert mark(count)([1]) == 1
    with compiler.set_stance("force_eager"):
        assert compiler.set_stance("eager_on_recompile")(count)([1]) == 1
    assert compiler.nested_compile_region(count) is count and mindtorch._dynamo.run(count)([1]) == 1
    with pytest.raises(NotImplementedError, match="force_backend"):
        compiler.set_stance("default", force_backend="eager")
    assert compiler.list_backends() == ["inductor"] and compiler.reset() is None
    monkeypatch.setattr(mindtorch._dynamo.config, "suppress_errors", True)


def test_settings_are_kept() -> None:
    mindtorch.use_deterministic_algorithms(True, warn_only=True)
    assert mindtorch.are_deterministic_algorithms_enabled() and mindtorch.get_deterministic_debug_mode() == 1
    mindtorch.set_deterministic_debug_mode("default")
    assert not mindtorch.are_deterministic_algorithms_enabled()
    mindtorch.set_float32_matmul_precision("high")
    assert mindtorch.get_float32_matmul_precision() == "high"
    with pytest.warns(UserWarning, match="is not one of"):
        mindtorch.set_float32_matmul_precision("low")
    mindtorch.set_float32_matmul_precision("highest")
    with mindtorch.backends.cudnn.flags(enabled=False, deterministic=True):
        assert mindtorch.backends.cudnn.deterministic and not mindtorch.backends.cudnn.enabled
    assert mindtorch.backends.cudnn.enabled and not mindtorch.backends.cudnn.deterministic


def test_the_number_of_threads_is_that_of_numpy() -> None:
    before = mindtorch.get_num_threads()
    mindtorch.set_num_threads(1)
    assert mindtorch.get_num_threads() == 1
    mindtorch.set_num_threads(before)


def test_the_default_type_can_be_set_by_a_legacy_type() -> None:
    mindtorch.set_default_tensor_type(mindtorch.DoubleTensor)
    assert mindtorch.ones(1).dtype is mindtorch.float64
    mindtorch.set_default_tensor_type("torch.FloatTensor")
    assert mindtorch.ones(1).dtype is mindtorch.float32


def test_the_simulator_is_an_accelerator_if_it_is_asked_for(monkeypatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU", "sim")
    assert mindtorch.accelerator.is_available()
    assert mindtorch.accelerator.current_accelerator() == mindtorch.device("npu")
    mindtorch.accelerator.synchronize()


def test_modules_are_attributes_of_their_packages() -> None:
    code = "import mindtorch as torch; print(torch.nn.utils.fusion.__name__, torch.utils.weak.__name__, "\
           "torch.return_types.max.__name__, torch.types.Number)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=3) == ["mindtorch.nn.utils.fusion", "mindtorch.utils.weak", "max",
                                             "int | float | bool\n"]
    with pytest.raises(AttributeError, match="has no attribute 'fusions'"):
        _ = mindtorch.nn.utils.fusions


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
                                  "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"])
def test_the_properties_of_a_dtype_are_pytorchs(name: str) -> None:
    ours, theirs = (lib.finfo(getattr(lib, name)) for lib in (mindtorch, torch))
    assert repr(ours) == repr(theirs) and ours.resolution == theirs.resolution


@pytest.mark.parametrize(("value", "kind"), [("a", "str"), (None, "NoneType"), ([1], "list")])
def test_a_tensor_is_full_of_a_number(value, kind: str) -> None:
    with pytest.raises(TypeError, match=rf"full\(\): argument 'fill_value' \(position 2\) must be Number, not {kind}"):
        mindtorch.full((2,), value)


@pytest.mark.parametrize("args", [
    lambda t: (t.tensor(0),), lambda t: (t.tensor(False), "said"), lambda t: (t.tensor([1, 2]),),
    lambda t: (t.ones(0),), lambda t: (t.tensor([[1.5]], requires_grad=True), "said"),
    lambda t: (t.zeros(1, device="meta"),)])
def test_an_element_is_asserted(args: Any) -> None:
    def program(t: Any) -> Any:
        return t._assert_async(*args(t))

    assert outcome(program, mindtorch) == outcome(program, torch)


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_what_is_asserted_of_an_element_stays_in_a_graph(backend: str) -> None:
    @mindtorch.compile(backend=backend, fullgraph=True)
    def positive(x: Any) -> Any:
        mindtorch._assert_async((x > 0).all(), "negative")
        return x * 2

    x = mindtorch.ones(2, requires_grad=True)
    positive(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="negative"):
        positive(-x)


VERSIONS = ("1.0", "1.0.0", "1.0a1", "1.0b2", "1.0rc1", "1.0.dev3", "1.0a1.dev3", "1.0.post1", "1.0.post1.dev2",
            "1.0+cu1", "1.0+cu2.3", "1.0+3", "v1.2", "1.10", "1.9", "2", "no version", "")


@pytest.mark.parametrize("one", VERSIONS)
def test_versions_have_pytorchs_order(one: str) -> None:
    orders = []
    for library in (mindtorch, torch):
        made = library.torch_version.TorchVersion(one)
        numbers = [(1, 0), [1, 9, 0], (1, "10")] if one[:1].isdigit() else []
        orders.append([(other, made < other, made <= other, made == other, made > other, made >= other)
                       for other in (*VERSIONS, *numbers)])
        assert made != 1 and made != (3,) and not operator.ne(made, one)
        for wrong in (1, 2.0, None, *[(1, 0)] * (not numbers and one != "v1.2")):
            with pytest.raises(TypeError, match="not supported between instances of 'TorchVersion' and"):
                _ = made < wrong
    assert orders[0] == orders[1]
