"""Views: other layouts over the same storage, the same as in-place changes of layout, and copies of what they see."""

VIEWS = """
function, method:
    _conj(Tensor(a) self) -> Tensor(a)  # A view of the conjugates of the elements of `self`, which are computed when they are read.
    _neg_view(Tensor(a) self) -> Tensor(a)  # A view of the negatives of the elements of `self`, which are computed when they are read.
method:
    view(Tensor(a) self, int[] size) -> Tensor(a)  # A view of `self` with the shape `size`, or with the bytes of its elements read as `dtype`.
    view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
    expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)  # A view of `self` with the shape `size`, along which dimensions of size one are repeated.
    unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)  # A view of the windows of `size` elements that begin every `step` elements along `dimension` of `self`, as its last dimension.
operator only:
    _reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)  # A view of `self` with the shape `size` and the strides `stride`.
    alias(Tensor(a) self) -> Tensor(a)  # A view of all of `self`.
    slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)  # A view of every `step`th element of `self` along `dim` from `start` up to, but without, `end`.
function, method:
    as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)  # A view of the storage of `self` with the shape `size`, the strides `stride` and the offset `storage_offset`, all counted in elements.
    detach(Tensor(a) self) -> Tensor(a)  # A view of `self` outside of the autograd graph.
    permute(Tensor(a) self, int[] dims) -> Tensor(a)  # A view of `self` with its dimensions in the order `dims`.
    transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)  # A view of `self` with the dimensions `dim0` and `dim1` exchanged.
    t(Tensor(a) self) -> Tensor(a)  # A view of the matrix `self` transposed; of a vector, as it is.
    unsqueeze(Tensor(a) self, int dim) -> Tensor(a)  # A view of `self` with a dimension of size one inserted at `dim`.
    squeeze(Tensor(a) self) -> Tensor(a)  # A view of `self` without its dimensions of size one, or without those in `dim`.
    squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
    squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
    select.int(Tensor(a) self, int dim, int index) -> Tensor(a)  # A view of the slice of `self` at `index` along `dim`, without that dimension.
    diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)  # A view of the diagonals `offset` of `self` in the dimensions `dim1` and `dim2`, as its last dimension.
    unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]  # Views of the slices of `self` along `dim`, without that dimension.
    split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]  # Views of `self` in pieces of `split_size` elements along `dim`; the last may be smaller.
    split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]  # Views of `self` in pieces along `dim` of the sizes `split_sizes`.
function:
    view_as_real(Tensor(a) self) -> Tensor(a)  # A view of the complex tensor `self` with a last dimension for real and imaginary part.
    view_as_complex(Tensor(a) self) -> Tensor(a)  # A view of `self` as complex numbers, whose real and imaginary parts are in the last dimension.
"""

IN_PLACE = """
method, inplace_view:
    as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a!)  # Gives `self` the shape `size`, the strides `stride` and the offset `storage_offset` on its storage.
    squeeze_(Tensor(a!) self) -> Tensor(a!)  # Removes from `self` its dimensions of size one, or those in `dim`.
    squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)
    squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)
    t_(Tensor(a!) self) -> Tensor(a!)  # Transposes the matrix `self` in place.
    transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)  # Exchanges the dimensions `dim0` and `dim1` of `self` in place.
    unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)  # Inserts a dimension of size one into `self` at `dim`.
method:
    swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)  # Exchanges the dimensions `axis0` and `axis1` of `self` in place; another name for `transpose_`.
    swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)  # Exchanges the dimensions `dim0` and `dim1` of `self` in place; another name for `transpose_`.
function, method:
    detach_(Tensor(a!) self) -> Tensor(a!)  # Takes `self` out of the autograd graph, of which it becomes a leaf.
"""

