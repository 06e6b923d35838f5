"""Linear algebra: products, factorizations, and what is computed by them."""

PRODUCTS = """
function, method, out, exact dtype:
    mm(Tensor self, Tensor mat2) -> Tensor  # The matrix product of `self` and `mat2`.
    bmm(Tensor self, Tensor mat2) -> Tensor  # The matrix product of each matrix in `self` with the matrix at the same place in `mat2`.
    mv(Tensor self, Tensor vec) -> Tensor  # The product of the matrix `self` and the vector `vec`.
    dot(Tensor self, Tensor tensor) -> Tensor  # The sum of the products of the elements of two vectors, `self` and `tensor`.
    vdot(Tensor self, Tensor other) -> Tensor  # The sum of the products of the complex conjugate of the vector `self` and the vector `other`.
function, method, in-place, out, exact dtype:
    addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the matrix product of `mat1` and `mat2`.
    addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the product of the matrix `mat` and the vector `vec`.
    addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the sum of the matrix products of `batch1` and `batch2` over the batch.
    baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the matrix products of `batch1` and `batch2`, batch by batch.
function, method, in-place, out:
    addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the outer product of the vectors `vec1` and `vec2`.
out, exact dtype, no overlap:
    linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor  # The cross product of the vectors of three elements that lie along `dim` in `self` and `other`.
operator only:
    _trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor  # The sum, over the dimensions `sumdim`, of the product of `i1`, `i2` and `i3`, each with dimensions of size one inserted.
"""

#: Written in the products above.
COMPOSITE_PRODUCTS = """
out, exact dtype:
    linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor  # The product of `input` and the transpose of `weight`, plus `bias`.
    linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor  # The dot product of the vectors that lie along `dim` in `x`, conjugated, and in `y`.
    tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor  # The sum of the products of `self` and `other` over the dimensions `dims_self` of the one and `dims_other` of the other.
    linalg_multi_dot(Tensor[] tensors) -> Tensor  # The matrix product of all `tensors`, in the order of multiplications that takes the fewest steps.
out:
    linalg_matmul(Tensor self, Tensor other) -> Tensor  # The matrix product of `self` and `other`, as of `matmul`.
    chain_matmul(Tensor[] matrices) -> Tensor  # The matrix product of all `matrices`, in the order of multiplications that takes the fewest steps.
    linalg_matrix_power(Tensor self, int n) -> Tensor  # The matrix `self` multiplied `n` times with itself; for a negative `n`, its inverse.
function:
    bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor  # For each output feature, the product of `input1`, a matrix of `weight` and `input2`, plus `bias`.
    vander(Tensor x, int? N=None, bool increasing=False) -> Tensor  # The matrix whose `N` columns are powers of the vector `x`, from the highest to 0, or the other way round if `increasing`.
function, method, out, exact dtype:
    matmul(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`: of vectors the dot product, of matrices the matrix product, of more dimensions that of each two matrices, broadcast.
    inner(Tensor self, Tensor other) -> Tensor  # The sum of the products of `self` and `other` over the last dimension of both.
    cross(Tensor self, Tensor other, int? dim=None) -> Tensor  # The cross product of the vectors of three elements that lie along `dim`, or else along the first dimension of size three, in `self` and `other`.
function, method, out:
    outer(Tensor self, Tensor vec2) -> Tensor  # The product of each element of the vector `self` with each of `vec2`.
    ger(Tensor self, Tensor vec2) -> Tensor  # The product of each element of the vector `self` with each of `vec2`; another name for `outer`.
    kron(Tensor self, Tensor other) -> Tensor  # The Kronecker product: a block for each element of `self`, which is that element times `other`.
    matrix_power(Tensor self, int n) -> Tensor  # The matrix `self` multiplied `n` times with itself; for a negative `n`, its inverse.
operator only:
    einsum(str equation, Tensor[] tensors) -> Tensor  # The sum of products of `tensors` that `equation` writes in Einstein's convention: a letter for each dimension, and a sum over those that the output lacks.
    linalg_vander(Tensor x, *, int? N=None) -> Tensor  # The matrix whose `N` columns are the powers of the vector `x` from 0 on.
"""

