"""OpenDP's side of the comparison: answers each line, a JSON request, with a line, the nanoseconds of an invocation.

Only the invocation is timed: input is made, and measurements are constructed, before. It is given numpy arrays, which it
takes in about 20 ns an entry; from lists it would take far longer. What it returns it turns into Python's own numbers.
"""

import json
import sys
from importlib.metadata import version
from time import perf_counter_ns

import numpy
import opendp.prelude as dp

dp.enable_features("contrib")


def noise(request):
    """Noise on every entry of a vector; `k`, where it is given, is the granularity 2^k of noise on real numbers."""
    entries = request["entries"]
    counts = numpy.arange(entries) % 1000
    if request["type"] == "integer":
        values, atom, size = counts.astype(numpy.int64), dp.atom_domain(T="i64"), None
    else:
        # A granularity of one's own asks for a public length of the vector.
        values, atom, size = counts.astype(numpy.float64), dp.atom_domain(T="f64", nan=False), entries
    make, distance = {
        "laplace": (dp.m.make_laplace, dp.l1_distance),
        "gaussian": (dp.m.make_gaussian, dp.l2_distance),
    }[request["law"]]
    metric = distance(T="i64" if request["type"] == "integer" else "f64")
    measurement = make(dp.vector_domain(atom, size=size), metric, scale=float(request["scale"]), k=request.get("k"))
    return lambda: measurement(values)


def noisy_max(request):
    """The best of counts of which one person raises any number by one; at scale 1 each choice costs an epsilon of 1."""
    scores = numpy.array(request["scores"], dtype=numpy.int64)
    measure = {"exponential": dp.max_divergence, "gumbel": dp.zero_concentrated_divergence}[request["noise"]]
    measurement = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True), measure(), scale=1.0
    )
    return lambda: measurement(scores)


def median(request):
    """The median of rows, every grid point a candidate; at scale 1 it costs an epsilon of 1."""
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
