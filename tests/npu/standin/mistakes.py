"""Deliberate mistakes in the NPU backend, and which concern of ``acceptance`` catches each on the stand-in libraries.

``python -m tests.npu.standin.mistakes`` makes them one at a time, each in a forked process, and prints the table. Where
no toolkit is in the environment, it builds the stand-in.
"""
from __future__ import annotations

import os
import signal
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import mindtorch
from tests.npu.standin import acceptance

SECONDS = 60  #: after which a process that hangs is ended


class Mistake(NamedTuple):
    """A change to a module of the backend, what it makes wrong, and the concern that notices."""

    wrong: str
    module: str
    right_text: str
    wrong_text: str
    concern: str


MISTAKES = [
    Mistake("the environment that CANN reads is not set", "acl_loader", "        export_environment()\n", "",
            "environment"),
    Mistake("a view's offset is left out", "descriptors", "strides, tensor._offset, form",
            "strides, 0, form", "views"),
    Mistake("a storage is said to be larger than it is", "descriptors", "storage._nbytes // dtype.itemsize)",
            "storage._nbytes)", "tails"),
    Mistake("contiguous strides instead of a view's", "descriptors", "layout(tensor.shape, tensor._strides(),",
            "layout(tensor.shape, tuple([1] * len(tensor.shape)),", "views"),
    Mistake("the executor is destroyed although the second phase has used it up", "aclnn",
            "                _enqueue(call, self.size.value, self.executor.value, queue)\n",
            "                _enqueue(call, self.size.value, self.executor.value, queue)\n"
            "            functions['aclDestroyAclOpExecutor'](self.executor.value)\n", "handles"),
    Mistake("an executor is used twice", "aclnn",
            "        queue.check(call.run(None, 0, executor, queue.handle), call.name)\n",
            "        call.run(None, 0, executor, queue.handle)\n"
            "        queue.check(call.run(None, 0, executor, queue.handle), call.name)\n", "views"),
    Mistake("handles are destroyed before the second phase", "aclnn",
            '            with activities.timed("run", call.name, queue, None, self.nanoseconds, values):\n',
            '            destroy(self.handles)\n'
            '            with activities.timed("run", call.name, queue, None, self.nanoseconds, values):\n', "views"),
    Mistake("handles of a call that fails are not destroyed", "aclnn",
            "                    tensor._storage._memory.written(queue, number)\n"
            "        except BaseException:\n            destroy(self.handles)\n",
            "                    tensor._storage._memory.written(queue, number)\n"
            "        except BaseException:\n            pass\n", "refusals"),
    Mistake("handles are kept for ever", "aclnn", "for prepared in calls if owned else ():",
            "for prepared in ():", "handles"),
    Mistake("handles that are used again describe the memory from before", "aclnn",
            "            if addresses != self.addresses:\n", "            if False:\n", "handles"),
    Mistake("handles are kept whatever the first phase does with them", "aclnn",
            "self.keeps = row.leaves_descriptors and _can_keep()", "self.keeps = _can_keep()", "scribbles"),
    Mistake("handles are told of other memory between the phases", "aclnn",
            "            start = activities.now()\n            code = self.call.plan(*self.args)\n",
            "            code = self.call.plan(*self.args)\n            self.refresh([0] * len(addresses))\n"
            "            self.refresh(addresses)\n            start = activities.now()\n", "handles"),
    Mistake("an operator runs before the others are planned", "aclnn", "        launch(calls, queue)\n",
            "        for call in calls:\n            launch([call], queue)\n", "chance"),
    Mistake("a release that lacks a kernel is an error", "aclnn",
            "or ACLNN_ERR_INNER < error.code < ACLNN_ERR_INNER + 1000", "", "chance"),
    Mistake("a copy that is refused is an error", "memory",
            'if not launched([("aclnnInplaceCopy", tensors)], current_queue(target._device.index or 0), "copy_"):',
            'launched([("aclnnInplaceCopy", tensors)], current_queue(target._device.index or 0), "copy_")\n'
            '    if False:', "chance"),
    Mistake("the code of the second phase is not looked at", "aclnn",
            "        queue.check(call.run(None, 0, executor, queue.handle), call.name)\n",
            "        call.run(None, 0, executor, queue.handle)\n", "refusals"),
    Mistake("a workspace is half as large as the first phase said", "aclnn",
            "call.run(workspace.ptr, size, executor", "call.run(workspace.ptr, size // 2, executor", "tails"),
    Mistake("a workspace is memory of the host", "aclnn", "call.run(workspace.ptr, size, executor",
            "call.run(ctypes.addressof(ctypes.create_string_buffer(size)), size, executor", "tails"),
    Mistake("bfloat16 has the code of float16", "constants", "ACL_BF16 = 27", "ACL_BF16 = 1", "halves"),
    Mistake("pieces of a segment have no tail", "allocator", "ALIGN, TAIL = 32, 32", "ALIGN, TAIL = 32, 0", "tails"),
    Mistake("all streams share one pool", "allocator", "pool = self._pools.get((queue, small), [])",
            "pool = next((p for (q, s), p in self._pools.items() if s == small and p), [])", "pools"),
    Mistake("record_stream does nothing", "allocator", "        if queue is not block.queue:\n", "        if False:\n",
            "pools"),
    Mistake("every failing allocation is taken for a lack of memory", "allocator",
            '        check(code, "aclrtMalloc", self.device.name)\n',
            "        if code:\n            return None\n", "memory"),
    Mistake("207018 is not taken for a lack of memory", "constants", "ACL_ERROR_RT_DEVICE_OOM = 207018",
            "ACL_ERROR_RT_DEVICE_OOM = 207001", "memory"),
    Mistake("a thread does not get its context", "runtime",
            "                check(acl.rt.set_context(self.context), \"aclrtSetCurrentContext\", self.name)\n",
            "                pass\n", "threads"),
    Mistake("an event is destroyed where its end comes, in its device's context", "streams",
            "end(self, queue.runtime.dropped_events.append, self._handle)",
            "end(self, lambda end: queue.runtime.activate() or runtime.acl.rt.destroy_event(end.of), self._handle)",
            "contexts"),
    Mistake("hearing of another device's stream leaves its context", "queues",
            "            self.runtime.activate()  # to hear of another",
            "            pass  # to hear of another", "contexts"),
    Mistake("a stream does not wait for an event", "streams",
            "            code = runtime.acl.rt.stream_wait_event(queue.handle, self._handle)\n",
            "            code = 0\n", "streams"),
    Mistake("a look at data does not wait", "memory", "    queue.runtime.synchronize()\n", "", "views"),
    Mistake("the host's memory of a pending copy is not kept", "memory",
            "        queue.defer(partial(id, array))  # it lives as long\n", "", "pinned"),
    Mistake("releases are counted, and not numbered", "queues",
            "            while self.deferred and self.deferred[0][0] <= last:\n", "            while self.deferred:\n",
            "pinned"),
    Mistake("a failing query of an event counts as pending", "streams",
            '        check(code, "aclrtQueryEventStatus", self._queue.runtime.name)\n', "", "queries"),
    Mistake("a failing query of a stream counts as pending", "queues",
            '        check(code, "aclrtStreamQuery", self.runtime.name)\n',
            "        if code:\n            return False\n", "queries"),
    Mistake("peers are enabled in one direction", "runtime",
            "for device, other in ((peer, self), (self, peer)):", "for device, other in ((self, peer),):", "peers"),
    Mistake("the failure mode of streams is not set", "runtime", "        if mode != ACL_CONTINUE_ON_FAILURE:",
            "        if mode is None:", "failures"),
    Mistake("what failed can be read after a restart", "memory",
            "        if self.writer is not None and self.writer[0].failures:\n", "        if False:\n", "failures"),
    Mistake("a forked child takes the devices for its own", "runtime", "            started.initialized = False\n",
            "            pass\n", "forked"),
    Mistake("a forked child may start ACL", "runtime",
            "    if refusal:\n        raise RuntimeError(refusal)\n    module()\n", "    module()\n", "forked"),
    Mistake("finalize ends at the first thing that cannot be given back", "runtime",
            "            except AclError as error:\n                failed.append(error)\n",
            "            except ZeroDivisionError:\n                pass\n", "finalizing"),
    Mistake("events that nothing refers to are never destroyed", "runtime", "        while self.dropped_events:\n",
            "        while False:\n", "finalizing"),
]