FACTORIZATIONS = """
out, exact dtype, no overlap:
    linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)  # The factors of the matrix `A` into a lower and an upper triangular one, packed into one matrix, the row exchanges, and a number other than 0 where a pivot is zero.
    linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)  # The permutation, the lower and the upper triangular matrix whose product is `A`.
    linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor  # The solution of a linear system with the right side `B`, given the packed factors `LU` and `pivots` of its matrix.
    linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)  # The inverse of the matrix `A`, and a number other than 0 where it has none.
    linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)  # The triangular factor L of a positive definite matrix `self`, which is L times its conjugate transpose, and a number other than 0 where it is not positive definite.
    linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)  # A matrix with orthonormal columns and an upper triangular one whose product is `A`.
out, exact dtype:
    linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor  # The solution of a linear system with the triangular matrix `self` and the right side `B`.
function, out, exact dtype, no overlap:
    lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)  # The permutation, the lower and the upper triangular matrix that `LU_data` and `LU_pivots` hold in packed form.
operator only:
    _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)  # The determinant of the matrix `A`, and the packed factors from which it is computed.
    _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)  # The sign of the determinant of `A` and the logarithm of its absolute value, and the packed factors from which they are computed.
    _linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)  # The solution of a linear system with the matrix `A` and the right side `B`, the packed factors of `A`, and a number other than 0 where it is singular.
    _linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)  # The singular value decomposition of the matrix `A`, for `linalg_svd`.
    _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues and eigenvectors of the symmetric or Hermitian matrix `A`, for `linalg_eigh`.
function, method, out, exact dtype, empty out resized:
    triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)  # The solution of a linear system with the triangular matrix `A` and the right side `self`, and a copy of `A`.
function, method, out, empty out resized:
    cholesky_inverse(Tensor self, bool upper=False) -> Tensor  # The inverse of a positive definite matrix, given its Cholesky factor `self`.
    geqrf(Tensor self) -> (Tensor a, Tensor tau)  # The factors of `self` into an orthogonal and a triangular matrix in LAPACK's packed form: Householder vectors and their scales.
    ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor  # The product of the orthogonal matrix that the Householder vectors `self` and scales `input2` make with the matrix `input3`.
function, method, out, contiguous out:
    cholesky(Tensor self, bool upper=False) -> Tensor  # The lower, or `upper`, triangular factor whose product with its conjugate transpose is the positive definite matrix `self`.
    cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor  # The solution of a linear system with the right side `self`, given the Cholesky factor `input2` of its matrix.
out, exact dtype:
    linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)  # The factors of a symmetric, or `hermitian`, matrix `self` into a triangular and a block-diagonal one, packed, the row exchanges, and a number other than 0 where it fails.
    linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor  # The solution of a linear system with the right side `B`, given the factors `LD` and `pivots` of its symmetric matrix.
out:
    linalg_householder_product(Tensor input, Tensor tau) -> Tensor  # The first columns of the product of the Householder reflections whose vectors are in `input` and whose scales are `tau`.
    linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)  # The solution that makes the product of `self` with it differ least from `b` in the sum of squares, with residuals, rank and singular values.
    linalg_matrix_exp(Tensor self) -> Tensor  # The exponential of the square matrix `self`: the sum of its powers, each divided by the factorial of the exponent.
out, empty out resized:
    linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues and eigenvectors, which may be complex, of the square matrix `self`.
"""

