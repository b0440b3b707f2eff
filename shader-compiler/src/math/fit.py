"""Fits the polynomials of this folder: python3 fit.py, with numpy and mpmath.

Each fit is a minimax fit by the Remez exchange algorithm on a fine grid. Coefficients are rounded
to floats one after the other, from the first on, and the remaining ones are fitted again. The
coefficients of acos and atan in the source were then perturbed at random by a few units in the last
place, as long as that reduced the maximum error over all inputs, including rounding errors.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 40


def remez(target, basis, weight):
    """Returns the coefficients that minimize max |weight · (basis · coefficients − target)|."""
    rows, terms = basis.shape
    points = np.round((1 - np.cos(np.linspace(0, np.pi, terms + 1))) / 2 * (rows - 1)).astype(int)
    best = (np.inf, None)
    for _ in range(60):
        system = np.zeros((terms + 1, terms + 1))
        system[:, :terms] = (basis * weight[:, None])[points]
        system[:, terms] = (-1.0) ** np.arange(terms + 1)
        coefficients = np.linalg.solve(system, (target * weight)[points])[:terms]
        error = (basis @ coefficients - target) * weight
        if abs(error).max() < best[0]:
            best = (abs(error).max(), coefficients)
        # Take the largest error of each run of equal signs. If there are more than needed, drop the
        # smaller ones at the ends.
        starts = np.flatnonzero(np.diff(np.sign(error), prepend=0))
        runs = zip(starts, [*starts[1:], rows])
        extrema = [first + abs(error[first:end]).argmax() for first, end in runs]
        while len(extrema) > terms + 1:
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        if len(extrema) < terms + 1 or list(points) == extrema:
            break
        points = np.array(extrema)
    return best[1]


def fit(name, function, terms, low, high, weight=lambda x: 1.0, fixed=()):
    """Prints the float coefficients of 1, x, x², … and the maximum weighted error in 2⁻²⁴."""
    grid = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(3000) + 0.5) / 3000)
    target = np.array([float(function(mp.mpf(x))) for x in grid])
    weights = np.array([float(weight(x)) for x in grid])
    coefficients = list(fixed)
    while len(coefficients) < terms:
        rest = target - sum(c * grid**k for k, c in enumerate(coefficients))
        powers = np.array([grid**k for k in range(len(coefficients), terms)]).T
        coefficients.append(float(np.float32(remez(rest, powers, weights)[0])))
    error = (sum(c * grid**k for k, c in enumerate(coefficients)) - target) * weights
    text = ', '.join(f'{c:.9g}' for c in coefficients)
    print(f"{name}: {text}  # {abs(error).max() * 2**24:.3f}")


def odd(name, function, terms, high):
    """Fits (f(x) − x) ÷ x³ in x², for an odd function with slope 1 at 0."""
    ratio = lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    fit(name, ratio, terms, 1e-6, high**2, lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)))


end = float((3 - 2 * mp.sqrt(2)) ** 2)
ln2 = float(mp.log(2))
log = lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z)
fit("exp", mp.exp, 7, 1e-9, ln2, lambda x: mp.exp(-x), [1, 1])
fit("exp2", lambda x: mp.mpf(2) ** x, 7, 1e-9, 1, lambda x: mp.mpf(2) ** -x, [1])
fit("pow, exp2", lambda x: mp.mpf(2) ** x, 6, 1e-9, 1, fixed=[1])
fit("pow, log2", lambda z: log(z) / mp.log(2), 4, 1e-9, end)
fit("log", lambda z: (log(z) - 2) / z, 3, 1e-7, end, lambda z: z / 2)
fit("acos", lambda w: (mp.acos(1 - w / 2) / mp.sqrt(w) - 1) / w, 7, 1e-7, 2, lambda w: w)
odd("asin", mp.asin, 5, 0.5)
odd("sin", mp.sin, 3, float(mp.pi / 4))
odd("tan", mp.tan, 6, float(mp.pi / 4))
odd("sinh", mp.sinh, 3, 1)
odd("tanh", mp.tanh, 4, 0.55)

# Numerator and denominator of (x − atan x) ÷ x³ in x²: least squares of the linearized form,
# reweighted to minimize the maximum error of atan (Lawson's algorithm). Their common factor is
# chosen in the source.
z = 0.5 - 0.5 * np.cos(np.pi * (np.arange(2000) + 0.5) / 2000)
x = np.sqrt(z)
target, weight = (1 - np.arctan(x) / x) / z, z * x / np.arctan(x)
below, lawson, best = np.ones_like(z), np.ones_like(z), (np.inf, None)
for _ in range(3000):
    matrix = np.stack([z**0, z, z**2, -target * z, -target * z**2], 1)
    scale = weight / below * np.sqrt(lawson)
    c = np.linalg.lstsq(matrix * scale[:, None], target * scale, rcond=None)[0]
    below = 1 + c[3] * z + c[4] * z**2
    error = abs(((c[0] + c[1] * z + c[2] * z**2) / below - target) * weight)
    best = min(best, (error.max(), list(c)))
    lawson *= error + 1e-3 * error.max()
    lawson /= lawson.sum()
print("atan:", ", ".join(f"{c:.9g}" for c in best[1]), f" # {best[0] * 2**24:.3f}")
