"""The reference on a GPU: ``python benchmarks/gpu.py [--seconds N] [--only SECTION]... [--out FILE]``.

Needs CuPy and a GPU. Sections, the most important first; each line of FILE is a result as JSON, written as it comes, and printed in words:

- ``core``: level core of all operators with ``dmlcts run --backend reference:cuda``, judged as any implementation: the statuses, and each case that does not pass.
- ``same``: 2^20 random inputs of each element-wise operator with one input, on CuPy and on NumPy: the largest difference of the two float64 values, in
  ULP of the output's type. Another libm may differ in the last bits of float64, and in nothing else.
- ``times``: products, convolutions, attention and reductions of the size of networks, on CuPy and on NumPy: seconds of both, and their ratio.
- ``float32``: every one of the 2^32 FLOAT32 values as the input of each operator with one input, computed in FLOAT32 by the formula of its page with CuPy's
  own functions, against the reference: the largest error in ULP and where it is, beside what the operator's spec allows. It shows what a GPU's own
  functions need, and that the reference holds for each input.
- ``float16``: every one of the 2^32 pairs of FLOAT16 values as the inputs of each operator with two, in the same way, computed in FLOAT32 and rounded.

Sections that the time does not reach are named at the end. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, operator_names

DMLCTS = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CHUNK = 1 << 26
"""So many inputs at once: half a gigabyte as float64."""

Formula = Callable[[Any, Any, OperatorDesc], Any]


def _named(name: str) -> Formula:
    return lambda xp, x, _: getattr(xp, name)(x)


UNARY: dict[str, Formula] = {
    **{f"ELEMENT_WISE_{name}": _named(name.lower()) for name in ("ABS", "SIN", "COS", "TAN", "SINH", "COSH", "TANH", "EXP", "LOG", "SQRT", "CEIL", "FLOOR")},
    **{f"ELEMENT_WISE_A{name}": _named(f"arc{name.lower()}") for name in ("SIN", "COS", "TAN", "SINH", "COSH", "TANH")},
    "ELEMENT_WISE_IDENTITY": lambda _, x, __: x,
    "ELEMENT_WISE_RECIP": _named("reciprocal"),
    "ELEMENT_WISE_NEGATE": _named("negative"),
    "ELEMENT_WISE_SIGN": _named("sign"),
    "ELEMENT_WISE_ROUND": _named("rint"),
    "ELEMENT_WISE_CLIP": lambda xp, x, of: xp.clip(x, of.number("Min"), of.number("Max")),
    "ELEMENT_WISE_THRESHOLD": lambda xp, x, of: xp.maximum(x, of.number("Min")),
    "ELEMENT_WISE_CONSTANT_POW": lambda xp, x, of: xp.power(x, of.number("Exponent")),
    "ACTIVATION_IDENTITY": lambda _, x, __: x,
    "ACTIVATION_TANH": _named("tanh"),
    "ACTIVATION_RELU": lambda xp, x, _: xp.maximum(x, 0),
    "ACTIVATION_SIGMOID": lambda xp, x, _: 1 / (1 + xp.exp(-x)),
    "ACTIVATION_SOFTPLUS": lambda xp, x, of: xp.logaddexp(x * of.number("Steepness"), xp.zeros_like(x)) / of.number("Steepness"),
    "ACTIVATION_SOFTSIGN": lambda xp, x, _: x / (1 + xp.abs(x)),
    "ACTIVATION_LINEAR": lambda _, x, of: x * of.number("Alpha") + of.number("Beta"),
    "ACTIVATION_SCALED_TANH": lambda xp, x, of: of.number("Alpha") * xp.tanh(x * of.number("Beta")),
    "ACTIVATION_PARAMETRIC_SOFTPLUS": lambda xp, x, of: of.number("Alpha") * xp.logaddexp(x * of.number("Beta"), xp.zeros_like(x)),
    "ACTIVATION_LEAKY_RELU": lambda xp, x, of: xp.where(x < 0, x * of.number("Alpha"), x),
    "ACTIVATION_THRESHOLDED_RELU": lambda xp, x, of: xp.where(x > of.number("Alpha"), x, 0 * x),
    "ACTIVATION_ELU": lambda xp, x, of: xp.where(x < 0, of.number("Alpha") * xp.expm1(x), x),
    "ACTIVATION_CELU": lambda xp, x, of: xp.where(x < 0, of.number("Alpha") * xp.expm1(x / of.number("Alpha")), x),
    "ACTIVATION_SCALED_ELU": lambda xp, x, of: of.number("Gamma") * xp.where(x < 0, of.number("Alpha") * xp.expm1(x), x),
    "ACTIVATION_SWISH": lambda xp, x, of: x / (1 + xp.exp(-x * of.number("SigmoidInputScale"))),
    "ACTIVATION_HARD_SIGMOID": lambda xp, x, of: xp.clip(x * of.number("Alpha") + of.number("Beta"), 0, 1),
    "ACTIVATION_HARD_SWISH": lambda xp, x, of: x * xp.clip(x * of.number("Alpha") + of.number("Beta"), 0, 1),
}  # fmt: skip
"""The formula of an operator's page in CuPy's own functions: of the namespace, the input and the desc, which has the attributes."""

BINARY: dict[str, str] = {
    f"ELEMENT_WISE_{name}": function
    for name, function in {
        "ADD": "add", "SUBTRACT": "subtract", "MULTIPLY": "multiply", "DIVIDE": "divide", "MAX": "fmax", "MIN": "fmin", "POW": "power",
        "ATAN_YX": "arctan2", "MODULUS_TRUNCATE": "fmod", "MODULUS_FLOOR": "remainder",
    }.items()
}  # fmt: skip
"""CuPy's own function of an operator with two inputs."""

