"""Print how the modules agree with PyTorch's: `python -m tests.nn.module_db [class ...]`.

PyTorch's database of modules (`common_modules.module_db`) says how each class is made and called. Both libraries make
it with one seed; compared are `repr`, the initial `state_dict`, outputs, gradients of inputs and parameters, gradients
of those gradients, the errors for wrong arguments, and the same on the simulated NPU.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.support import Difference, Outcome, Porter, differences, error_differences, seed_all, tensors_in, torch


@functools.cache
def database() -> dict[str, Any]:
    """PyTorch's modules by the name of their class."""
    from torch.testing._internal.common_modules import module_db

    return {info.module_cls.__name__: info for info in module_db}


class ModulePorter(Porter):
    """Carries modules and functions of `torch.nn.functional` over as well: arguments of Transformers."""

    def other(self, value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        if callable(value) and hasattr(self.lib.nn.functional, name := getattr(value, "__name__", "")):
            return getattr(self.lib.nn.functional, name)
        return super().other(value)

    def module(self, theirs: torch.nn.Module) -> Any:
        """A module of the class with this name, with all that `theirs` holds."""
        cls = getattr(self.lib.nn, type(theirs).__name__, None) or getattr(
            importlib.import_module(type(theirs).__module__.replace("torch", self.lib.__name__, 1)),
            type(theirs).__name__)
        ours = cls.__new__(cls)
        self.lib.nn.Module.__init__(ours)
        common = set(vars(torch.nn.Module()))
        held = {**theirs._parameters, **theirs._buffers, **theirs._modules}
        for name, value in theirs._parameters.items():
            ours.register_parameter(name, self(value))
        for name, value in theirs._buffers.items():
            ours.register_buffer(name, self(value))
        for name, value in theirs._modules.items():
            ours.add_module(name, None if value is None else self(value))
        for name, value in vars(theirs).items():
            if name not in common and name not in held:
                setattr(ours, name, self(value))
        ours.training = theirs.training
        return ours


def weight(tensor: Any, lib: types.ModuleType) -> Any:
    """What an output is multiplied by before it is summed: another number for each element."""
    values = lib.cos(lib.arange(tensor.numel(), dtype=lib.float64)).reshape(tensor.shape)
    return values.to(device=tensor.device, dtype=tensor.dtype)


def total(outputs: list[Any], lib: types.ModuleType) -> Any:
    """The weighted sum of all outputs that have a gradient, or None."""
    terms = [(out * weight(out, lib)).sum() for out in outputs if out.requires_grad]
    terms = [term.real if term.is_complex() else term for term in terms]
    return sum(terms[1:], terms[0]) if terms else None


class Program:
    """One module, made and run with one library; each step returns what is compared."""

    def __init__(self, lib: types.ModuleType, cls: Any, sample: Any, dtype: Any, training: bool, device: str,
                 port: Callable[[Any], Any]) -> None:
        self.lib, self.sample, self.port, self.device = lib, sample, port, device
        constructor = sample.constructor_input
        arguments, keywords = port(list(constructor.args)), port(dict(constructor.kwargs))
        seed_all(lib, 0)
        self.module = cls(*arguments, **keywords)
        if device == "npu":
            self.module.to(device)
        self.module.to(getattr(lib, dtype))
        self.module.train(training)
        forward = sample.forward_input
        self.arguments, self.keywords = ([], {}) if forward is None else (
            port(list(forward.args)), port(dict(forward.kwargs)))

    def description(self) -> str:
        return repr(self.module)

    def state(self) -> dict[str, Any]:
        lazy = self.lib.nn.parameter.UninitializedTensorMixin
        return {name: type(value).__name__ if isinstance(value, lazy) else value
                for name, value in self.module.state_dict(keep_vars=True).items()}

    def forward(self) -> Any:
        seed_all(self.lib, 1)
        if self.device == "npu" and any(map(self.lib.nn.parameter.is_lazy, self.module.parameters())):
            # the first call draws initial values, and an NPU's generator has other numbers
            self.module.cpu()(*ModulePorter(self.lib)(list(self.sample.forward_input.args)))
            self.module.to("npu")
        self.outputs = self.module(*self.arguments, **self.keywords)
        return self.outputs

    def sources(self) -> list[Any]:
        tensors = [*tensors_in([self.arguments, self.keywords]), *self.module.parameters()]
        return [tensor for tensor in tensors if tensor.requires_grad and tensor.is_leaf]

    def backward(self) -> list[Any]:
        """The gradients of all inputs and parameters."""
        loss = total(tensors_in(self.outputs), self.lib)
        self.gradients = [] if loss is None else self.lib.autograd.grad(
            loss, self.sources(), create_graph=True, allow_unused=True)
        return list(self.gradients)

    def double_backward(self) -> list[Any]:
        """The gradients of the gradients' weighted sum."""
        loss = total([gradient for gradient in self.gradients if gradient is not None], self.lib)
        return [] if loss is None else list(self.lib.autograd.grad(loss, self.sources(), allow_unused=True))


def samples(info: Any, dtype: Any, training: bool) -> list[Any]:
    return list(info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training))


