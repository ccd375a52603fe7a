"""Linear algebra of small matrices in a fixed order of additions, so that every machine gives the same bits.

The order in which a BLAS adds depends on its kernel, which depends on the processor and on the number of threads. Here

    Σ xᵢ       halves are added element by element until few are left, and these one after the other
    A B        Σ over the inner dimension, one outer product after the other
    A = V Λ Vᵀ  cyclic Jacobi rotations (Golub and Van Loan 2013, 8.5)
    A = U S Vᵀ  one-sided Jacobi rotations (Hestenes 1958)
    A = Q R    Householder reflections, R with its signs as they come

Compiled loops are not reordered: Numba keeps the order of additions, and fuses no multiplication with an addition.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Matrix
from larvatus.core.kernels import kernel

_FEW = 48
_MUCH = 2_000_000  # products; from here on loading the compiled loops pays
_SWEEPS = 60
_DONE = 1e-17
_LANES = 8
_SMALL = 1024  # values in a row: below it, adding rows one by one takes longer than the sums


def total(x: Matrix, axis: int = 0) -> Floats:
    """Sum along an axis."""
    x = np.asarray(x, dtype=np.float64)
    if axis % max(x.ndim, 1) != 0:
        x = x.T if x.ndim == 2 else np.moveaxis(x, axis, 0)
    if len(x) == 0:
        return np.zeros(x.shape[1:])
    while len(x) > _FEW:
        half = len(x) // 2
        y = x[:half] + x[half : 2 * half]
        if len(x) % 2:
            y[0] += x[-1]
        x = y
    if x.ndim == 1:
        return np.asarray(np.add.accumulate(x)[-1])
    if x[0].size <= _SMALL:
        return np.array(np.add.accumulate(x, axis=0)[-1])
    out = x[0].copy()
    for row in x[1:]:
        out += row
    return np.asarray(out, dtype=np.float64)


def column_mean(x: Matrix, axis: int = 0) -> Floats:
    """Mean along an axis."""
    return np.asarray(total(x, axis) / np.shape(x)[axis])


def nan_total(x: Matrix, axis: int = 0) -> Floats:
    """Sum of the present values along an axis."""
    return total(np.where(np.isnan(x), 0.0, x), axis)


def product(*matrices: Any) -> Any:
    """The matrix product of two or more arrays, as by the operator @."""
    return reduce(_product, matrices)


def _product(a: Any, b: Any) -> Any:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim == 1:
        return _product(a[None], b)[..., 0, :] if b.ndim > 1 else float(total(a * b))
    if b.ndim == 1:
        return _product(a, b[:, None])[..., 0]
    k = a.shape[-1]
    if k != b.shape[-2]:
        raise ValueError(f"product: shapes {a.shape} and {b.shape} do not fit")
    if k > _FEW:
        if a.ndim == 2 and b.ndim == 2:
            if len(a) <= b.shape[1]:
                return np.array([total(row[:, None] * b) for row in a]).reshape(len(a), b.shape[1])
            return np.array([total(a.T * column[:, None]) for column in b.T]).reshape(b.shape[1], len(a)).T
        return total(np.moveaxis(a, -1, 0)[..., :, None] * np.moveaxis(b, -2, 0)[..., None, :])
    if k == 0:
        return np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    out = a[..., :, 0, None] * b[..., None, 0, :]
    for j in range(1, k):
        out += a[..., :, j, None] * b[..., None, j, :]
    return out


def gram_matrix(d: Matrix) -> Matrix:
    """dᵀd for rows × columns, exactly symmetric."""
    columns = np.ascontiguousarray(np.asarray(d, dtype=np.float64).T)
    p, n = columns.shape
    out = np.empty((p, p))
    if n * p * p > _MUCH:
        _dots(columns, out)
        return out
    for j in range(p):
        out[j, j:] = out[j:, j] = total(columns[j:] * columns[j], axis=1)
    return out


@kernel()
def scalar_product(a: Floats, b: Floats) -> float:
    """Sum of products, in eight interleaved sums that are then added one by one."""
    n = len(a)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = n - n % _LANES
    for i in range(0, whole, _LANES):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    out = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for i in range(whole, n):
        out += a[i] * b[i]
    return out


@kernel()
def _dots(columns: Matrix, out: Matrix) -> None:
    for j in range(len(columns)):
        for k in range(j + 1):
            out[j, k] = out[k, j] = scalar_product(columns[j], columns[k])


@kernel()
def _reflected(columns: Matrix) -> None:
    """Householder's R in place, for columns × rows: entry [j, i] with i ≤ j is R[i, j]."""
    k, n = columns.shape
    for i in range(min(k, n)):
        v = columns[i, i:]
        norm = np.sqrt(scalar_product(v, v))
        if norm == 0.0:
            continue
        alpha = -norm if v[0] > 0.0 else norm
        square = norm * norm - v[0] * alpha
        v[0] -= alpha
        for j in range(i + 1, k):
            w = columns[j, i:]
            share = scalar_product(v, w) / square
            for t in range(len(v)):
                w[t] -= share * v[t]
        v[0] = alpha


