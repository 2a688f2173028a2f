"""A host that answers every request well but the second: `python misbehaving.py NAME` does then what the function NAME does.

Its good answer to a run is its process id, as four bytes in every resource that an output is bound to, so that a test sees a restart.
Plain Python, without this package: it starts in a few milliseconds.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

MAGIC = b"DMLCTS\x01\n"
PREFIX = struct.Struct("<8sIQ")
REQUESTS, ANSWERS, ERRORS = sys.stdin.buffer, sys.stdout.buffer, sys.stderr.buffer
DESCRIPTION = {"status": "ok", "name": "misbehaving", "version": "0.1", "denormals": "preserve", "details": {"pid": os.getpid()}}


def read_header():
    prefix = REQUESTS.read(PREFIX.size)
    if not prefix:
        sys.exit(0)
    _, header_length, payload_length = PREFIX.unpack(prefix)
    return json.loads(REQUESTS.read(header_length)), payload_length


def send(data):
    ANSWERS.write(data)
    ANSWERS.flush()


def framed(header, payload=b"", header_length=None, payload_length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    lengths = len(text) if header_length is None else header_length, len(payload) if payload_length is None else payload_length
    return PREFIX.pack(MAGIC, *lengths) + text + payload


def good(request, **changes):
    bound = {binding["tensor"]: binding["resource"] for binding in request["bindings"]}
    indices = sorted({bound[name] for name in request["outputs"]})
    header = {"status": "ok", "id": request["id"], "resources": indices, **changes}
    payload = b"".join(
        (struct.pack("<I", os.getpid()) * request["resources"][i]["size"])[: request["resources"][i]["size"]] for i in indices
    )
    return header, payload


def wait_for_the_end():
    time.sleep(60)  # long past every limit; not for ever, in case that nobody ends it
    sys.exit("nobody ended it")


MISBEHAVIOURS = {}


def misbehaviour(function):
    """Of the second request; its payload was read."""
    MISBEHAVIOURS[function.__name__] = function
    return function


def unread(function):
    """As ``misbehaviour``, but the payload is for the function to read."""
    function.unread = True
    return misbehaviour(function)


# Ends


@misbehaviour
def exits(request):
    print("out of memory: 12 GB", file=sys.stderr)
    sys.exit(41)


@misbehaviour
def is_ended_by_a_signal(request):
    os.kill(os.getpid(), signal.SIGKILL)


@misbehaviour
def hangs(request):
    print("waiting for the device", file=sys.stderr, flush=True)
    wait_for_the_end()


@misbehaviour
def hangs_inside_a_frame(request):
    send(MAGIC + b"\x05")
    wait_for_the_end()


@misbehaviour
def closes_its_output(request):
    os.close(1)
    wait_for_the_end()


@misbehaviour
def leaves_a_child_with_its_pipes(request):
    # The child outlives the host, holds all three pipes and ends when the suite lets go of standard input.
    subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.buffer.read()"])
    os._exit(7)


@misbehaviour
def answers_and_exits(request):
    send(framed(*good(request)))
    os._exit(9)


# Frames


@misbehaviour
def prints(request):
    print("bit or: 12 elements", flush=True)
    send(framed(*good(request)))


@misbehaviour
def prints_two_letters_and_waits(request):
    send(b"ok")
    wait_for_the_end()


@misbehaviour
def prints_after_its_answer(request):
    send(framed(*good(request)) + b"done\n")


@misbehaviour
def garbles(request):
    send(bytes(range(255, 127, -1)) * 100)


@misbehaviour
def speaks_version_2(request):
    send(framed(*good(request)).replace(MAGIC, b"DMLCTS\x02\n"))


@misbehaviour
def claims_a_payload_of_2_to_the_60(request):
    send(framed(good(request)[0], b"", payload_length=1 << 60))
    wait_for_the_end()


@misbehaviour
def claims_a_header_of_4_gb(request):
    send(framed(b"{}", b"", header_length=(1 << 32) - 1))
    wait_for_the_end()


@misbehaviour
def sends_4_bytes_too_few(request):
    header, payload = good(request)
    send(framed(header, payload[4:]))


@misbehaviour
def sends_4_bytes_too_many(request):
    header, payload = good(request)
    send(framed(header, payload + b"more"))


@misbehaviour
def cuts_off_its_prefix(request):
    send(framed(*good(request))[:13])
    os._exit(0)


@misbehaviour
def cuts_off_its_header(request):
    send(framed(good(request)[0])[:40])
    os._exit(0)


@misbehaviour
def cuts_off_its_payload(request):
    send(framed(*good(request))[:-3])
    os._exit(0)


@unread
def answers_before_it_has_read(request):
    send(framed(*good(request)))
    wait_for_the_end()


@unread
def prints_much_before_it_reads(request):
    send(b"progress\n" * 400_000)
    wait_for_the_end()


# Headers


@misbehaviour
def answers_no_json(request):
    send(framed(b"{'status': 'ok'}"))


@misbehaviour
def answers_no_utf_8(request):
    send(framed(b'{"status": "\xff\xfe"}'))


@misbehaviour
def answers_nan(request):
    send(framed(b'{"status": "ok", "id": NaN}'))


@misbehaviour
def answers_an_array(request):
    send(framed(b'["ok"]'))


@misbehaviour
def answers_deep_nesting(request):
    send(framed(b"[" * 200_000))


def _answer(name, payload=True, **changes):
    """A misbehaviour that is a good answer with other fields (None: without the field)."""

    def answer(request):
        header, data = good(request, **changes)
        send(framed({key: value for key, value in header.items() if value is not None}, data if payload else b""))

    answer.__name__ = name
    misbehaviour(answer)


_answer("answers_with_the_wrong_id", id=1)
_answer("answers_without_an_id", id=None)
_answer("answers_with_an_id_in_words", id="two")
_answer("answers_without_a_status", status=None)
_answer("answers_with_an_unknown_status", payload=False, status="fine", message="all well")
_answer("answers_without_resources", resources=None)
_answer("returns_no_resource", payload=False, resources=[])
_answer("returns_another_resource", resources=[0])
_answer("returns_a_resource_twice", resources=[2, 2])
_answer("returns_a_resource_that_is_not_there", resources=[2, 3])
_answer("returns_a_resource_by_true", resources=[2, True])
_answer("rejects_with_a_payload", status="rejected", stage="create", message="no")
_answer("rejects_without_a_message", payload=False, status="rejected", stage="create")
_answer("rejects_at_an_unknown_stage", payload=False, status="rejected", stage="lunch", message="no")

# What is allowed


_answer("rejects", payload=False, status="rejected", stage="bind", code="0x80070057", message="OutputTensor is too small")
_answer("rejects_without_a_code", payload=False, status="rejected", stage="compile", message="no such kernel")
_answer("does_not_support", payload=False, status="unsupported", message="no 8-bit types")
_answer("reports_an_error", payload=False, status="error", message="device removed", evidence={"reason": "0x887A0005"})


@misbehaviour
def floods_its_stderr(request):
    ERRORS.write(b"warning\n" * 1_000_000 + b"the last line\n")
    ERRORS.flush()
    send(framed(*good(request)))


@unread
def floods_its_stderr_before_it_reads(request):
    ERRORS.write(b"warning\n" * 1_000_000)
    ERRORS.flush()
    REQUESTS.read(sum(resource["size"] for resource in request["resources"]))
    send(framed(*good(request)))


@misbehaviour
def rejects_and_says_why(request):
    ERRORS.write(b"translator: unknown flag \x1b[31m0x800000\n")
    ERRORS.flush()
    send(framed({"status": "rejected", "id": request["id"], "message": "failed", "stage": "compile", "code": "0x80004005"}))


@misbehaviour
def fails_and_says_why(request):
    ERRORS.write(b"driver: lost\n")
    ERRORS.flush()
    send(framed({"status": "error", "id": request["id"], "message": "failed", "evidence": "more"}))


@misbehaviour
def floods_its_stderr_and_exits(request):
    ERRORS.write(b"warning\n" * 1_000_000 + b"\x1b[31mthe last line\x1b[0m\n")
    ERRORS.flush()
    os._exit(3)


@misbehaviour
def sends_slowly(request):
    for byte in framed(*good(request)):
        send(bytes([byte]))


@misbehaviour
def returns_every_resource(request):
    sizes = [resource["size"] for resource in request["resources"]]
    order = [2, 0, 1]
    send(framed(good(request, resources=order)[0], b"".join(bytes([index + 65]) * sizes[index] for index in order)))


# Progress


def reporting(function):
    """As ``misbehaviour``, of a host that says that it reports progress."""
    function.reports = True
    return misbehaviour(function)


def works(request, seconds, **changes):
    for _ in range(int(seconds / 0.1)):
        send(framed({"status": "working", "id": request["id"], "at": "execution\x1b[31m", **changes}))
        time.sleep(0.1)


def computes(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


@misbehaviour
def computes_longer_than_its_limit(request):
    computes(1.0)
    send(framed(*good(request)))


@misbehaviour
def computes_in_a_child(request):
    subprocess.run(
        [sys.executable, "-S", "-c", "import time\nuntil = time.monotonic() + 1.0\nwhile time.monotonic() < until: pass"],
        check=True,
    )
    send(framed(*good(request)))


@misbehaviour
def computes_for_ever(request):
    computes(60)


@misbehaviour
def computes_and_then_hangs(request):
    computes(0.9)
    wait_for_the_end()


@reporting
def computes_and_reports_nothing(request):
    computes(60)


@reporting
def works_longer_than_its_limit(request):
    works(request, 1.0)
    send(framed(*good(request)))


@reporting
def works_for_ever(request):
    works(request, 60)


@reporting
def works_and_then_hangs(request):
    works(request, 0.8)
    wait_for_the_end()


@reporting
def works_at_another_request(request):
    works(request, 0.1, id=request["id"] + 1)
    send(framed(*good(request)))


@reporting
def works_nowhere(request):
    works(request, 0.1, at=None)
    send(framed(*good(request)))


@reporting
def works_with_a_payload(request):
    send(framed({"status": "working", "id": request["id"], "at": "execution"}, b"more"))
    send(framed(*good(request)))


@misbehaviour
def works_unannounced(request):
    works(request, 0.1)
    send(framed(*good(request)))


# What it does when it is asked what it is, instead of the second request

STARTS = {
    "exits_at_once": lambda: sys.exit("no device"),
    "is_silent": wait_for_the_end,
    "greets": lambda: send(b"Welcome to the host\n"),
    "has_no_name": lambda: send(framed({"status": "ok", "version": "1"})),
    "has_an_unknown_field": lambda: send(framed({**DESCRIPTION, "denormal": "flush"})),
    "has_an_unknown_level": lambda: send(framed({**DESCRIPTION, "feature_level": "9_9"})),
    "describes_with_a_payload": lambda: send(framed(DESCRIPTION, b"more")),
    "reports_no_device": lambda: send(framed({"status": "error", "message": "no device of that name"})),
}


def main(name):
    if getattr(MISBEHAVIOURS.get(name), "reports", False):
        DESCRIPTION["progress"] = True
    if name == "starts_once":
        marker, name = Path(sys.argv[2]), "exits"
        if marker.exists():
            sys.exit("the licence has run out")
        marker.touch()
    while True:
        request, payload_length = read_header()
        if request["request"] == "describe":
            STARTS.get(name, lambda: send(framed(DESCRIPTION)))()
        elif request["request"] == "close":
            if name == "ignores_close":
                wait_for_the_end()
            return
        else:
            misbehave = MISBEHAVIOURS.get(name) if request["id"] == 2 else None
            if not getattr(misbehave, "unread", False):
                REQUESTS.read(payload_length)
            if misbehave:
                misbehave(request)
            else:
                send(framed(*good(request)))


if __name__ == "__main__":
    main(sys.argv[1])