def compare(name: str, lib: types.ModuleType, dtype: str = "float32", training: bool = True, device: str = "cpu",
            most: int | None = None) -> Iterator[tuple[str, Difference]]:
    """Run at most ``most`` samples of a class, evenly spaced; each difference, with the sample that shows it."""
    info = database()[name]
    ours = getattr(lib.nn, name, None)
    if ours is None:
        yield name, Difference("missing", None, f"torch.nn.{name}")
        return
    torch.manual_seed(0)
    found = samples(info, getattr(torch, dtype), training)
    chosen = found if most is None else found[::max(1, -(-len(found) // most))]
    for sample in chosen:
        place = f"{name}({sample.desc})" if sample.desc else name
        for difference in sample_differences(info, ours, sample, lib, dtype, training, device):
            yield place, difference
    if info.module_error_inputs_func is not None and device == "cpu":
        for wrong in info.module_error_inputs_func(info, device="cpu", dtype=getattr(torch, dtype),
                                                   requires_grad=False, training=training):
            def call(library: types.ModuleType, cls: Any, sample: Any = wrong.module_error_input) -> Any:
                port = (lambda value: value) if library is torch else ModulePorter(library)
                return Program(library, cls, sample, dtype, training, device, port).forward()

            for difference in error_differences(Outcome.of(call, lib, ours), Outcome.of(call, torch, info.module_cls)):
                yield name, difference


def sample_differences(info: Any, ours: Any, sample: Any, lib: types.ModuleType, dtype: str, training: bool,
                       device: str) -> Iterator[Difference]:
    made = []
    for library, cls in ((torch, info.module_cls), (lib, ours)):
        port = ModulePorter(library, device if library is lib else "cpu")
        made.append(Outcome.of(Program, library, cls, sample, dtype, training, device if library is lib else "cpu",
                               port))
    theirs, mine = made
    yield from error_differences(mine, theirs, "__init__")
    if theirs.error or mine.error:
        return
    steps = ["description", "state", "forward", "backward"]
    if info.supports_gradgrad and dtype == "float64":
        steps.append("double_backward")
    for step in steps:
        with contextlib.redirect_stderr(None):
            expected, result = Outcome.of(getattr(theirs.value, step)), Outcome.of(getattr(mine.value, step))
        here = list(error_differences(result, expected, step))
        if not here and expected.error is None:
            # an NPU's kernels add up in another order, and Ascend's exponentials are not the host's
            tolerance = ({"rtol": 1e-4, "atol": 1e-4} if device == "npu"
                         else tolerances(info.module_cls.__name__, dtype, step))
            here = list(differences(result.value, expected.value, strides=device == "cpu" and step == "forward",
                                    device=device, where=step, **tolerance))
        yield from here
        if here or expected.error:
            return


#: Classes whose gradients PyTorch itself computes in float32 with larger errors, held against float64.
ROUGH = ("CTCLoss",)


def tolerances(name: str, dtype: str, step: str) -> dict[str, float]:
    """Sums in another order may differ in the last places; initial values may not."""
    if step in ("description", "state"):
        return {"rtol": 1e-6, "atol": 1e-7}
    if name in ROUGH and dtype == "float32":
        return {"rtol": 1e-4, "atol": 1e-4}
    return {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-7, "atol": 1e-7}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nn.module_db", description=__doc__.splitlines()[0])
    parser.add_argument("classes", nargs="*", help="names of classes (default: all)")
    parser.add_argument("--dtype", nargs="+", default=["float32", "float64"])
    parser.add_argument("--device", nargs="+", default=["cpu", "npu"])
    parser.add_argument("--most", type=int, default=12, help="samples a class, dtype and mode (default: 12)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every difference")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lib = importlib.import_module("mindtorch")
    count: Counter[str] = Counter()
    for name in options.classes or database():
        found = []
        for device in options.device:
            for dtype in options.dtype if device == "cpu" else ["float32"]:
                for training in (False, True):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found += [(place, device, dtype, difference) for place, difference in compare(
                            name, lib, dtype, training, device, options.most if device == "cpu" else 3)]
        status = "agrees" if not found else "missing" if found[0][3].kind == "missing" else "differs"
        count[status] += 1
        print(f"{name:<32}{status}", flush=True)
        for place, device, dtype, difference in found[:None if options.verbose else 1] * (status == "differs"):
            print(f"    {place}, {dtype}, {device}: {difference}", flush=True)
    print(", ".join(f"{number} {status}" for status, number in count.items()), f"of {sum(count.values())} classes")
    return int(count.keys() != {"agrees"})


if __name__ == "__main__":
    sys.exit(main())