def triangle_of(rows: Matrix) -> Matrix:
    """The R of a QR of rows × columns: min(rows, columns) × columns."""
    columns = np.array(np.asarray(rows).T, dtype=np.float64, order="C")
    k, n = columns.shape
    if columns.size:
        _reflected(columns)
    return np.ascontiguousarray(np.triu(columns.T[: min(k, n)]))


@kernel()
def _rotated(stack: Matrix, vectors: Matrix) -> None:
    """Cyclic Jacobi on each symmetric matrix of a stack, in place; rows of `vectors` become the eigenvectors."""
    for m in range(len(stack)):
        a, v = stack[m], vectors[m]
        n = len(a)
        for i in range(n):
            for j in range(n):
                v[i, j] = 1.0 if i == j else 0.0
        for _ in range(_SWEEPS):
            turned = False
            for p in range(n - 1):
                for q in range(p + 1, n):
                    if abs(a[p, q]) <= _DONE * np.sqrt(abs(a[p, p]) * abs(a[q, q])) or abs(a[p, q]) < 1e-300:
                        a[p, q] = a[q, p] = 0.0
                        continue
                    turned = True
                    theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                    t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                    if theta < 0.0:
                        t = -t
                    c = 1.0 / np.sqrt(t * t + 1.0)
                    s = t * c
                    r = s / (1.0 + c)
                    h = t * a[p, q]
                    a[p, p] -= h
                    a[q, q] += h
                    a[p, q] = a[q, p] = 0.0
                    for i in range(n):
                        if i != p and i != q:
                            g, f = a[i, p], a[i, q]
                            a[i, p] = g - s * (f + r * g)
                            a[i, q] = f + s * (g - r * f)
                            a[p, i], a[q, i] = a[i, p], a[i, q]
                        g, f = v[p, i], v[q, i]
                        v[p, i] = g - s * (f + r * g)
                        v[q, i] = f + s * (g - r * f)
            if not turned:
                break


def symmetric_eigen(matrix: Matrix) -> tuple[Floats, Matrix]:
    """Ascending eigenvalues and eigenvectors as columns, of a symmetric matrix or a stack; the lower triangle counts."""
    given = np.asarray(matrix, dtype=np.float64)
    n = given.shape[-1]
    if given.size == 0:
        return np.zeros(given.shape[:-1]), np.zeros(given.shape)
    stack = np.array(np.tril(given) + np.swapaxes(np.tril(given, -1), -1, -2), order="C").reshape(-1, n, n)
    if not np.isfinite(stack).all():
        raise np.linalg.LinAlgError("eigenvalues of a matrix that is not finite")
    vectors = np.empty_like(stack)
    _rotated(stack, vectors)
    values = np.diagonal(stack, axis1=1, axis2=2)
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, :, None], axis=1)
    lead = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=2)[:, :, None], axis=2)
    vectors = np.where(lead < 0, -vectors, vectors)
    return values.reshape(given.shape[:-1]), np.ascontiguousarray(np.swapaxes(vectors, 1, 2)).reshape(given.shape)


@kernel()
def _one_sided(u: Matrix, v: Matrix) -> None:
    """Rotate the rows of u until they are orthogonal, and those of v with them."""
    n = len(u)
    for _ in range(_SWEEPS):
        turned = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                alpha, beta, gamma = scalar_product(u[p], u[p]), scalar_product(u[q], u[q]), scalar_product(u[p], u[q])
                if abs(gamma) <= 1e-15 * np.sqrt(alpha * beta) or abs(gamma) < 1e-300:
                    continue
                turned = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = c * t
                for i in range(u.shape[1]):
                    g, f = u[p, i], u[q, i]
                    u[p, i], u[q, i] = c * g - s * f, s * g + c * f
                for i in range(n):
                    g, f = v[p, i], v[q, i]
                    v[p, i], v[q, i] = c * g - s * f, s * g + c * f
        if not turned:
            break