#: Written in the factorizations above.
COMPOSITE_FACTORIZATIONS = """
out, exact dtype, strided out:
    linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)  # The factors of the matrix `A` into a lower and an upper triangular one, packed into one matrix, and the row exchanges.
    linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)  # The solution of a linear system with the matrix `A` and the right side `B`, and a number other than 0 where `A` is singular.
    linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor  # The solution of a linear system with the square matrix `A` and the right side `B`.
    linalg_inv(Tensor A) -> Tensor  # The inverse of the square matrix `A`.
    linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor  # The lower, or `upper`, triangular factor whose product with its conjugate transpose is the positive definite matrix `self`.
    linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)  # The factors of a symmetric, or `hermitian`, matrix `self` into a triangular and a block-diagonal one, packed, and the row exchanges.
    linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)  # The left singular vectors, the singular values in descending order, and the conjugate transpose of the right singular vectors of the matrix `A`.
    linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)  # The eigenvalues in ascending order, and the eigenvectors, of a symmetric or Hermitian matrix `self`, of which only the triangle `UPLO` is read.
function:
    _lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)  # The packed triangular factors of the matrix `self`, the row exchanges, and a number other than 0 where a pivot is zero.
function, method, out, exact dtype, strided out:
    lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor  # The solution of a linear system with the right side `self`, given the packed factors `LU_data` and `LU_pivots` of its matrix.
    inverse(Tensor self) -> Tensor  # The inverse of the square matrix `self`.
    qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)  # A matrix with orthonormal columns and an upper triangular one whose product is `self`; with `some`, no more columns than the smaller side has.
    svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)  # The left singular vectors, the singular values in descending order, and the right singular vectors of the matrix `self`.
function, out, exact dtype:
    nuclear_norm(Tensor self, bool keepdim=False) -> Tensor  # The sum of the singular values of the matrices in the last two dimensions of `self`, or in `dim`.
    nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor
out, exact dtype:
    linalg_det(Tensor A) -> Tensor  # The determinant of the square matrix `A`.
    linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)  # The sign of the determinant of `A`, and the logarithm of its absolute value.
    linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor  # The singular values of the matrix `A`, in descending order.
    linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor  # The eigenvalues, in ascending order, of a symmetric or Hermitian matrix `self`, of which only the triangle `UPLO` is read.
    linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of the matrices in the dimensions `dim` of `self`.
    linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of `self`: of vectors if `dim` is one dimension, of matrices if it is two.
    linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
out:
    linalg_tensorinv(Tensor self, int ind=2) -> Tensor  # The inverse of the linear map that `tensordot` with `self` is, whose first `ind` dimensions are its output.
    linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor  # The tensor whose `tensordot` with `self` is `other`, with the dimensions `dims` of `self` moved to its end before.
    linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor  # The Moore-Penrose inverse of `self`, for which singular values not above `atol` or `rtol` times the greatest count as zero.
    linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
    linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor
    linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor
    linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor  # The rank of `input`: how many of its singular values are above `atol` and above `rtol` times the greatest.
    linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
    linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor
    linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor
    linalg_cond(Tensor self, Scalar? p=None) -> Tensor  # The condition number of the matrix `self`: its norm of order `p` times that of its inverse.
    linalg_cond.p_str(Tensor self, str p) -> Tensor
function, method:
    det(Tensor self) -> Tensor  # The determinant of the square matrix `self`.
    logdet(Tensor self) -> Tensor  # The logarithm of the determinant of `self`, which is nan where that is negative.
    pinverse(Tensor self, float rcond=1e-15) -> Tensor  # The Moore-Penrose inverse of `self`, for which singular values not above `rcond` times the greatest count as zero.
    matrix_exp(Tensor self) -> Tensor  # The exponential of the square matrix `self`: the sum of its powers, each divided by the factorial of the exponent.
function, method, out, exact dtype:
    slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)  # The sign of the determinant of `self`, and the logarithm of its absolute value.
function, method, out:
    orgqr(Tensor self, Tensor input2) -> Tensor  # The first columns of the product of the Householder reflections whose vectors are in `self` and whose scales are `input2`.
out, strided out, empty out resized:
    linalg_eigvals(Tensor self) -> Tensor  # The eigenvalues, which may be complex, of the square matrix `self`.
function:
    norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor  # The norms of order `pow` of `v` over all dimensions but `dim`, which are kept with size 1; over all if `dim` is -1.
    _weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor  # `v` scaled so that its norms over all dimensions but `dim` are `g`.
    _weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor result0, Tensor result1)  # `v` scaled so that its norms over all dimensions but `dim`, the first or the last, are `g`; and the norms that it had.
"""

SCHEMAS = "\n".join((PRODUCTS, COMPOSITE_PRODUCTS, FACTORIZATIONS, COMPOSITE_FACTORIZATIONS))
