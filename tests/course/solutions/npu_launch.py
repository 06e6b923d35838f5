"""Solutions of 'npu.launch', right and wrong."""
from contextlib import ExitStack

import mindtorch as torch


def right_with_an_exit_stack(acl, name, operands, stream):
    with ExitStack() as stack:
        handles = []
        for operand in operands:
            make = acl.create_tensor if isinstance(operand, torch.Tensor) else acl.create_scalar
            handles.append(make(operand))
            stack.callback(acl.destroy, handles[-1])
        code, size, executor = acl.plan(name, *handles)
        if code:
            raise RuntimeError(f"{name} cannot be planned: {code}")
        code = acl.run(name, acl.workspace(size) if size else None, size, executor, stream)
        if code:
            raise RuntimeError(f"{name} cannot be run: {code}")


def right_with_nested_tries(acl, name, operands, stream):
    handles = []
    try:
        for operand in operands:
            if hasattr(operand, "shape"):
                handles += [acl.create_tensor(operand)]
            else:
                handles += [acl.create_scalar(operand)]
        error, size, executor = acl.plan(name, *handles)
        if error == 0:
            memory = None
            if size > 0:
                memory = acl.workspace(size)
            error = acl.run(name, memory, size, executor, stream)
        if error != 0:
            raise RuntimeError("code", error, "from", name)
    finally:
        while handles:
            acl.destroy(handles.pop())


def described(acl, operands):
    return [acl.create_tensor(x) if isinstance(x, torch.Tensor) else acl.create_scalar(x) for x in operands]


def checked(code, name):
    if code != 0:
        raise RuntimeError(f"{name}: {code}")


def right_with_one_try(acl, name, operands, stream):
    handles = described(acl, operands)
    try:
        code, size, executor = acl.plan(name, *handles)
        checked(code, name)
        code = acl.run(name, acl.workspace(size) if size else None, size, executor, stream)
        checked(code, name)
    finally:
        for handle in handles:
            acl.destroy(handle)


def wrong_destroyed_only_if_all_goes_well(acl, name, operands, stream):
    """Destroy the descriptors after an error, too: a finally block runs in any case."""
    handles = described(acl, operands)
    code, size, executor = acl.plan(name, *handles)
    checked(code, name)
    checked(acl.run(name, acl.workspace(size) if size else None, size, executor, stream), name)
    for handle in handles:
        acl.destroy(handle)


def wrong_destroyed_before_the_run(acl, name, operands, stream):
    """The descriptors are destroyed too early: they are needed until the second call has returned"""
    handles = described(acl, operands)
    try:
        code, size, executor = acl.plan(name, *handles)
    finally:
        for handle in handles:
            acl.destroy(handle)
    checked(code, name)
    checked(acl.run(name, acl.workspace(size) if size else None, size, executor, stream), name)


def wrong_operands_instead_of_handles(acl, name, operands, stream):
    """Describe the operands first: pass acl.plan the handles that acl.create_tensor and acl.create_scalar return."""
    code, size, executor = acl.plan(name, *operands)
    checked(code, name)
    checked(acl.run(name, acl.workspace(size) if size else None, size, executor, stream), name)


def right_with_a_stack(acl, name, operands, stream):
    with ExitStack() as stack:
        handles = []
        for operand in operands:
            handle = acl.create_scalar(operand) if isinstance(operand, float | int) else acl.create_tensor(operand)
            stack.callback(acl.destroy, handle)
            handles.append(handle)
        code, size, executor = acl.plan(name, *handles)
        if not code:
            code = acl.run(name, acl.workspace(size) if size else None, size, executor, stream)
        if code:
            raise RuntimeError(str(code))


def right_step_by_step(acl, name, operands, stream):
    """The errors are raised at the end, after all was destroyed; a workspace is asked for in any case."""
    handles = [acl.create_tensor(x) if hasattr(x, "shape") else acl.create_scalar(x) for x in operands]
    code, size, executor = acl.plan(name, *handles)
    if code == 0:
        code = acl.run(name, acl.workspace(max(size, 1)), size, executor, stream)
    while handles:
        acl.destroy(handles.pop())
    if code != 0:
        raise RuntimeError(f"{name}: {code}")


EDITED, CHECK = right_with_one_try, "checked(code, name)"
EDITS = [  # hint, and what of the right solution is replaced by what
    ("Destroy every descriptor: for handle in handles: acl.destroy(handle).", "acl.destroy(handle)", "pass"),
    ("Both calls return a code: check it, since C raises nothing.", CHECK, "pass"),
    ("The second call returns a code, too: check it.", "stream)\n        checked(code, name)", "stream)"),
    ("The operator is planned but not run: acl.run is the second call.", "code = acl.run(", "code, _ = 0, ("),
    ("Some operators need scratch memory: acl.workspace(size) returns its address.",
     "acl.workspace(size) if size else None, size", "None, 0"),
    ("Pass None for an operator that needs no scratch memory: ask for some only if the size is not 0.",
     " if size else None", ""),
    ("Do not make a tensor of a number: acl.create_scalar makes its descriptor.",
     "described(acl, operands)", "[acl.create_tensor(torch.as_tensor(x)) for x in operands]"),
    ("Destroy each descriptor exactly once.", "for handle in handles", "for handle in handles * 2"),
    ("Put the operator into the stream that was given.", "stream)\n        checked", "None)\n        checked"),
    ("The result is an operand, too: C writes into the tensor that you pass.", "operands)\n", "operands[:-1])\n"),
    ("An executor can be run only once.", "        code = acl.run(",
     "        acl.run(name, acl.workspace(size) if size else None, size, executor, stream)\n        code = acl.run("),
    ("Turn a code that is not 0 into an error: raise a RuntimeError, which cannot be overlooked.", CHECK,
     "if code:\n            return code"),
]
