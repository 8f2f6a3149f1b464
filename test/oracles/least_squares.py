"""Best linear unbiased estimates by numpy, for comparison with those of the service.

Reads a JSON list of systems from standard input. The unknowns of a system are the numbers of rows of each kind. "measured" has the
coefficients of each measured number in them, "deviations" and "values" its noise and its value, "targets" the coefficients of the
numbers that are asked for. Writes for each target its value and variance, or null if it does not follow.
"""

import json
import sys

import numpy as np


def estimates(system):
    deviations = np.array(system["deviations"])
    values = np.array(system["values"])
    # Rows of equal noise: the least squares solution of least norm has the least variance.
    scaled = np.array(system["measured"], dtype=float) / deviations[:, None]
    targets = np.array(system["targets"], dtype=float).T
    weights = np.linalg.lstsq(scaled.T, targets, rcond=1e-10)[0]
    residuals = np.abs(scaled.T @ weights - targets).max(axis=0)
    scale = np.abs(targets).max(axis=0) + 1
    for residual, own, size in zip(residuals, weights.T, scale):
        follows = residual < 1e-6 * size
        yield [float(own @ (values / deviations)), float(own @ own)] if follows else None


json.dump([list(estimates(system)) for system in json.load(sys.stdin)], sys.stdout)
