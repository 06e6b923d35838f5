"""Mistakes that readers of lesson 13 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import mindtorch as torch
from mindtorch.course.masters import Mistake


def _launch(*, scalars=True, look=True, look_again=True, space=lambda acl, size: acl.workspace(size) if size else None,
            run=True, destroy="always", operands=lambda given: given, stream=lambda s: s, twice=False,
            size=lambda n: n, error=RuntimeError, wait=False):
    """A launch that is right, but for what is said."""

    def mine(acl, name, given, queue):
        handles = []
        ok = False
        try:
            for operand in operands(given):
                if isinstance(operand, torch.Tensor) or not scalars:
                    handles.append(acl.create_tensor(operand))
                else:
                    handles.append(acl.create_scalar(operand))
            if destroy == "early":
                for handle in handles:
                    acl.destroy(handle)
            code, need, executor = acl.plan(name, *handles)
            if destroy == "planned":
                for handle in handles:
                    acl.destroy(handle)
            if code and error is None:
                return code
            if look and code:
                raise error(f"{name}GetWorkspaceSize returned {code}")
            workspace = space(acl, need)
            for _ in range(run + twice):
                code = acl.run(name, workspace, size(need), executor, stream(queue))
                if look_again and code and error is not None:
                    raise error(f"{name} returned {code}")
            ok = True
        finally:
            if destroy == "always" or (destroy == "after" and ok):
                for handle in handles:
                    acl.destroy(handle)
            if destroy == "tensors":
                for handle, operand in zip(handles, operands(given), strict=False):
                    if isinstance(operand, torch.Tensor):
                        acl.destroy(handle)
            if destroy == "inputs":
                for handle in handles[:-1]:
                    acl.destroy(handle)
            if destroy == "twice":
                for handle in handles * 2:
                    acl.destroy(handle)

    return mine


def _undescribed(acl, name, operands, stream):
    code, size, executor = acl.plan(name, *operands)
    if code:
        raise RuntimeError(name)
    acl.run(name, acl.workspace(size) if size else None, size, executor, stream)


MISTAKES = (
    Mistake("A number is not a tensor: acl.create_scalar makes its descriptor.", _launch(scalars=False)),
    Mistake("Do not make a tensor of a number: acl.create_scalar makes its descriptor.",
            _launch(operands=lambda given: [torch.as_tensor(x) for x in given])),
    Mistake("Describe the operands first: pass acl.plan the handles that acl.create_tensor and acl.create_scalar "
            "return.", _undescribed),
    Mistake("Destroy every descriptor: for handle in handles: acl.destroy(handle).",
            _launch(destroy="never")),
    Mistake("Destroy the descriptors after an error, too: a finally block runs in any case.",
            _launch(destroy="after")),
    Mistake("Destroy the descriptors of numbers, too.", _launch(destroy="tensors")),
    Mistake("Destroy the result's descriptor, too.", _launch(destroy="inputs")),
    Mistake("The descriptors are destroyed too early: they are needed until the second call has returned.",
            _launch(destroy="early")),
    Mistake("The descriptors are destroyed too early: they are needed until the second call has returned.",
            _launch(destroy="planned")),
    Mistake("Destroy each descriptor exactly once.", _launch(destroy="twice")),
    Mistake("The first call returns a code: check it, since anything but 0 is an error.",
            _launch(look=False)),
    Mistake("The second call returns a code, too: check it.", _launch(look_again=False)),
    Mistake("Both calls return a code: check it, since C raises nothing.",
            _launch(look=False, look_again=False)),
    Mistake("Some operators need scratch memory: acl.workspace(size) returns its address.",
            _launch(space=lambda acl, size: None)),
    Mistake("Pass None for an operator that needs no scratch memory: ask for some only if the size is not 0.",
            _launch(space=lambda acl, size: acl.workspace(size))),
    Mistake("Turn a code that is not 0 into an error: raise a RuntimeError, which cannot be overlooked.",
            _launch(error=None)),
    Mistake("Some operators need scratch memory: pass the second call its address and its size.",
            _launch(size=lambda n: 0)),
    Mistake("The operator is planned but not run: acl.run is the second call.", _launch(run=False)),
    Mistake("An executor can be run only once.", _launch(twice=True)),
    Mistake("The result is an operand, too: C writes into the tensor that you pass.",
            _launch(operands=lambda given: given[:-1])),
    Mistake("Put the operator into the stream that was given.", _launch(stream=lambda s: 0)),
    Mistake("Put the operator into the stream that was given.", _launch(stream=lambda s: None)),
)

MISTAKES_OF = {"launch": MISTAKES}
HIDDEN = {"launch": (("aclnnAdd of views", 0.5), ("aclnnMatmul, which wants a workspace", 3.0))}
