"""Views: other layouts over the same storage, the same as in-place changes of layout, and copies of what they see."""

VIEWS = """
m   view(Tensor(a) self, int[] size) -> Tensor(a)
m   view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
-   _reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)
fm  as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)
m   expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)
-   alias(Tensor(a) self) -> Tensor(a)
fm  detach(Tensor(a) self) -> Tensor(a)
fm  permute(Tensor(a) self, int[] dims) -> Tensor(a)
fm  transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
fm  t(Tensor(a) self) -> Tensor(a)
fm  unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
fm  squeeze(Tensor(a) self) -> Tensor(a)
fm  squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
fm  squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
f   view_as_real(Tensor(a) self) -> Tensor(a)
f   view_as_complex(Tensor(a) self) -> Tensor(a)
fm  select.int(Tensor(a) self, int dim, int index) -> Tensor(a)
-   slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)
fm  diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
m   unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
fm  unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
fm  split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]
fm  split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]
"""

IN_PLACE = """
mv  as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a!)
mv  squeeze_(Tensor(a!) self) -> Tensor(a!)
mv  squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)
mv  squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)
mv  t_(Tensor(a!) self) -> Tensor(a!)
mv  transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
mv  unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)
m   swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)
m   swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
fm  detach_(Tensor(a!) self) -> Tensor(a!)
"""

#: Written in the views above.
COMPOSITE = """
fm  reshape(Tensor(a) self, int[] shape) -> Tensor(a)
m   reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)
m   view_as(Tensor(a) self, Tensor other) -> Tensor(a)
fm  ravel(Tensor(a) self) -> Tensor(a)
fm  flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
fm  unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)
m   expand_as(Tensor(a) self, Tensor other) -> Tensor(a)
fm  broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)
-   broadcast_tensors(Tensor[] tensors) -> Tensor[]
fm  swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)
fm  swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
fm  movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
fm  movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
fm  moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)
fm  moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
-   numpy_T(Tensor(a) self) -> Tensor(a)
-   mT(Tensor(a) self) -> Tensor(a)
-   matrix_H(Tensor(a) self) -> Tensor(a)
-   mH(Tensor(a) self) -> Tensor(a)
fm  adjoint(Tensor(a) self) -> Tensor(a)
f   real(Tensor(a) self) -> Tensor(a)
f   imag(Tensor(a) self) -> Tensor(a)
fm  resolve_conj(Tensor(a) self) -> Tensor(a)
fm  resolve_neg(Tensor(a) self) -> Tensor(a)
fm  narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)
fm  narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)
-   linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)
fm  split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]
fm  chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
fm  tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]
fm  tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]
fm  tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]
fm  hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
fm  hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
fm  vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
fm  vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
fm  dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
fm  dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
-   atleast_1d(Tensor self) -> Tensor
-   atleast_2d(Tensor self) -> Tensor
-   atleast_3d(Tensor self) -> Tensor
m   contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)
"""

#: What writes or reads back what a view sees, as an operator of its own.
SCATTER = """
-   _unsafe_view(Tensor self, int[] size) -> Tensor
fm  unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]
fm  unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]
fm  unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]
-   select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor
-   slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor
-   diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor
-   unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor
fmox select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor
fmox slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor
fmox diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
fmox as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor
fmox narrow_copy(Tensor self, int dim, int start, int length) -> Tensor
"""


def copies(views: str) -> str:
    """The rows of the ``*_copy`` operators: a contiguous copy of what each view sees."""
    rows = []
    for line in views.strip().splitlines():
        _, _, schema = line.partition(" ")
        name, _, rest = schema.strip().partition("(")
        packet, _, overload = name.partition(".")
        name = f"{packet}_copy.{overload}" if overload else f"{packet}_copy"
        rest = rest.replace("(a -> *)", "").replace("(a)", "")
        rows.append(f"{'f' if packet[0] != '_' else '-'}ox {name}({rest}")
    return "\n".join(rows)


COPIES = copies(VIEWS)
SCHEMAS = "\n".join((VIEWS, IN_PLACE, COMPOSITE, SCATTER, COPIES))
