"""A host that performs sequences of calls, in plain Python: example_host.py, speaking version 2 of the protocol.

docs/process-protocol.md describes requests and replies. Read main() first, then Sequence. What a call is to do stands in docs/sequences.md. This host
has no threads and one device, and answers `unsupported` to calls about others.
"""

import sys

from example_host import BIT_OR, DESCRIPTION, Rejected, elements, need, read_frame, run, write_frame

ALIGNMENT = 256  # of owned inputs in persistent memory
OWNED, VOLATILE = 1, 4  # DML_TENSOR_FLAG_OWNED_BY_DML, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE


def owned_places(desc):
    """Where the inputs that the operator keeps lie in its persistent memory: offset and size by name. The entry "" is the whole."""
    found, at = {}, 0
    for field in desc["fields"]:
        if field["value"]["flags"] & OWNED:
            found[field["name"]] = at, field["value"]["total_size"]
            at += -(-field["value"]["total_size"] // ALIGNMENT) * ALIGNMENT
    return {**found, "": (0, at)}


class Sequence:
    """The objects of one request, by number, with a method for each call. Object 0 is the device."""

    def __init__(self, payload):
        self.payload, self.objects, self.read_bytes, self.stopped = payload, {0: {}}, [], ""

    def reply(self, call):
        """The reply to a call; after one that is unsupported, all are: what they need may not have been made."""
        method = getattr(self, "_" + call["call"].replace("-", "_"), None)
        if method is None or call.get("thread") or call.get("device"):
            self.stopped = self.stopped or f"this host does not perform {call['call']}"
        if self.stopped:
            return {"unsupported": self.stopped}
        try:
            return method(call) or {}
        except Rejected as rejected:
            return {"code": rejected.args[0]["code"], "message": rejected.args[0]["message"]}
        except KeyError as missing:
            self.stopped = f"object {missing} was not made"
            return {"unsupported": self.stopped}

    def size(self, value):
        """Bytes: a number, or what only an implementation knows. This one needs persistent memory for owned inputs, and no temporary."""
        if isinstance(value, int):
            return value
        desc = self.objects[value["of"]].get("desc")
        known = owned_places(desc)[""][1] if desc and value["size"] == "persistent" else 0
        return known + value.get("around", 0) if known else 0

    def range(self, slot):
        """What a slot is bound to, as resource, offset and size; None for nothing."""
        if slot is None:
            return None
        resource, offset = self.objects[slot["resource"]], slot.get("offset", 0)
        size = self.size(slot["size"]) if "size" in slot else len(resource) - offset
        return (resource, offset, size) if size else None

    # Operators

    def _create_operator(self, call):
        need(call["desc"]["operator_type"] == BIT_OR, "create", "BIT_OR is all that this host knows")
        self.objects[call["makes"]] = call["desc"]

    def _compile(self, call):
        self.objects[call["makes"]] = {"desc": self.objects[call["operator"]], "volatile": call.get("flags", 0) & VOLATILE}

    def _create_initializer(self, call):
        self.objects[call["makes"]] = {"over": [self.objects[number] for number in call["over"]]}

    def _reset_initializer(self, call):
        self.objects[call["initializer"]]["over"] = [self.objects[number] for number in call["over"]]

    def _get_properties(self, call):
        sizes = {name: self.size({"of": call["of"], "size": name}) for name in ("temporary", "persistent")}
        return {"value": {"descriptors": 3 if "desc" in self.objects[call["of"]] else 0, **sizes}}

    # Binding tables: what is bound, by the name of the call

    def _create_table(self, call):
        self.objects[call["makes"]] = {}

    def _reset_table(self, call):
        self.objects[call["table"]].clear()

    def _bind(self, call):
        self.objects[call["table"]][call["call"]] = call["to"]

    _bind_inputs = _bind_outputs = _bind_temporary = _bind_persistent = _bind

    # Memory

    def _create_resource(self, call):
        self.objects[call["makes"]] = memoryview(bytearray([call.get("fill", 0xA5)]) * self.size(call["size"]))

    def _write(self, call):
        size, at = call["data"]["size"], call.get("offset", 0)
        self.objects[call["resource"]][at : at + size] = self.payload[:size]
        self.payload = self.payload[size:]

    def _read(self, call):
        resource, at = self.objects[call["resource"]], call.get("offset", 0)
        self.read_bytes.append(bytes(resource[at : at + call.get("size", len(resource))]))
        return {"size": len(self.read_bytes[-1])}

    # Execution: a list holds what was recorded, with what was bound then; one that is volatile looks at the table when it is executed

    def _create_list(self, call):
        self.objects[call["makes"]] = []

    def _record(self, call):
        what, table = self.objects[call["dispatchable"]], self.objects[call["table"]]
        self.objects[call["list"]].append((what, table if what.get("volatile") else dict(table)))

    def _submit(self, call):
        for number in call["lists"]:
            for what, bound in self.objects[number]:
                self.initialize(what, bound) if "over" in what else self.dispatch(what, bound)

    def _wait(self, call):  # all was done when it was submitted
        pass

    _barrier = _close = _wait

    def initialize(self, initializer, bound):
        """Copies owned inputs into persistent memory."""
        for index, compiled in enumerate(initializer["over"]):
            places = owned_places(compiled["desc"])
            for name, slot in zip(
                ("ATensor", "BTensor"), bound.get("bind-inputs", [None] * (index + 1))[index] or [], strict=False
            ):
                if slot and name in places:
                    (resource, at, _), (target, start, _) = self.range(slot), self.range(bound["bind-outputs"][index])
                    place, size = places[name]
                    target[start + place : start + place + size] = resource[at : at + size]

    def dispatch(self, compiled, bound):
        """Computes what is bound, by what example_host.py has for requests to run."""
        places, resources, bindings = owned_places(compiled["desc"]), [], []
        slots = [*bound["bind-inputs"], *bound["bind-outputs"]]
        for field, slot in zip(compiled["desc"]["fields"], slots, strict=True):
            resource, offset, size = self.range(bound["bind-persistent"] if field["name"] in places else slot)
            if field["name"] in places:
                offset, size = offset + places[field["name"]][0], places[field["name"]][1]
            bindings.append({"tensor": field["name"], "resource": len(resources), "offset": offset, "size": size})
            resources.append(resource)
        (a, at_a), (b, at_b), (output, at_output) = (
            elements(field, {"bindings": bindings}, resources) for field in compiled["desc"]["fields"]
        )
        for i, j, k in zip(at_a, at_b, at_output, strict=True):
            output[k] = a[i] | b[j]


def answer(request, payload):
    """The answer's header, and the pieces of its payload."""
    if request["request"] == "perform":
        sequence = Sequence(payload)
        replies = [sequence.reply(call) for call in request["calls"]]
        return {"status": "ok", "id": request["id"], "replies": replies}, *sequence.read_bytes
    try:
        need(request["operator_type"] == BIT_OR, "create", "BIT_OR is all that this host knows")
        return run(request, payload)
    except Rejected as rejected:
        return ({**rejected.args[0], "id": request["id"]},)


def main():
    """Answers requests until there are no more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while (frame := read_frame(requests)) and frame[0]["request"] != "close":
        if frame[0]["request"] == "describe":
            write_frame(answers, {**DESCRIPTION, "protocol": 2})
        else:
            write_frame(answers, *answer(*frame))


if __name__ == "__main__":
    main()
