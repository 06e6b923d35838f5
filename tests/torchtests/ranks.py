"""Runs PyTorch's own distributed tests in processes on gloo, or on mindtorch, and counts those that PyTorch passes.

``python tests/torchtests/ranks.py HARNESS TESTS LIBRARY FILE... --json OUT``: HARNESS is the folder of the harness that
supplies PyTorch's testing modules (``shim.py``), TESTS PyTorch's folder ``test/distributed``. The test cases' base
classes are replaced: each test runs in freshly forked ranks, which meet by a file. Devices are CPUs, whatever the tests
ask for. With ``--of THEIRS`` only tests count that PyTorch passed there.
"""
from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import functools
import importlib
import io
import json
import os
import re
import select
import signal
import sys
import tempfile
import time
import traceback
import types
import unittest
import warnings
from pathlib import Path
from typing import Any

RANKS = 4
#: Tests of compilers and of other devices, by their names.
LEFT_OUT = re.compile(r"compile|dynamo|inductor|xla|cudagraph|graph_break|fake_pg|nccl|micro_pipeline", re.IGNORECASE)
#: What the tests are changed to, so that they run on CPUs.
ON_CPU = (('"cuda"', '"cpu"'), ("'cuda'", "'cpu'"), (".cuda()", ".cpu()"), ('"nccl"', '"gloo"'),
          ('"cpu:gloo,cuda:nccl"', '"gloo"'), ("torch.cuda.device_count()", "4"))
here: dict[str, Any] = {"rank": 0, "file": ""}  # which rank this process is


def identity(*args: Any, **kwargs: Any) -> Any:
    """Return what is decorated, with or without arguments."""
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else lambda function: function


