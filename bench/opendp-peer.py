"""OpenDP's side of the comparison. Answers each JSON request line with the nanoseconds of one invocation.

Only the invocation is timed. Inputs and measurements are prepared before. The input is a numpy array, which costs about
20 ns per entry; lists would cost far more. The output is converted to Python numbers.
"""

import json
import sys
from importlib.metadata import version
from time import perf_counter_ns

import numpy
import opendp.prelude as dp

dp.enable_features("contrib")


def noise(request):
    """Noise on every entry of a vector. If given, `k` sets the granularity 2^k of noise on real numbers."""
    entries = request["entries"]
    counts = numpy.arange(entries) % 1000
    if request["type"] == "integer":
        values, atom, size = counts.astype(numpy.int64), dp.atom_domain(T="i64"), None
    else:
        # An explicit granularity requires a public vector length.
        values, atom, size = counts.astype(numpy.float64), dp.atom_domain(T="f64", nan=False), entries
    make, distance = {
        "laplace": (dp.m.make_laplace, dp.l1_distance),
        "gaussian": (dp.m.make_gaussian, dp.l2_distance),
    }[request["distribution"]]
    metric = distance(T="i64" if request["type"] == "integer" else "f64")
    measurement = make(dp.vector_domain(atom, size=size), metric, scale=float(request["scale"]), k=request.get("k"))
    return lambda: measurement(values)


def noisy_max(request):
    """Best of several counts. One person raises any number of them by one. At scale 1 each choice costs epsilon 1."""
    scores = numpy.array(request["scores"], dtype=numpy.int64)
    measure = {"exponential": dp.max_divergence, "gumbel": dp.zero_concentrated_divergence}[request["noise"]]
    measurement = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True), measure(), scale=1.0
    )
    return lambda: measurement(scores)


def median(request):
    """Median of rows, with every grid point as a candidate. At scale 1 it costs epsilon 1."""
    rows = numpy.fromfile(request["file"], dtype=numpy.int32).astype(numpy.int64)
    measurement = dp.m.make_private_quantile(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.symmetric_distance(),
        dp.max_divergence(),
        candidates=list(range(request["gridPoints"])),
        alpha=0.5,
        scale=1.0,
    )
    if measurement.map(1) != 1.0:
        raise ValueError("the median has another price than the one it is compared with")
    return lambda: measurement(rows)


prepared = {}


def answer(line):
    request = json.loads(line)
    key, invocations = request["key"], request["invocations"]
    if key not in prepared:
        prepared[key] = {"noise": noise, "noisy-max": noisy_max, "median": median}[request["kind"]](request)
    invoke = prepared[key]
    start = perf_counter_ns()
    for _ in range(invocations):
        invoke()
    return {"nanoseconds": (perf_counter_ns() - start) / max(1, invocations)}


versions = {"opendp": version("opendp"), "numpy": numpy.__version__, "python": sys.version.split()[0]}
print(json.dumps(versions), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(line)), flush=True)