#: Written in the views above.
COMPOSITE = """
function, method:
    reshape(Tensor(a) self, int[] shape) -> Tensor(a)  # `self` with the shape `shape`: a view where its strides allow one, otherwise a copy.
    ravel(Tensor(a) self) -> Tensor(a)  # `self` in one dimension: a view where its strides allow one, otherwise a copy.
    flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)  # `self` with the dimensions from `start_dim` to `end_dim` merged into one: a view where its strides allow one, otherwise a copy.
    unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)  # A view of `self` with the dimension `dim` split into dimensions of the sizes `sizes`.
    broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)  # A view of `self` broadcast to the shape `size`.
    swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)  # A view of `self` with the dimensions `axis0` and `axis1` exchanged; another name for `transpose`.
    swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)  # A view of `self` with the dimensions `dim0` and `dim1` exchanged; another name for `transpose`.
    movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)  # A view of `self` with the dimensions `source` moved to the positions `destination` and the others in order.
    movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)  # A view of `self` with the dimensions `source` moved to the positions `destination`; another name for `movedim`.
    moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    adjoint(Tensor(a) self) -> Tensor(a)  # The conjugate of `self` with its last two dimensions exchanged.
    resolve_conj(Tensor(a) self) -> Tensor(a)  # `self` with its conjugation carried out, if it is pending.
    resolve_neg(Tensor(a) self) -> Tensor(a)  # `self` with its negation carried out, if it is pending.
    narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)  # A view of `length` elements of `self` along `dim` from `start` on.
    narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)
    split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]
    chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]  # Views of `self` in at most `chunks` pieces along `dim`, all but the last equally large.
    tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]  # Views of `self` in `sections` pieces along `dim` whose sizes differ by one at most, or split before the positions `indices`.
    tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]
    tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]
    hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the second dimension, or the only one, into `sections` equal pieces, or before the positions `indices`.
    hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
    vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the first dimension into `sections` equal pieces, or before the positions `indices`.
    vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
    dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the third dimension into `sections` equal pieces, or before the positions `indices`.
    dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
method:
    reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)  # `self` with the shape of `other`: a view where its strides allow one, otherwise a copy.
    view_as(Tensor(a) self, Tensor other) -> Tensor(a)  # A view of `self` with the shape of `other`.
    expand_as(Tensor(a) self, Tensor other) -> Tensor(a)  # A view of `self` with the shape of `other`, along which dimensions of size one are repeated.
    contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)  # `self` where its elements lie in memory in the order of `memory_format`, otherwise a copy that does.
operator only:
    broadcast_tensors(Tensor[] tensors) -> Tensor[]  # Views of the `tensors` broadcast to the shape that all of them have in common.
    numpy_T(Tensor(a) self) -> Tensor(a)  # A view of `self` with its dimensions in reverse order.
    mT(Tensor(a) self) -> Tensor(a)  # A view of `self` with its last two dimensions exchanged.
    matrix_H(Tensor(a) self) -> Tensor(a)  # The conjugate transpose of the matrix `self`.
    mH(Tensor(a) self) -> Tensor(a)  # The conjugate of `self` with its last two dimensions exchanged.
    linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)  # A view of the diagonals `offset` of `A` in the dimensions `dim1` and `dim2`, as its last dimension.
    atleast_1d(Tensor self) -> Tensor  # `self` with at least one dimension; a scalar gets one of size one.
    atleast_2d(Tensor self) -> Tensor  # `self` with at least two dimensions; those of size one are added in front.
    atleast_3d(Tensor self) -> Tensor  # `self` with at least three dimensions; those of size one are added, to a matrix at the end.
function:
    real(Tensor(a) self) -> Tensor(a)  # A view of the real parts of `self`, which is `self` where it is not complex.
    imag(Tensor(a) self) -> Tensor(a)  # A view of the imaginary parts of the complex tensor `self`.
"""

#: What writes or reads back what a view sees, as an operator of its own.
SCATTER = """
operator only:
    _unsafe_view(Tensor self, int[] size) -> Tensor  # A tensor on the memory of `self` with the shape `size`, which autograd does not treat as a view.
    select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor
    slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor
    diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor
    unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor
function, method:
    unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]  # `self` in pieces of `split_size` elements along `dim`, which autograd does not treat as views.
    unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]  # `self` in pieces along `dim` of the sizes `split_sizes`, which autograd does not treat as views.
    unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]  # `self` in at most `chunks` pieces along `dim`, which autograd does not treat as views.
function, method, out, exact dtype, no overlap:
    select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor  # A copy of `self` with `src` written at `index` along `dim`.
    slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor  # A copy of `self` with `src` written to every `step`th position along `dim` from `start` up to, but without, `end`.
    diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor  # A copy of `self` with `src` written to the diagonals `offset` in the dimensions `dim1` and `dim2`.
    as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor  # A copy of `self` with `src` written to its view of shape `size`, strides `stride` and offset `storage_offset`.
    narrow_copy(Tensor self, int dim, int start, int length) -> Tensor  # A copy of `length` elements of `self` along `dim` from `start` on.
"""


def copies(views: str) -> dict[str, str]:
    """The ``*_copy`` operators, by name: the row of one that gives a contiguous copy of what each view sees."""
    rows: dict[str, str] = {}
    for line in views.splitlines():
        if line.startswith(" "):
            name, _, rest = line.strip().partition("(")
            packet, dot, overload = name.partition(".")
            rest = rest.replace("(a -> *)", "").replace("(a)", "")
            rest = rest.replace("# A view of", "# A contiguous copy of").replace("# Views of", "# Contiguous copies of")
            rows[f"{packet}_copy{dot}{overload}"] = f"    {packet}_copy{dot}{overload}({rest}"
    return rows


COPIES = copies(VIEWS)
SCHEMAS = "\n".join((
    VIEWS, IN_PLACE, COMPOSITE, SCATTER,
    "function, out, exact dtype, no overlap:", *COPIES.values(),
))