def making(mistake: Mistake) -> None:
    """Have this process import the backend with the mistake in it. Raises ValueError if the text is not there once."""
    name, get_code = f"mindtorch._backends.npu.{mistake.module}", SourceFileLoader.get_code
    if name in sys.modules:
        raise ValueError(f"{name} is imported already")
    text = (Path(mindtorch.__file__).parent / "_backends" / "npu" / f"{mistake.module}.py").read_text("utf-8")
    if text.count(mistake.right_text) != 1:
        raise ValueError(f"{mistake.right_text!r} is {text.count(mistake.right_text)} times in {name}")

    def changed(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if fullname != name:
            return get_code(loader, fullname)
        return compile(text.replace(mistake.right_text, mistake.wrong_text), loader.path, "exec")

    SourceFileLoader.get_code = changed  # type: ignore[method-assign, assignment]


def outcome(mistake: Mistake) -> str:
    """What the mistake's concern says of it, in a process of its own; '' if it says nothing."""
    told, tell = os.pipe()
    if not (pid := os.fork()):
        signal.alarm(SECONDS)
        try:
            making(mistake)
            text = "; ".join(acceptance.main(mistake.concern))
        except BaseException as error:
            text = f"not made: {type(error).__name__}: {error}"
        os.write(tell, text.encode()[:4000])
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as pipe:
        text = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return f"{mistake.concern}: the process ended with {status}" if status else text


def main() -> int:
    missed = 0
    for number, mistake in enumerate(MISTAKES, 1):
        found = outcome(mistake)
        is_caught = found.startswith(f"{mistake.concern}: ")
        missed += not is_caught
        verdict = f"caught by {found}" if is_caught else f"MISSED by {mistake.concern}: {found}"
        print(f"{number:2}  {mistake.module}: {mistake.wrong}  {verdict}".replace("\n", " "), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    if "ASCEND_TOOLKIT_HOME" in os.environ:
        sys.exit(main())
    from tests.npu.standin import build  # it imports what the mistakes are made in, which has to come after them

    sys.exit(build.run("tests.npu.standin.mistakes"))
