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


def wrong_left(acl, name, operands, stream):
    """Destroy every descriptor: for handle in handles: acl.destroy(handle)."""
    call(acl, name, described(acl, operands), stream)


def wrong_left_after_errors(acl, name, operands, stream):
    """after an error, too"""
    handles = described(acl, operands)
    call(acl, name, handles, stream)
    for handle in handles:
        acl.destroy(handle)


def wrong_result_left(acl, name, operands, stream):
    """Destroy the result's descriptor, too."""
    handles = described(acl, operands)
    destroyed(acl, handles[:-1], lambda: call(acl, name, handles, stream))


def wrong_too_early(acl, name, operands, stream):
    """The descriptors are destroyed too early"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: None)
    call(acl, name, handles, stream)


def wrong_twice_destroyed(acl, name, operands, stream):
    """Destroy each descriptor exactly once."""
    handles = described(acl, operands)
    destroyed(acl, handles + handles, lambda: call(acl, name, handles, stream))


def wrong_plan_not_looked_at(acl, name, operands, stream):
    """The first call returns a code"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, stream, plan_checked=False))


def wrong_run_not_looked_at(acl, name, operands, stream):
    """The second call returns a code, too"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, stream, run_checked=False))


def wrong_codes_not_looked_at(acl, name, operands, stream):
    """C raises nothing"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, stream, False, False))


def wrong_no_workspace(acl, name, operands, stream):
    """Some operators need scratch memory: acl.workspace(size) returns its address."""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, stream, workspace=False))


def wrong_not_run(acl, name, operands, stream):
    """acl.run is the second call"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: fail(acl.plan(name, *handles)[0]))


def wrong_operands(acl, name, operands, stream):
    """The result is an operand, too"""
    handles = described(acl, operands[:-1])
    destroyed(acl, handles, lambda: call(acl, name, handles, stream))


def wrong_stream(acl, name, operands, stream):
    """the stream that was given"""
    handles = described(acl, operands)
    destroyed(acl, handles, lambda: call(acl, name, handles, None))
