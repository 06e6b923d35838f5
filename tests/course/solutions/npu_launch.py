"""Solutions of 'npu.launch'. A wrong one's docstring is what the hint has to say."""
from contextlib import ExitStack

import mindtorch as torch


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


def described(acl, operands):
    return [acl.create_tensor(x) if isinstance(x, torch.Tensor) else acl.create_scalar(x) for x in operands]


def fail(code):
    if code:
        raise RuntimeError(f"code {code}")


def call(acl, name, handles, stream, plan_checked=True, run_checked=True, workspace=True):
    code, size, executor = acl.plan(name, *handles)
    if plan_checked:
        fail(code)
    code = acl.run(name, acl.workspace(size) if workspace and size else None, size, executor, stream)
    if run_checked:
        fail(code)


def destroyed(acl, handles, work):
    try:
        work()
    finally:
        for handle in handles:
            acl.destroy(handle)


def wrong_scalar(acl, name, operands, stream):
    """acl.create_scalar makes its descriptor"""
    handles = [acl.create_tensor(x) for x in operands]
    destroyed(acl, handles, lambda: call(acl, name, handles, stream))


def wrong_result_left(acl, name, operands, stream):
    """Destroy the result's descriptor, too."""
    handles = described(acl, operands)
    destroyed(acl, handles[:-1], lambda: call(acl, name, handles, stream))


def wrong_too_early(acl, name, operands, stream):
    """The descriptors are destroyed too early"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: None)
    call(acl, name, handles, stream)


def wrong_plan_not_looked_at(acl, name, operands, stream):
    """The first call returns a code"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, stream, plan_checked=False))
