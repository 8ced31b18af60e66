"""Two parties on this machine, with the backend that the arguments name in turn."""

import sys

import cenote as cn


@cn.program
def product(a: cn.A[cn.UInt[8]], b: cn.B[cn.UInt[8]]) -> cn.Both[cn.UInt[16]]:
    """The product."""
    return cn.UInt[16](a) * cn.UInt[16](b)


for backend in sys.argv[1:]:
    run = product.run_local(a=200, b=100, backend=backend)
    if run.value != 20_000 or run.reports["garbler"]["adversary"] != "none":
        sys.exit(f"{backend}: {run.value}, {run.reports}")
try:
    product.run_local(a=1, b=2, backend="toy:delay=0")
except cn.Error as error:
    if "delay" not in str(error):
        raise
else:
    sys.exit("a delay of 0 is taken")