_OF_ROWS = tuple(f"ACTIVATION_{name}{version}" for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX") for version in ("", "1"))
"""Each output element depends on its whole row."""

SIZES = {
    "product 4096 x 4096 x 4096": ("GEMM", {"ATensor": (1, 1, 4096, 4096), "BTensor": (1, 1, 4096, 4096), "OutputTensor": (1, 1, 4096, 4096)}),
    "convolution 64 to 64 channels, 3 x 3, 56 x 56": ("CONVOLUTION", {"InputTensor": (1, 64, 56, 56), "FilterTensor": (64, 64, 3, 3), "OutputTensor": (1, 64, 54, 54)}),
    "attention of 8 heads, 1,024 x 512": ("MULTIHEAD_ATTENTION", {f"{name}Tensor": (1, 1, 1024, 512) for name in ("Query", "Key", "Value", "Output")}),
    "sum of 2^28": ("REDUCE", {"InputTensor": (1, 1, 1, 1 << 28), "OutputTensor": (1, 1, 1, 1)}),
    "softmax of 4,096 rows of 4,096": ("ACTIVATION_SOFTMAX", {"InputTensor": (1, 1, 4096, 4096), "OutputTensor": (1, 1, 4096, 4096)}),
}  # fmt: skip

Result = dict[str, Any]


def main() -> None:
    """Runs the sections in order, each as long as time allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=480, help="begin nothing after so many")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="a section; all by default")
    parser.add_argument("--out", type=Path, default=Path("gpu.jsonl"))
    parser.add_argument("--processes", type=int, default=4, help="of the section core")
    options = parser.parse_args()
    import cupy

    print(f"CuPy {cupy.__version__} on {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}", flush=True)
    ends, left = perf_counter() + options.seconds, []
    with options.out.open("a", encoding="utf-8") as file:
        for section in options.only or SECTIONS:
            begun = perf_counter()
            try:
                for result in SECTIONS[section](cupy, options.processes):
                    file.write(json.dumps({"section": section, **result}) + "\n")
                    file.flush()
                    print(f"{section}: {json.dumps(result)}", flush=True)
                    if perf_counter() > ends:
                        left.append(f"the rest of {section}")
                        break
            except Exception as error:  # one section's failure leaves the others their time
                print(f"{section}: {type(error).__name__}: {error}", flush=True)
                file.write(json.dumps({"section": section, "error": f"{type(error).__name__}: {error}"}) + "\n")
            print(f"{section}: {perf_counter() - begun:.1f} s", flush=True)
    if left:
        print(f"not reached: {', '.join(left)}")


# Level core


def core(xp: Any, processes: int) -> Iterator[Result]:
    """The statuses of level core, and the cases that do not pass."""
    with tempfile.TemporaryDirectory() as folder:
        command = (
            "run",
            "--backend",
            "reference:cuda",
            "--level",
            "core",
            "--basis",
            "measured",
            "-n",
            str(processes),
            "-q",
            "--out",
            folder,
        )
        begun = perf_counter()
        ended = subprocess.run([*DMLCTS, *command], capture_output=True, text=True, encoding="utf-8", check=False)
        record = Path(folder) / "results.jsonl"
        counts: dict[str, int] = {}
        wrong = []
        for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
            entry = json.loads(line).get("result")
            if entry is not None:
                counts[entry["status"]] = counts.get(entry["status"], 0) + 1
                if entry["status"] in ("fail", "error"):
                    wrong.append({"case": entry["case"], "message": entry.get("message", "")[:300]})
        yield {"exit": ended.returncode, "seconds": round(perf_counter() - begun, 1), **counts, "errors": ended.stderr[-1000:]}
        yield from wrong[:200]


# Element by element


def unary() -> Iterator[tuple[Operator, OperatorDesc]]:
    """The operators with one FLOAT32 input and one output of its sizes, with their default attributes, for tensors of CHUNK elements."""
    from dmlcts.generator.plan.plan import plan_of

    for name in operator_names():
        operator = load(name)
        tensors = [field.name for field in operator.fields if field.is_tensor and not field.optional]
        if (
            name not in _OF_ROWS
            and tensors == ["InputTensor", "OutputTensor"]
            and name.startswith(("ELEMENT_WISE_", "ACTIVATION_"))
            and plan_of(operator).uniform
        ):
            choice = next((choice for choice in plan_of(operator).choices if choice.main == "FLOAT32"), None)
            if choice is not None:
                yield operator, choice.desc((1, 1, 1, 2), choice.attributes[0])


def sized(desc: OperatorDesc, count: int) -> OperatorDesc:
    """The desc with tensors of so many elements in a row."""
    return desc.with_tensors({name: TensorDesc(tensor.data_type, (1, 1, 1, count)) for name, tensor in desc.tensors()})


def same(xp: Any, processes: int) -> Iterator[Result]:
    """The largest difference between the reference on CuPy and on NumPy."""
    bits = np.random.default_rng(1).integers(0, 1 << 32, 1 << 20, np.uint32)
    x = bits.view(np.float32).reshape(1, 1, 1, -1)
    for operator, desc in unary():
        one = sized(desc, x.size)
        with np.errstate(all="ignore"):
            ours = np.asarray(compute(one, {"InputTensor": x})["OutputTensor"].value, np.float64)
            theirs = np.asarray(host(compute(one, {"InputTensor": xp.asarray(x)})["OutputTensor"].value), np.float64)
            both = np.isfinite(ours.astype(np.float32)) & np.isfinite(theirs.astype(np.float32))
            apart = np.where(both, abs(ours - theirs) / np.spacing(np.abs(ours).astype(np.float32)), 0)
        other = int((~both & ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))).sum())
        yield {
            "operator": operator.name,
            "most_ulp": float(apart.max()),
            "at": hex(int(bits[int(apart.argmax())])),
            "other_specials": other,
        }


def float32(xp: Any, processes: int) -> Iterator[Result]:
    """The largest error of each operator with one input over all FLOAT32 values, as CuPy's own functions compute it."""
    for operator, desc in unary():
        if operator.name in UNARY:
            yield largest_error(xp, operator, sized(desc, CHUNK), partial(every_value, xp), UNARY[operator.name])


def float16(xp: Any, processes: int) -> Iterator[Result]:
    """The largest error of each operator with two inputs over all pairs of FLOAT16 values, as CuPy's own functions compute it."""
    for operator, desc in binary():
        yield largest_error(xp, operator, sized(desc, CHUNK), partial(every_pair, xp), _of_two(BINARY[operator.name]))


def binary() -> Iterator[tuple[Operator, OperatorDesc]]:
    """The operators of ``BINARY`` in FLOAT16."""
    from dmlcts.generator.plan.plan import plan_of

    for name in BINARY:
        plan = plan_of(load(name))
        descs = (choice.desc((1, 1, 1, 2), choice.attributes[0]) for choice in plan.choices)
        yield plan.operator, next(desc for desc in descs if all(tensor.data_type == "FLOAT16" for _, tensor in desc.tensors()))


def every_value(xp: Any, start: int, count: int) -> tuple[Any, ...]:
    """The FLOAT32 values whose bits are ``start`` and the following."""
    return ((xp.arange(count, dtype=xp.uint32) + xp.uint32(start)).view(xp.float32).reshape(1, 1, 1, -1),)


def every_pair(xp: Any, start: int, count: int) -> tuple[Any, ...]:
    """The pairs of FLOAT16 values whose bits, one above the other, are ``start`` and the following."""
    bits = xp.arange(count, dtype=xp.uint32) + xp.uint32(start)
    halves = (bits >> xp.uint32(16)).astype(xp.uint16), (bits & xp.uint32(0xFFFF)).astype(xp.uint16)
    return tuple(half.view(xp.float16).reshape(1, 1, 1, -1) for half in halves)


def _of_two(name: str) -> Callable[..., Any]:
    return lambda xp, one, other, _: getattr(xp, name)(one.astype(xp.float32), other.astype(xp.float32)).astype(xp.float16)


def largest_error(
    xp: Any,
    operator: Operator,
    desc: OperatorDesc,
    inputs: Callable[[int, int], tuple[Any, ...]],
    formula: Callable[..., Any],
    most: int = 1 << 32,
) -> Result:
    """The largest error of a formula in ULP of the output's type, and the bits of the inputs where it is; where only one of both is finite is counted."""
    begun, worst, where, differ = perf_counter(), 0.0, 0, 0
    output = desc.tensor("OutputTensor")
    dtype = numpy_dtype(output.data_type)
    least, digits = (int(xp.finfo(dtype).minexp), int(xp.finfo(dtype).nmant) + 1)
    names = [name for name, _ in desc.tensors() if name != "OutputTensor"]
    for start in range(0, most, output.count):
        given = inputs(start, output.count)
        value = compute(desc, dict(zip(names, given, strict=True)))["OutputTensor"].value.astype(xp.float64)
        found = formula(xp, *given, desc)
        rounded = value.astype(dtype)
        finite = xp.isfinite(rounded) & xp.isfinite(found)
        differ += int(((~finite) & ~((rounded == found) | (xp.isnan(rounded) & xp.isnan(found)))).sum())
        _, exponent = xp.frexp(xp.abs(rounded).astype(xp.float64))
        step = xp.ldexp(xp.ones_like(value), xp.maximum(exponent, least + 1) - digits)
        error = xp.where(finite, xp.abs(found.astype(xp.float64) - value) / step, 0.0)
        at = int(error.argmax())
        if float(error.reshape(-1)[at]) > worst:
            worst, where = float(error.reshape(-1)[at]), start + at
    return {
        "operator": operator.name,
        "most_ulp": worst,
        "at": f"0x{where:08x}",
        "other_specials": differ,
        "allowed": f"{operator.tolerance.judge} {json.dumps(dict(operator.tolerance.parameters), default=dict)}",
        "seconds": round(perf_counter() - begun, 2),
    }


# Times


def times(xp: Any, processes: int) -> Iterator[Result]:
    """Seconds on the GPU and on the host. The first run on the GPU, which compiles kernels, does not count."""
    from dmlcts.generator.plan.plan import plan_of

    random = np.random.default_rng(1)
    for label, (name, sizes) in SIZES.items():
        plan = plan_of(load(name))
        choice = next(choice for choice in plan.choices if choice.main == "FLOAT32")
        usual = choice.desc((2,) * choice.usual_count, plan.usual)
        fields = {tensor: TensorDesc("FLOAT32", of) for tensor, of in sizes.items()}
        absent = {field.name: None for field in plan.operator.fields if field.is_tensor and field.name not in sizes}
        desc = usual.with_fields(**{**fields, **absent, **_attributes(name)})
        arrays = {tensor: random.random(of, np.float32) for tensor, of in sizes.items() if tensor != "OutputTensor"}
        on_gpu = {tensor: xp.asarray(array) for tensor, array in arrays.items()}
        gpu = partial(_ended, xp, desc, on_gpu)
        gpu()
        found = {"gpu": _seconds(gpu), "host": _seconds(partial(compute, desc, arrays))}
        yield {
            "what": label,
            **{where: round(seconds, 4) for where, seconds in found.items()},
            "ratio": round(found["host"] / found["gpu"], 1),
        }


def _attributes(name: str) -> dict[str, object]:
    """Attributes that the sizes need."""
    if name == "CONVOLUTION":
        ones, zeros = (1, 1), (0, 0)
        return {
            "Strides": ones,
            "Dilations": ones,
            "StartPadding": zeros,
            "EndPadding": zeros,
            "OutputPadding": zeros,
            "GroupCount": 1,
            "Direction": "FORWARD",
        }
    heads = {"HeadCount": 8, "Scale": 0.125, "MaskType": "NONE"}
    return {"REDUCE": {"Axes": (0, 1, 2, 3), "Function": "SUM", "AxisCount": 4}, "MULTIHEAD_ATTENTION": heads}.get(name, {})


def _ended(xp: Any, desc: OperatorDesc, arrays: dict[str, Any]) -> None:
    compute(desc, arrays)
    xp.cuda.Device().synchronize()


def _seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


SECTIONS: dict[str, Callable[[Any, int], Iterator[Result]]] = {
    "core": core,
    "same": same,
    "times": times,
    "float32": float32,
    "float16": float16,
}

if __name__ == "__main__":
    main()
