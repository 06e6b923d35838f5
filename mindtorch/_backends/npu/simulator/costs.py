"""A model of an operator's cost on an Ascend 910B: which cores it takes, how many, and for how long.

``torch.npu.simulator.costs`` has the constants, each with where it comes from; any of them can be set. The model is
coarse on purpose. The host plans for some time (phase one); every launch takes some time, on no core; then an operator
takes as long as the larger of two things, to move its bytes and to do its arithmetic, on as many cores as it fills. So
small operators are bound by their launches and leave cores free for other streams; large ones fill the device, and
other streams wait. ``%%timeline`` shows the model's times of each operator. With ``scale`` the simulator takes that
time, so many times as long: the host plans and copies, streams launch, copy and compute.
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import ceil, prod
from typing import Any, NamedTuple

from ...._base.durations import time_text

#: The constants: value, unit, whether it is documented or a guess ("model"), and the source. The configuration is
#: Ascend910B2.ini in the sources of CANN's runtime (src/platform/platform_config), which CANN installs.
CONSTANTS: dict[str, tuple[float, str, str, str]] = {
    "cube_cores": (24, "cores", "documented", "cube_core_cnt in the configuration of a 910B2; a B3 has 20"),
    "vector_cores": (48, "cores", "documented", "vector_core_cnt there; a B3 has 40"),
    "aicpu_cores": (6, "cores", "documented", "ai_cpu_cnt there"),
    "frequency": (1.8e9, "1/s", "documented", "cube_freq there"),
    "cube_operations": (8192, "a cycle and core", "documented", "products and sums of cube_m_size, cube_n_size and "
                        "cube_k_size there, 16 each, in float16"),
    "cube_float32": (4, "times", "model", "as long as in float16: a cube core multiplies 16 x 4 by 4 x 16 in a cycle"),
    "vector_bytes": (128, "a cycle and core", "documented", "vec_calc_size there"),
    "memory_bandwidth": (1.3824e12, "bytes/s", "documented", "ddr_rate there: 32 bytes a cycle for each cube core"),
    "aicpu_elements": (2e8, "elements/s and core", "model", "a scalar loop"),
    "transfer_bandwidth": (2.4e10, "bytes/s", "model", "PCIe 4.0 x16, of which about three quarters are reached"),
    "transfer_latency": (1e-5, "s", "model", "of a copy between host and device"),
    "launch": (5e-6, "s", "model", "from the task queue to the first block on a core"),
    "phase_one": (1e-5, "s", "model", "to check and to plan, on the host; less where CANN finds the plan in its cache"),
    "vector_block": (32768, "bytes", "model", "that are worth a vector core of their own"),
    "cube_block": (128, "rows and columns", "model", "of a product that a cube core computes"),
}

#: Operators of the cube cores; all others are the vector cores'.
CUBE = frozenset({"aclnnMatmul", "aclnnMm", "aclnnBatchMatMul", "aclnnAddmm", "aclnnBaddbmm", "aclnnConvolution",
                  "aclnnConvolutionBackward", "aclnnAddmv", "aclnnDot", "aclnnMv", "aclnnFlashAttentionScore",
                  "aclnnFlashAttentionScoreGrad", "aclnnPromptFlashAttention"})
#: dtypes that AI cores have no arithmetic for.
AICPU = frozenset({"float64", "complex64", "complex128"})
SIZES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4,
         "int64": 8, "float64": 8, "complex64": 8, "complex128": 16}
UNITS = ("cube", "vector", "aicpu")

Operand = tuple[str, tuple[int, ...]]  #: the name of the dtype, and the shape


class Cost(NamedTuple):
    """An operator's cost: a ``launch``, then ``cores`` of ``total`` cores of a ``unit`` for ``computing`` seconds."""

    unit: str
    cores: int
    total: int
    computing: float
    launch: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it takes in its stream."""
        return self.launch + self.computing

    def __str__(self) -> str:
        name = {"cube": "cube cores", "vector": "vector cores", "aicpu": "AICPU cores"}[self.unit]
        return f"{self.cores} of {self.total} {name}"


def work_of(name: str, shapes: list[tuple[int, ...]]) -> float:
    """Return the multiply-adds of a cube operator by shapes; backward doubles them (attention: 2 products to 5)."""
    first, second, out = shapes[0], shapes[min(1, len(shapes) - 1)], shapes[-1]
    if "Attention" in name:
        return 2.0 * (5 if name.endswith("Grad") else 2) * prod(first) * second[-2]
    if name == "aclnnConvolution":
        return 2.0 * prod(out) * prod(second[1:])
    if name == "aclnnConvolutionBackward":  # the gradient of the output comes first, then the input and the weight
        return 4.0 * prod(first) * prod(shapes[2][1:])
    return 2.0 * prod(out) * (first[-1] if first else 1)


class Costs:
    """The model's constants and their consequences; ``scale`` slows time down, 0 disables costs."""

    scale = 0.0

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Give all constants their first values, and switch the model's time off."""
        vars(self).update({name: value for name, (value, *_) in CONSTANTS.items()}, scale=0.0)

    def __setattr__(self, name: str, value: float) -> None:
        if name not in CONSTANTS and name != "scale":
            raise AttributeError(f"the model has no constant {name!r}: it has {', '.join(CONSTANTS)}")
        if not value >= 0 or (name != "scale" and not value):
            raise ValueError(f"{name} must be positive, got {value}")
        vars(self)[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the model has no constant {name!r}: it has {', '.join(CONSTANTS)}")

    def table(self) -> str:
        """Return the constants with their values, units and sources, one a line."""
        lines = [f"{name:<19} {vars(self)[name]:>10.6g} {unit:<20} {kind:<10} {source}"
                 for name, (_, unit, kind, source) in CONSTANTS.items()]
        return "\n".join(lines)

    def total(self, unit: str) -> int:
        """Return the number of cores of a unit."""
        return int(vars(self)[f"{unit}_cores"])

    def of(self, name: str, operands: Iterable[Operand]) -> Cost:
        """Return the costs of an operator. ``operands`` are its tensors, the outputs last."""
        tensors = list(operands)
        dtypes = {dtype for dtype, _ in tensors}
        shapes = [shape for _, shape in tensors] or [()]
        nbytes = sum(SIZES.get(dtype, 4) * prod(shape) for dtype, shape in tensors)
        largest = max((SIZES.get(dtype, 4) * prod(shape) for dtype, shape in tensors), default=0)
        if dtypes & AICPU:
            elements = max(map(prod, shapes))
            cores = min(self.total("aicpu"), max(1, ceil(elements / 4096)))
            return Cost("aicpu", cores, self.total("aicpu"), elements / (self.aicpu_elements * cores), self.launch)
        moving = nbytes / self.memory_bandwidth
        if name in CUBE:
            out = shapes[-1]
            rows, columns = (out[-2:] if len(out) > 1 else (1, prod(out)))
            blocks = ceil(rows / self.cube_block) * ceil(columns / self.cube_block) * max(1, prod(out[:-2]))
            cores = min(self.total("cube"), max(1, blocks))
            slower = self.cube_float32 if "float32" in dtypes else 1
            computing = slower * work_of(name, shapes) / (self.cube_operations * self.frequency * cores)
            return Cost("cube", cores, self.total("cube"), max(moving, computing), self.launch)
        cores = min(self.total("vector"), max(1, ceil(largest / self.vector_block)))
        computing = nbytes / (self.vector_bytes * self.frequency * cores)
        return Cost("vector", cores, self.total("vector"), max(moving, computing), self.launch)

    def copy(self, nbytes: int, inside: bool = False) -> float:
        """Return the seconds of a copy between host and device, or ``inside`` a device (read and write)."""
        if inside:
            return float(self.launch + 2 * nbytes / self.memory_bandwidth)
        return float(self.transfer_latency + nbytes / self.transfer_bandwidth)

    def told(self, cost: Cost) -> str:
        """Return the cores that an operator takes and, in a second line, the model's times, the host's part first."""
        times = [time_text(1e9 * seconds) for seconds in (self.phase_one, cost.launch, cost.computing)]
        return f"{cost}\nmodel: phase one {times[0]}, launch {times[1]}, then {times[2]}"


class Cores:
    """The free cores of a device. Who comes first is served first: a large operator is not overtaken for ever."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._taken = dict.fromkeys(UNITS, 0)
        self._waiting: dict[str, deque[object]] = {unit: deque() for unit in UNITS}

    @contextmanager
    def taken(self, cost: Cost) -> Iterator[None]:
        """Wait for the cores that an operator needs, and take them for a block."""
        me, unit = object(), cost.unit
        with self._condition:
            queue = self._waiting[unit]
            queue.append(me)
            self._condition.wait_for(lambda: queue[0] is me and self._taken[unit] + cost.cores <= cost.total)
            queue.popleft()
            self._taken[unit] += cost.cores
            self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._taken[unit] -= cost.cores
                self._condition.notify_all()


costs = Costs()