def base_classes(shim: Any, torch: Any) -> dict[str, dict[str, Any]]:
    """Return the replacements by modules of ``torch.testing._internal``."""
    dist = torch.distributed
    plain = importlib.import_module("torch.testing._internal.common_utils").TestCase

    class RankCase(plain):  # type: ignore[misc,valid-type]
        """A test case in a rank: there is nothing to spawn."""

        world_size = RANKS
        device_type, backend, destroy_pg_upon_exit = "cpu", "gloo", True
        rank = property(lambda self: here["rank"], lambda self, value: None)
        file_name = property(lambda self: here["file"], lambda self, value: None)
        device = property(lambda self: torch.device("cpu"))

        def _spawn_processes(self, *args: Any) -> None:
            pass

        _spawn_threads = _start_processes = _spawn_processes

        def join_or_run(self, function: Any) -> Any:
            return function

        def init_pg(self, *args: Any, **kwargs: Any) -> None:
            if not dist.is_initialized():
                dist.init_process_group("gloo", world_size=self.world_size, rank=self.rank,
                                        init_method=f"file://{self.file_name}")

        def destroy_pg(self, *args: Any) -> None:
            dist.barrier()
            dist.destroy_process_group()

        def build_device_mesh(self) -> Any:
            return dist.device_mesh.init_device_mesh("cpu", (self.world_size,))

        create_pg = init_pg
        is_master = property(lambda self: self.rank == 0)
        process_group = property(lambda self: dist.group.WORLD)
        init_method = property(lambda self: f"file://{self.file_name}")

    class TogetherCase(RankCase):
        """A test case whose ranks have met."""

        def perThreadSetUp(self) -> None:
            pass

        perThreadTearDown = perThreadSetUp

        def run(self, result: Any = None) -> Any:
            self.init_pg()
            self.perThreadSetUp()
            return super().run(result)

    def with_comms(*args: Any, **kwargs: Any) -> Any:
        if not (args and callable(args[0])):
            return with_comms

        @functools.wraps(args[0])
        def wrapper(self: Any, *given: Any, **named: Any) -> None:
            self.init_pg()
            try:
                args[0](self, *given, **named)
            except Exception:
                traceback.print_exc()
                raise
            self.destroy_pg()

        return wrapper

    source = importlib.import_module("torch.testing._internal.distributed._tensor.common_dtensor")
    mixin = getattr(source, "DTensorTestMixin", object)
    fsdp = importlib.import_module("torch.testing._internal.common_fsdp")
    run_subtests = importlib.import_module("torch.testing._internal.common_distributed").run_subtests
    methods = {name: vars(mixin)[name] for name in ("_test_op", "_test_op_on_dtensor", "run_subtests")
               if name in getattr(mixin, "__dict__", {})}
    tensor_case = type("DTensorTestBase", (RankCase,), methods)
    tensor_together = type("DTensorOpTestBase", (TogetherCase,), methods)
    more = {"run_subtests": lambda self, *args, **kwargs: run_subtests(self, *args, **kwargs)}
    more |= {name: vars(fsdp.FSDPTestMixin)[name] for name in ("_train_for_several_steps", "_test_fsdp_parity")
             if name in vars(fsdp.FSDPTestMixin)}
    fsdp_case = type("FSDPTest", (TogetherCase,), {**more, "world_size": 2})
    decorators = dict.fromkeys(("skip_if_lt_x_gpu", "requires_nccl", "requires_gloo", "at_least_x_gpu",
                                "skip_if_rocm_multiprocess", "skip_if_win32", "skip_if_no_gpu", "requires_world_size",
                                "nccl_skip_if_lt_x_gpu", "requires_accelerator_dist_backend"), identity)
    return {
        "common_distributed": {"MultiProcessTestCase": RankCase, "MultiThreadedTestCase": TogetherCase,
                               "DistributedTestBase": RankCase, "MultiProcContinuousTest": TogetherCase, **decorators},
        "distributed._tensor.common_dtensor": {
            "DTensorTestBase": tensor_case, "DTensorOpTestBase": tensor_together, "with_comms": with_comms,
            "skip_unless_torch_gpu": identity, "DEVICE_TYPE": "cpu", "NUM_DEVICES": RANKS, "PG_BACKEND": "gloo",
            "DEVICE_COUNT": RANKS, "skip_if_lt_x_gpu": identity},
        "common_fsdp": {"FSDPTest": fsdp_case, "FSDPTestMultiThread": fsdp_case, "FSDPTestContinuous": fsdp_case,
                        "get_devtype": lambda: torch.device("cpu"), "DEVICE_TYPE": "cpu", "DEVICE_COUNT": 2,
                        "DISTRIBUTED_BACKEND": "gloo"},
        "common_cuda": {"TEST_CUDA": True, "TEST_MULTIGPU": True},
        "distributed._shard.sharded_tensor": {"with_comms": with_comms, "ShardedTensorTestBase": RankCase},
        "common_utils": {"TEST_CUDA": True, "HAS_GPU": True},
    }


def prepare(harness: str, library: str, tests: str) -> tuple[Any, Any]:
    """Make ``import torch`` give the library, with the replacements in place."""
    sys.path.insert(0, harness)
    shim = importlib.import_module("shim")
    torch = shim.install(library, tests)
    for name in ("torch.distributed", "torch.distributed.tensor", "torch.distributed.device_mesh",
                 "torch.distributed.checkpoint", "torch.distributed.fsdp", "torch.distributed._functional_collectives"):
        importlib.import_module(name)
    if library != "torch":
        shim.patch_missing(library)
    read = shim.to_np
    shim.to_np = lambda tensor: read(tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor)
    for module, names in base_classes(shim, torch).items():
        space = importlib.import_module(f"torch.testing._internal.{module}").__dict__["_ns"]
        for name, value in names.items():
            dict.__setitem__(space, name, value)
    return shim, torch


def load(shim: Any, path: Path) -> Any:
    """Import a test file statement by statement."""
    text = path.read_text()
    for before, after in ON_CPU:
        text = text.replace(before, after)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    shim._seed_ns(module.__dict__)
    tree = ast.parse(text, str(path))
    tree.body = shim._Lenient(str(path)).body(tree.body)
    ast.fix_missing_locations(tree)
    exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


