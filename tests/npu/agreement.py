"""The samples of PyTorch's operator database on the (simulated) NPU: `python -m tests.npu.agreement [entry ...]`.

Per entry: values, dtype, shape, stride, aliasing and gradients of the function and its in-place variant, and which
ACLNN operators computed them or which ATen operators fell back to the CPU.
"""
from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import mindtorch
from mindtorch._backends.npu.bindings import names
from mindtorch._backends.npu.queues import Queue
from mindtorch._base.call_site import Told
from tests.npu import calls, steps
from tests.parity import agreeing, compare
from tests.parity.compare import Comparison, Entry, Result, database
from tests.support import torch


class OnDevice(Comparison):
    """One sample with its tensors on a device: the function and its in-place variant."""

    def run(self, function: Callable[..., Any]) -> None:
        if not compare.portable(self.sample, self.lib, self.result, "function", self.number):
            return
        with self.lib.device(self.device):
            self.check("function", self.function, function)
            if compare.is_tensor(self.sample.input):
                self.variant("in-place", self.op.inplace_variant)


class DeviceEntry(Entry):
    """An entry whose samples are on a device. Error inputs are the CPU comparison's: the checks are the same code."""

    @property
    def comparison(self) -> type[Comparison]:
        return OnDevice

    def compare_errors(self, function: Callable[..., Any], result: Result) -> None:
        return


@contextmanager
def noted() -> Iterator[tuple[set[str], set[str]]]:
    """A block after which it is known which ACLNN operators were launched, and which ATen operators fell back."""
    launched: set[str] = set()
    fallen: set[str] = set()
    note, once = Queue.note, Told.once

    def noting(self: Queue, name: str, *rest: Any) -> int:
        launched.add(name)
        return note(self, name, *rest)

    Queue.note, Told.once = noting, fallen  # type: ignore[method-assign,assignment]
    try:
        yield launched, fallen
    finally:
        Queue.note, Told.once = note, once  # type: ignore[method-assign]


def check(name: str, dtype: str, most: int = 0) -> Result:
    """Compare an entry on the NPU with PyTorch on the CPU, at so many samples at the most unless that is 0."""
    return DeviceEntry(database()[name], mindtorch, "npu", most).compare(getattr(torch, dtype))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="*")
    parser.add_argument("-k", default="")
    parser.add_argument("--dtype", nargs="+", default=["float32", "int64"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bad = count = 0
    reached: set[str] = set()
    for name, dtypes in agreeing.read().items():
        if (options.entries and name not in options.entries) or options.k not in name:
            continue
        for dtype in set(dtypes) & set(options.dtype):
            with noted() as (launched, fallen):
                result = check(name, dtype)
            count += 1
            reached |= launched
            if result.status != "agrees":
                bad += 1
                told = [f"{part} {sample}: {difference}" for part, sample, difference in result.found]
                print(
                    f"{name} {dtype} {result.status} {len(told)} {told[0] if told else result.reason} "
                    f"[{' '.join(sorted(launched - {'aclnnInplaceCopy'}))}] CPU: {' '.join(sorted(fallen))}",
                    flush=True,
                )
    print(f"{count - bad} of {count} agree on the NPU")
    with noted() as (launched, fallen):
        for program in calls.PROGRAMS.values():
            program(mindtorch, calls.Draw(mindtorch, "npu"))
        for network, optimizer in product(steps.NETWORKS.values(), steps.OPTIMIZERS):
            steps.losses(network, optimizer, "npu")
    reached |= launched
    missing = [name for name in names() if name not in reached]
    print(f"{len(names()) - len(missing)} of the table's {len(names())} operators were reached")
    print("not reached:", *missing)
    print("calls that no entry makes, and training steps of three networks: fallbacks:", *fallen or ["none"])
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
