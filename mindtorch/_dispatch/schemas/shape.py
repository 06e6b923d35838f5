"""Joining, repeating, reversing and padding tensors; triangles and diagonals; the memory under a tensor."""

SCHEMAS = """
fot   cat(Tensor[] tensors, int dim=0) -> Tensor
fot   concat(Tensor[] tensors, int dim=0) -> Tensor
fot   concatenate(Tensor[] tensors, int dim=0) -> Tensor
fot   stack(Tensor[] tensors, int dim=0) -> Tensor
fot   hstack(Tensor[] tensors) -> Tensor
fot   vstack(Tensor[] tensors) -> Tensor
fot   row_stack(Tensor[] tensors) -> Tensor
fot   dstack(Tensor[] tensors) -> Tensor
fot   column_stack(Tensor[] tensors) -> Tensor
fot   _chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor
-     block_diag(Tensor[] tensors) -> Tensor
-     cartesian_prod(Tensor[] tensors) -> Tensor
f     combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor
-     meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
fm    flip(Tensor self, int[] dims) -> Tensor
fm    fliplr(Tensor self) -> Tensor
fm    flipud(Tensor self) -> Tensor
fm    roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor
fm    rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor
m     repeat(Tensor self, int[] repeats) -> Tensor
fm    tile(Tensor self, int[] dims) -> Tensor
fm    repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor
fm    repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor
f     repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor
fmiox tril(Tensor self, int diagonal=0) -> Tensor
fmiox triu(Tensor self, int diagonal=0) -> Tensor
-     tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None) -> Tensor
-     triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None) -> Tensor
fmox  diag(Tensor self, int diagonal=0) -> Tensor
fm    diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor
fm    diagflat(Tensor self, int offset=0) -> Tensor
fm    trace(Tensor self) -> Tensor
f     constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor
-     reflection_pad1d(Tensor self, int[2] padding) -> Tensor
-     reflection_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
-     reflection_pad2d(Tensor self, int[4] padding) -> Tensor
-     reflection_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
-     reflection_pad3d(Tensor self, int[6] padding) -> Tensor
-     reflection_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
-     replication_pad1d(Tensor self, int[2] padding) -> Tensor
-     replication_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor
-     replication_pad2d(Tensor self, int[4] padding) -> Tensor
-     replication_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor
-     replication_pad3d(Tensor self, int[6] padding) -> Tensor
-     replication_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor
-     _pad_circular(Tensor self, int[] pad) -> Tensor
-     pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor
f     pixel_shuffle(Tensor self, int upscale_factor) -> Tensor
f     pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor
f     channel_shuffle(Tensor self, int groups) -> Tensor
-     im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
-     col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
m     resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)
fm    resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)
m     set_(Tensor(a!) self) -> Tensor(a!)
m     set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)
m     set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
m     set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)
m     set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
"""
