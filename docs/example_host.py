"""A host in plain Python that knows ELEMENT_WISE_BIT_OR: `dmlcts run --backend "process:/path/to/python docs/example_host.py"`.

docs/process-protocol.md describes the frames. Read main() first, then run().
"""

import json
import struct
import sys

MAGIC = b"DMLCTS\x01\n"
PREFIX = struct.Struct("<8sIQ")  # magic, bytes of the header, bytes of the payload: little endian, nothing in between
BIT_OR = 122  # DML_OPERATOR_ELEMENT_WISE_BIT_OR
CODES = dict(zip(range(1, 12), "IHIHBIHBQQQ", strict=True))  # by DML_TENSOR_DATA_TYPE: an unsigned integer as wide as an element
DESCRIPTION = {
    "status": "ok", "name": "example host", "version": "1.0", "device": "Python", "feature_level": "4_1", "operators": ["ELEMENT_WISE_BIT_OR"],
}  # fmt: skip


class Rejected(Exception):
    """Refuses the desc (stage create) or the bindings (stage bind), as DirectML does with E_INVALIDARG."""


def need(condition, stage, message):
    """Refuses unless the condition holds."""
    if not condition:
        raise Rejected({"status": "rejected", "stage": stage, "code": "0x80070057", "message": message})


def read_frame(stream):
    """The next frame's header and payload; None where the stream ends, which also means close."""
    prefix = stream.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    magic, header_length, payload_length = PREFIX.unpack(prefix)
    if magic != MAGIC:
        sys.exit(f"a frame begins with {magic.hex(' ')} and not with {MAGIC.hex(' ')}")
    header, payload = json.loads(stream.read(header_length)), bytearray(payload_length)
    stream.readinto(payload)
    return header, memoryview(payload)


def write_frame(stream, header, *payload):
    """A frame whose payload is the given pieces, one after the other."""
    text = json.dumps(header).encode()
    stream.write(PREFIX.pack(MAGIC, len(text), sum(map(len, payload))) + text)
    for piece in payload:
        stream.write(piece)
    stream.flush()


def places(sizes, strides):
    """Where each element is, counted in elements, in row-major order of the indices; no strides mean packed ones."""
    found, step = [0], 1
    for size, stride in list(zip(sizes, strides or sizes, strict=True))[::-1]:
        stride = step if strides is None else stride
        found = [index * stride + place for index in range(size) for place in found]
        step *= size
    return found


def elements(field, request, resources):
    """A tensor's elements as unsigned integers (a view of its resource: what is written there is written), and their places."""
    name, desc = field["name"], field["value"]
    need(desc is not None, "create", f"{name} is required")
    sizes, strides, total, code = desc["sizes"], desc["strides"], desc["total_size"], CODES.get(desc["data_type"])
    need(code, "create", f"{name}: data type {desc['data_type']}")
    need(1 <= len(sizes) <= 8 and all(sizes), "create", f"{name}: sizes {sizes}")
    need(strides is None or len(strides) == len(sizes), "create", f"{name}: strides {strides}")
    need(desc["flags"] == 0 or (desc["flags"] == 1 and field["kind"] == "input"), "create", f"{name}: flags {desc['flags']}")
    where, width, alignment = places(sizes, strides), struct.calcsize(code), desc["alignment"]
    need(alignment == 0 or (alignment >= width and alignment.bit_count() == 1), "create", f"{name}: alignment {alignment}")
    need(field["kind"] == "input" or len(set(where)) == len(where), "create", f"{name}: strides {strides} overlap")
    need(total % 4 == 0 and total >= (max(where) + 1) * width, "create", f"{name}: total size {total}")

    binding = next((binding for binding in request["bindings"] if binding["tensor"] == name), None)
    need(binding, "bind", f"{name} is not bound")
    start, end = binding["offset"], binding["offset"] + binding["size"]
    resource = resources[binding["resource"]]
    need(total <= binding["size"] and end <= len(resource) and start % 16 == 0, "bind", f"{name}: bytes {start} to {end}")
    return resource[start : end - (end - start) % width].cast(code), where


def run(request, payload):
    """Executes; returns the answer's header and the resources that go back."""
    resources = []  # the payload is the resources, one after the other
    for entry in request["resources"]:
        resources.append(payload[: entry["size"]])
        payload = payload[entry["size"] :]
    (a, at_a), (b, at_b), (output, at_output) = (elements(field, request, resources) for field in request["fields"])
    for key in ("data_type", "sizes"):
        first, *others = (field["value"][key] for field in request["fields"])
        need(all(first == other for other in others), "create", f"the tensors' {key} differ")
    for i, j, k in zip(at_a, at_b, at_output, strict=True):
        output[k] = a[i] | b[j]
    returned = sorted({b["resource"] for b in request["bindings"] if b["tensor"] in request["outputs"]})
    paths = [{"label": "bit or", "numbers": [len(at_output)]}]  # optional: which code path ran, and a few numbers
    answer = {"status": "ok", "id": request["id"], "resources": returned, "paths": paths}
    return answer, *(resources[index] for index in returned)


def main():
    """Answers requests until there are no more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # so that no print() can get between the frames
    while (frame := read_frame(requests)) and frame[0]["request"] != "close":
        request, payload = frame
        if request["request"] == "describe":
            write_frame(answers, DESCRIPTION)
        elif request["operator_type"] != BIT_OR:
            write_frame(answers, {"status": "unsupported", "id": request["id"], "message": "BIT_OR is all that this host knows"})
        else:
            try:
                write_frame(answers, *run(request, payload))
            except Rejected as rejected:
                write_frame(answers, {**rejected.args[0], "id": request["id"]})


if __name__ == "__main__":
    main()
