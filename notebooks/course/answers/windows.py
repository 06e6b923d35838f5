"""Mistakes that readers of lesson 25 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import edited

changed = partial(edited, "windows.conv")
PAD = "(padding[1], padding[1], padding[0], padding[0])"

MISTAKES = (
    changed("Pad the image with zeros first.", (f"x = torch.nn.functional.pad(x, {PAD})\n", "x = x + 0\n")),
    changed("pad takes the last dimension first: (left, right, top, bottom).",
            (PAD, "(padding[0], padding[0], padding[1], padding[1])")),
    changed("The frame is on all four sides.", (PAD, "(padding[1], 0, padding[0], 0)")),
    changed("The stride moves the window: a step of rows is stride[0] rows of x.",
            ("of_row * stride[0], of_column * stride[1]", "of_row, of_column")),
    changed("There are fewer places with a stride: (height - kernel height) // stride + 1.",
            ("(height - high) // stride[0] + 1, (width - wide) // stride[1] + 1",
             "height - high + 1, width - wide + 1"), ("of_row * stride[0], of_column * stride[1]",
                                                      "of_row, of_column")),
    changed("stride is for rows first, then for columns.",
            ("of_row * stride[0], of_column * stride[1]", "of_row * stride[1], of_column * stride[0]"),
            ("// stride[0] + 1, (width - wide) // stride[1]", "// stride[1] + 1, (width - wide) // stride[0]")),
    changed("The kernel itself is not stretched by the stride: inside a window one step is one row.",
            ("of_channel, of_row, of_column)", "of_channel, of_row * stride[0], of_column * stride[1])"),
            ("(height - high) // stride[0] + 1, (width - wide) // stride[1] + 1",
             "(height - (high - 1) * stride[0] - 1) // stride[0] + 1, (width - (wide - 1) * stride[1] - 1) // "
             "stride[1] + 1")),
    changed("Count the places: the last one is included, so add 1.",
            ("// stride[0] + 1, (width - wide) // stride[1] + 1", "// stride[0], (width - wide) // stride[1]")),
    changed("A window that sticks out of the image is no window: divide by // and do not round up.",
            ("(height - high) // stride[0] + 1, (width - wide) // stride[1] + 1",
             "-(-(height - high) // stride[0]) + 1, -(-(width - wide) // stride[1]) + 1")),
    changed("The strides are those of x, whatever its layout: take them from x.stride().",
            ("= x.stride()", "= channels * height * width, height * width, width, 1")),
    changed("A window reaches through all channels: its strides and the kernel's order are channel, row, column.",
            ("(images, rows, columns, channels, high, wide)", "(images, rows, columns, high, wide, channels)"),
            ("of_channel, of_row, of_column)", "of_row, of_column, of_channel)")),
    changed("Rows and columns of the kernel are swapped in the windows.",
            ("of_channel, of_row, of_column)", "of_channel, of_column, of_row)")),
    changed("Channels of the result come second: permute(0, 3, 1, 2).",
            ("return found.permute(0, 3, 1, 2)", "return found")),
    changed("Channels of the result come second: permute keeps the numbers in place, reshape does not.",
            ("return found.permute(0, 3, 1, 2)", "return found.reshape(images, out, rows, columns)")),
    changed("Each kernel is a column: reshape the weight to one row for each kernel, and transpose that.",
            ("weight.reshape(out, -1).t()", "weight.reshape(-1, out)")),
    changed("PyTorch's convolution does not turn the kernel round, as mathematicians do.",
            ("weight.reshape(out, -1)", "weight.flip(2, 3).reshape(out, -1)")),
    changed("Each image has windows of its own: its stride is x.stride(0).",
            ("(of_image, of_row * stride[0]", "(0, of_row * stride[0]")),
    changed("Every channel of the image counts, not the first alone.",
            ("of_channel, of_row, of_column)", "0, of_row, of_column)")),
    changed("The products of a window are added, not averaged.",
            ("return found.permute", "return found.div(channels * high * wide).permute")),
)

MISTAKES_OF = {"conv": MISTAKES}
HIDDEN: dict[str, tuple[tuple[str, ...], ...]] = {"conv": ()}