def pseudo_inverse(a: Matrix, rcond: float = 1e-15) -> Matrix:
    """The generalised inverse; singular values below `rcond` times the largest count as zero."""
    a = np.asarray(a, dtype=np.float64)
    if a.size == 0:
        return np.zeros((a.shape[1], a.shape[0]))
    wide = a.shape[0] < a.shape[1]
    u = np.array(a if wide else a.T, order="C")
    scale = float(np.abs(u).max())
    if not np.isfinite(scale):
        raise np.linalg.LinAlgError("generalised inverse of a matrix that is not finite")
    v = np.eye(len(u))
    if scale > 0:
        u /= scale
        _one_sided(u, v)
    square = total(u * u, axis=1)
    kept = np.sqrt(square) > rcond * np.sqrt(square.max(initial=0.0))
    inverse = product(v[kept].T, u[kept] / square[kept][:, None]) / (scale or 1.0)
    return np.ascontiguousarray(inverse.T if wide else inverse)


def singular_values(a: Matrix) -> Floats:
    """Singular values, largest first."""
    u = np.array(a if a.shape[0] < a.shape[1] else a.T, dtype=np.float64, order="C")
    if u.size:
        _one_sided(u, np.eye(len(u)))
    return np.asarray(np.sort(np.sqrt(total(u * u, axis=1)))[::-1])


def least_squares_solution(a: Matrix, b: Matrix, rcond: float) -> Matrix:
    """The x of smallest norm with the smallest |a x − b|, corrected once by its own residual."""
    inverse = pseudo_inverse(a, rcond)
    x = product(inverse, b)
    return np.asarray(x + product(inverse, np.asarray(b) - product(a, x)))


@kernel()
def _cholesky(a: Matrix) -> bool:
    """The lower factor in place; false if the matrix is not positive definite."""
    n = len(a)
    for j in range(n):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        if not pivot > 0.0:
            return False
        a[j, j] = np.sqrt(pivot)
        for i in range(j + 1, n):
            left = a[i, j]
            for k in range(j):
                left -= a[i, k] * a[j, k]
            a[i, j] = left / a[j, j]
    return True


def cholesky(matrix: Matrix) -> Matrix:
    """The lower triangular factor of a positive definite matrix, or of a stack."""
    given = np.array(matrix, dtype=np.float64, order="C")
    if given.size == 0:
        return given
    for a in given.reshape(-1, *given.shape[-2:]):
        if not _cholesky(a):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.tril(given)


@kernel()
def _eliminated(a: Matrix, b: Matrix) -> bool:
    """Solve a x = b in place by elimination with row exchanges; false if a is singular."""
    n = len(a)
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if abs(a[i, j]) > abs(a[best, j]):
                best = i
        if not abs(a[best, j]) > 0.0:
            return False
        if best != j:
            for c in range(n):
                a[j, c], a[best, c] = a[best, c], a[j, c]
            for c in range(b.shape[1]):
                b[j, c], b[best, c] = b[best, c], b[j, c]
        for i in range(j + 1, n):
            share = a[i, j] / a[j, j]
            if share != 0.0:
                for c in range(j, n):
                    a[i, c] -= share * a[j, c]
                for c in range(b.shape[1]):
                    b[i, c] -= share * b[j, c]
    for j in range(n - 1, -1, -1):
        for c in range(b.shape[1]):
            left = b[j, c]
            for i in range(j + 1, n):
                left -= a[j, i] * b[i, c]
            b[j, c] = left / a[j, j]
    return True


def solve(a: Matrix, b: Matrix) -> Matrix:
    """The x with a x = b, for a square matrix a."""
    left, right = np.array(a, dtype=np.float64, order="C"), np.array(b, dtype=np.float64, order="C")
    columns = right.reshape(len(right), -1)
    if columns.size and not _eliminated(left, columns):
        raise np.linalg.LinAlgError("the matrix is singular")
    return columns.reshape(right.shape)


def inverse_of(matrix: Matrix) -> Matrix:
    """The inverse of a square matrix, or of a stack."""
    given = np.asarray(matrix, dtype=np.float64)
    n = given.shape[-1]
    if given.size == 0:
        return given.copy()
    return np.array([solve(a, np.eye(n)) for a in given.reshape(-1, n, n)]).reshape(given.shape)