class Noted(unittest.TestResult):
    """Keeps the first thing that went wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.row: list[str] = ["pass", ""]

    def _note(self, status: str, err: Any) -> None:
        if self.row[0] == "pass":
            place = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(err[2])][-3:]
            self.row = [status, f"{err[0].__name__}: {str(err[1])[:400]} at {' '.join(place)}"]

    def addError(self, test: Any, err: Any) -> None:
        self._note("error", err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._note("fail", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note("fail", err)

    def addSkip(self, test: Any, reason: str) -> None:
        self.row = ["skip", reason]

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.row = ["xfail", ""]

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.row = ["fail", "unexpected success"]


def in_rank(shim: Any, case: Any, name: str, out: int) -> None:
    """Run a test in this process, and write how it ended."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    shim.PHASE[0] = "run"
    result = Noted()
    try:
        with warnings.catch_warnings():
            unittest.TestSuite([case(name)]).run(result)
    except BaseException:
        result._note("error", sys.exc_info())
    os.write(out, (json.dumps(result.row) + "\n").encode())
    if result.row[0] == "pass":  # the others may still be in a call
        time.sleep(0.05)
    os._exit(0)


def run_test(shim: Any, case: Any, name: str, seconds: float) -> list[str]:
    """Run a test in as many ranks as it wants; return its status and why."""
    try:
        size = int(case(name).world_size) if hasattr(case, "world_size") else 1
    except Exception as error:
        return ["error", f"world_size: {error}"]
    rows, pids, lines = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(size):
            ours, theirs = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(ours)
                here.update(rank=rank, file=f"{folder}/meet")
                os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
                in_rank(shim, case, name, theirs)
            os.close(theirs)
            pids.append(pid)
            lines[ours] = b""
        end = time.monotonic() + seconds
        while lines and time.monotonic() < end:
            for ready in select.select(list(lines), [], [], 1.0)[0]:
                data = os.read(ready, 65536)
                lines[ready] += data
                if not data:
                    text = lines.pop(ready)
                    os.close(ready)
                    rows.append(json.loads(text) if text else ["error", "the rank ended without a word"])
                    if rows[-1][0] in ("error", "fail"):
                        end = min(end, time.monotonic() + 2)
        for left in lines:
            os.close(left)
            rows.append(["error", "timed out"])
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # and not what it has started: a hub removes shared memory, and ends
            os.waitpid(pid, 0)
    return next((row for row in rows if row[0] != "pass"), ["pass", ""])


def main() -> None:
    """Run the files, and write and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("harness")
    parser.add_argument("tests")
    parser.add_argument("library")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--json", required=True)
    parser.add_argument("--of", help="results of PyTorch: only what passed there is run")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1, help="run every so many tests of a file")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    wanted = json.loads(Path(options.of).read_text()) if options.of else None
    shim, _ = prepare(options.harness, options.library, str(Path(options.tests).parent))
    found: dict[str, Any] = {}
    for file in options.files:
        rows: dict[str, list[str]] = {}
        if wanted is not None:
            passed = sorted(key for key, row in wanted.get(file, {}).items() if row[0] == "pass")
            chosen = {key for key in passed[::options.every] if re.search(options.only, key)}
        try:
            module = load(shim, Path(options.tests) / file)
        except BaseException as error:
            print(file, "cannot be imported:", error, flush=True)
            module = None
        cases = [case for case in vars(module).values() if isinstance(case, type)] if module else []
        for case in cases:
            if not issubclass(case, unittest.TestCase) or case.__module__ != Path(file).stem:
                continue
            for name in unittest.TestLoader().getTestCaseNames(case):
                key = f"{case.__name__}.{name}"
                if LEFT_OUT.search(key) or not re.search(options.only, key):
                    continue
                if wanted is not None and key not in chosen:
                    continue
                rows[key] = run_test(shim, case, name, options.seconds)
        if wanted is not None:
            rows = {key: rows.get(key, ["error", "not collected"]) for key in sorted(chosen)}
        found[file] = rows
        Path(options.json).write_text(json.dumps(found, indent=1))
        counts = collections.Counter(row[0] for row in rows.values())
        print(f"{file:55} {counts['pass']:4} of {len(rows):4}  {dict(counts)}", flush=True)
    total = [row[0] for rows in found.values() for row in rows.values()]
    print(f"{'all':55} {total.count('pass'):4} of {len(total):4}")


if __name__ == "__main__":
    main()
