"""Solutions of 'windows.conv', right and wrong."""
import mindtorch as torch


def right_by_einsum(x, weight, stride, padding):
    """The windows stay a view, and einsum sums over them."""
    (up, left), (down, right) = stride, padding
    n, c, h, w = x.shape
    frame = torch.zeros(n, c, h + 2 * down, w + 2 * right, dtype=x.dtype)
    frame[:, :, down:down + h, right:right + w] = x
    o, _, p, q = weight.shape
    a, b, d, e = frame.stride()
    shape = (n, c, (frame.shape[2] - p) // up + 1, (frame.shape[3] - q) // left + 1, p, q)
    view = torch.as_strided(frame, shape, (a, b, up * d, left * e, d, e))
    return torch.einsum("ncijpq,ocpq->noij", view, weight)


def right_by_shifts(x, weight, stride, padding):
    """One product for each place in the kernel: what that place meets is a slice of the image."""
    x = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    high, wide = weight.shape[2:]
    rows = (x.shape[2] - high) // stride[0] + 1
    columns = (x.shape[3] - wide) // stride[1] + 1
    total = 0
    for p in range(high):
        for q in range(wide):
            met = x[:, :, p:p + (rows - 1) * stride[0] + 1:stride[0], q:q + (columns - 1) * stride[1] + 1:stride[1]]
            total = total + torch.einsum("ncij,oc->noij", met, weight[:, :, p, q])
    return total


def wrong_no_padding(x, weight, stride, padding):
    """Pad the image with zeros first"""
    return right_by_einsum(x, weight, stride, (0, 0))


def wrong_stride(x, weight, stride, padding):
    """There are fewer places with a stride"""
    return right_by_einsum(x, weight, (1, 1), padding)


EDITED = right_by_einsum
EDITS = [
    ("turn the kernel round", "view, weight)", "view, weight.flip(2, 3))"),
    ("Channels of the result come second", '->noij"', '->nijo"'),
    ("the last one is included", "(frame.shape[2] - p) // up + 1, (frame.shape[3] - q) // left + 1",
     "(frame.shape[2] - p) // up, (frame.shape[3] - q) // left"),
    ("is no window", "(frame.shape[2] - p) // up + 1, (frame.shape[3] - q) // left + 1",
     "-(-(frame.shape[2] - p) // up) + 1, -(-(frame.shape[3] - q) // left) + 1"),
    ("The stride moves the window", "up * d, left * e", "d, e"),
    ("stride is for rows first", "(up, left), (down, right) = stride, padding",
     "(left, up), (down, right) = stride, padding"),
    ("Each image has windows of its own", "(a, b, up * d", "(0, b, up * d"),
    ("Every channel of the image counts", "(a, b, up * d", "(a, 0, up * d"),
    ("Rows and columns of the kernel are swapped", "left * e, d, e)", "left * e, e, d)"),
    ("not averaged", "view, weight)", "view, weight) / (c * p * q)"),
    ("not the first alone", '"ncijpq,ocpq->noij", view, weight',
     '"ncijpq,ocpq->noij", view[:, :1].expand(shape), weight'),
]
