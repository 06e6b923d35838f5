"""Joining, repeating, reversing and padding tensors; triangles and diagonals; the memory under a tensor."""

from .creation import OPTIONS

SCHEMAS = f"""
function, out, no overlap, TypeError:
    cat(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`.
    concat(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`; another name for `cat`.
    concatenate(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`; another name for `cat`.
    stack(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors`, all of one shape, joined along a new dimension `dim`.
    hstack(Tensor[] tensors) -> Tensor  # The `tensors` joined side by side: vectors along their only dimension, others along their second.
    vstack(Tensor[] tensors) -> Tensor  # The `tensors` joined one below the other along the first dimension; vectors are rows.
    row_stack(Tensor[] tensors) -> Tensor  # The `tensors` joined one below the other along the first dimension; another name for `vstack`.
    dstack(Tensor[] tensors) -> Tensor  # The `tensors` joined along the third dimension, which is added where they have none.
    column_stack(Tensor[] tensors) -> Tensor  # The `tensors` joined side by side along the second dimension; vectors are columns.
    _chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor  # Each of the `tensors` padded with zeros and split into `num_chunks` along `dim`, and the chunks flattened and joined.
operator only:
    block_diag(Tensor[] tensors) -> Tensor  # The matrix with the `tensors` as blocks along its diagonal and zeros elsewhere.
    cartesian_prod(Tensor[] tensors) -> Tensor  # All combinations of one element of each of the vectors `tensors`, a row for each.
    meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]  # The coordinates of a grid whose lines along each dimension are at the values of one of `tensors`: a tensor for each dimension.
    tril_indices(int row, int col, int offset=0, *, {OPTIONS}) -> Tensor  # The row and column indices of the elements on and below the diagonal `offset` of a matrix of `row` rows and `col` columns.
    triu_indices(int row, int col, int offset=0, *, {OPTIONS}) -> Tensor  # The row and column indices of the elements on and above the diagonal `offset` of a matrix of `row` rows and `col` columns.
    reflection_pad1d(Tensor self, int[2] padding) -> Tensor  # `self` with `padding` elements added before and after its last dimension that mirror it at its edges.
    reflection_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
    reflection_pad2d(Tensor self, int[4] padding) -> Tensor  # `self` with `padding` elements added around its last two dimensions that mirror it at its edges.
    reflection_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
    reflection_pad3d(Tensor self, int[6] padding) -> Tensor  # `self` with `padding` elements added around its last three dimensions that mirror it at its edges.
    reflection_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
    replication_pad1d(Tensor self, int[2] padding) -> Tensor  # `self` with `padding` copies of its first and last element added along its last dimension.
    replication_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
    replication_pad2d(Tensor self, int[4] padding) -> Tensor  # `self` with `padding` copies of its edges added around its last two dimensions.
    replication_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
    replication_pad3d(Tensor self, int[6] padding) -> Tensor  # `self` with `padding` copies of its edges added around its last three dimensions.
    replication_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
    _pad_circular(Tensor self, int[] pad) -> Tensor  # `self` with elements from its other end added around it: `pad` counts those before and after, for the last dimension first.
    pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor  # `self` with elements added around it, as `mode` says: `pad` counts those before and after, for the last dimension first.
    im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor  # The patches of size `kernel_size` of the images `self`, each as a column.
    col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor  # The images of size `output_size` in which the columns of `self` are added up as patches of size `kernel_size`.
function, method:
    flip(Tensor self, int[] dims) -> Tensor  # `self` with the order of its elements reversed along the dimensions `dims`.
    fliplr(Tensor self) -> Tensor  # `self` with the order of its elements reversed along the second dimension, left to right.
    flipud(Tensor self) -> Tensor  # `self` with the order of its elements reversed along the first dimension, top to bottom.
    roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor  # `self` with its elements moved by `shifts` along the dimensions `dims`; those that leave at the end come back at the start.
    rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor  # `self` rotated `k` times by 90 degrees in the plane of the dimensions `dims`, from the first towards the second.
    tile(Tensor self, int[] dims) -> Tensor  # `self` copied as often along each dimension as `dims` says, before which ones are put if it is shorter than the shape.
    repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor  # `self` with each element along `dim` copied as often as `repeats` says, one copy after the other.
    repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor
    diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor  # The matrices, in the dimensions `dim1` and `dim2`, whose diagonals `offset` are the last dimension of `self`, with zeros elsewhere.
    diagflat(Tensor self, int offset=0) -> Tensor  # The matrix whose diagonal `offset` has the elements of `self`, with zeros elsewhere.
    trace(Tensor self) -> Tensor  # The sum of the elements on the main diagonal of the matrix `self`.
    resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)  # Gives `self` the shape of `the_template`, on the same storage, which grows if it is too small.
function:
    combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor  # All choices of `r` elements of the vector `self`, a row for each, of one element more than once only if `with_replacement`.
    repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor
    constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor  # `self` with `value` added around it: `pad` counts the elements before and after, for the last dimension first.
    pixel_shuffle(Tensor self, int upscale_factor) -> Tensor  # `self` with its channels, `upscale_factor` squared at a time, laid out as squares of pixels.
    pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor  # `self` with its squares of `downscale_factor` by `downscale_factor` pixels laid out as channels.
    channel_shuffle(Tensor self, int groups) -> Tensor  # `self` with its channels, in `groups` groups, taken from each group in turn.
function, explicit:
    native_channel_shuffle(Tensor self, int groups) -> Tensor  # `self` with its channels, in `groups` groups, taken from each group in turn; another name for `channel_shuffle`.
method:
    fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)  # Writes `fill_value` on the main diagonal of `self`, which begins again at the bottom of a high matrix if `wrap`.
    repeat(Tensor self, int[] repeats) -> Tensor  # `self` copied as often along each dimension as `repeats` says.
    resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)  # Gives `self` the shape `size`, on the same storage, which grows if it is too small.
    set_(Tensor(a!) self) -> Tensor(a!)  # Makes `self` a tensor on the storage of `source`, with its shape and strides or those given.
    set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)
    set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
    set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)
    set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
function, method, in-place, out, exact dtype, no overlap:
    tril(Tensor self, int diagonal=0) -> Tensor  # The elements of the matrices `self` on and below the diagonal `diagonal`, with zeros above.
    triu(Tensor self, int diagonal=0) -> Tensor  # The elements of the matrices `self` on and above the diagonal `diagonal`, with zeros below.
function, method, out, exact dtype, no overlap:
    diag(Tensor self, int diagonal=0) -> Tensor  # The diagonal `diagonal` of the matrix `self`, or of a vector the matrix that has it there.
"""
