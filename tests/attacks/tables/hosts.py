"""Hosts in a process of their own that break the protocol, or keep it in an unusual way: wrong in one bit of one case, whatever else they do.

Each row is Python that runs in place of a plain answer, at the start, at the description or at the end of docs/example_host.py. ``same`` says that the host keeps
the protocol: then the wrong case fails and no other.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from textwrap import indent

from attack import ROOT, Attack, Run
from expect import WRONG, costs_only, exits, never_green, no_claim
from suspects import NAMES

EXAMPLE = (ROOT / "docs" / "example_host.py").read_text(encoding="utf-8").partition('\n\nif __name__ == "__main__":')[0]

LOOP = """\
import os, signal, threading, time

def packed(header, *pieces, magic=MAGIC, header_length=None, payload_length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    lengths = len(text) if header_length is None else header_length, sum(map(len, pieces)) if payload_length is None else payload_length
    return PREFIX.pack(magic, *lengths) + text + b"".join(map(bytes, pieces))

def spoil(request, header, pieces):
    output = request["fields"][2]
    if WRONG and header["status"] == "ok" and output["value"]["data_type"] == 5:
        bound = next(b for b in request["bindings"] if b["tensor"] == output["name"])
        pieces[header["resources"].index(bound["resource"])][bound["offset"]] ^= 1

def main():
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    count, before = 0, None
    send = lambda data: (answers.write(data), answers.flush())
    plain = lambda: write_frame(answers, header, *pieces)
@START@
    while (frame := read_frame(requests)) and frame[0]["request"] != "close":
        request, payload = frame
        if request["request"] == "describe":
            header, pieces = dict(DESCRIPTION), []
@DESCRIBE@
            continue
        count += 1
        try:
            header, *pieces = run(request, payload)
            spoil(request, header, pieces)
        except Rejected as rejected:
            header, pieces = {**rejected.args[0], "id": request["id"]}, []
@ANSWER@
        before = header, [bytes(piece) for piece in pieces]
@END@

main()
"""


def host(wrong: bool = True, start: str = "pass", describe: str = "plain()", answer: str = "plain()", end: str = "pass") -> str:
    """The source of a host."""
    loop = LOOP
    for mark, code, depth in (("@START@", start, 4), ("@DESCRIBE@", describe, 12), ("@ANSWER@", answer, 8), ("@END@", end, 4)):
        loop = loop.replace(mark, indent(code, " " * depth))
    return f"{EXAMPLE}\n\nWRONG = {wrong}\n{loop}"


SAME, ANY = True, False

ROWS: tuple[tuple[str, dict[str, str], bool], ...] = (
    # Kept, but unusual
    ("byte by byte", {"answer": "for byte in packed(header, *pieces): os.write(1, bytes([byte]))"}, SAME),
    ("header and payload apart", {"answer": "data = packed(header, *pieces)\nsend(data[:25])\ntime.sleep(0.05)\nsend(data[25:])"}, SAME),
    ("spaces in the header", {"answer": "send(packed(json.dumps(header, indent=8).encode() + b' ' * 100000, *pieces))"}, SAME),
    ("a header in escapes", {"answer": "send(packed(json.dumps({**header, 'message': '\\u2028\\U0001f600'}).encode(), *pieces))"}, ANY),
    ("every resource comes back", {"answer": "header = {**header, 'resources': list(range(len(request['resources'])))} if False else header\nplain()"}, SAME),
    ("prints to standard error", {"answer": "print('x' * 100000, file=sys.stderr)\nplain()"}, SAME),
    ("floods standard error with what is no text", {"answer": "os.write(2, bytes(range(256)) * 4096)\nplain()"}, SAME),
    ("closes standard error", {"start": "os.close(2)"}, SAME),
    ("ignores signals", {"start": "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 13, 15)]"}, SAME),
    ("a session of its own", {"start": "os.setsid() if os.getsid(0) != os.getpid() else None"}, SAME),
    ("a thread that goes on", {"start": "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"}, SAME),
    ("a child that ends", {"answer": "pid = os.fork()\nif not pid: os._exit(3)\nos.waitpid(pid, 0)\nplain()"}, SAME),
    ("a description with all fields", {"describe": "header.update(data_types=['UINT8', 'UINT32'], denormals='any', half_store='nearest', accumulator=0, nearest=False, validates=True, details={'x': [1]})\nplain()"}, SAME),
    ("the folder is another", {"start": "os.chdir('/')"}, SAME),
    ("hostile code paths, too many of them", {"answer": "header['paths'] = [{'label': '\\x1b[2J\\n::error::' + 'x' * 300, 'numbers': [0] * 8}] * 2000\nplain()"}, SAME),
    ("code paths of another request each", {"answer": "header['paths'] = [{'label': str(count), 'numbers': [count]}]\nplain()"}, SAME),
    ("slow, but in time", {"answer": "time.sleep(0.05)\nplain()"}, SAME),
    # Frames
    ("an answer twice", {"answer": "plain()\nplain()"}, ANY),
    ("the answer before", {"answer": "write_frame(answers, *([before[0], *before[1]] if before else [header, *pieces]))"}, ANY),
    ("the answer before, with this number", {"answer": "write_frame(answers, *([{**before[0], 'id': request['id']}, *before[1]] if before else [header, *pieces]))"}, ANY),
    ("answers ahead of the next request", {"answer": "plain()\nwrite_frame(answers, {**header, 'id': request['id'] + 1}, *pieces)"}, ANY),
    ("answers only every other request", {"answer": "plain() if count % 2 else None"}, ANY),
    ("describes itself instead", {"answer": "write_frame(answers, DESCRIPTION)"}, ANY),
    ("describes itself and answers", {"answer": "write_frame(answers, DESCRIPTION)\nplain()"}, ANY),
    ("a frame of nothing", {"answer": "send(packed(b''))"}, ANY),
    ("a header that is null", {"answer": "send(packed(b'null', *pieces))"}, ANY),
    ("a header that is a list", {"answer": "send(packed(json.dumps([header]).encode(), *pieces))"}, ANY),
    ("a header with a mark of byte order", {"answer": "send(packed(b'\\xef\\xbb\\xbf' + json.dumps(header).encode(), *pieces))"}, ANY),
    ("a header in UTF-16", {"answer": "send(packed(json.dumps(header).encode('utf-16'), *pieces))"}, ANY),
    ("a header in Latin-1", {"answer": "send(packed(json.dumps({**header, 'x': 'é'}, ensure_ascii=False).encode('latin-1'), *pieces))"}, ANY),
    ("a key twice", {"answer": "send(packed(json.dumps(header).encode()[:-1] + b', \"status\": \"ok\"}', *pieces))"}, ANY),
    ("a thousand levels", {"answer": "send(packed(b'[' * 1000 + b']' * 1000, *pieces))"}, ANY),
    ("a number of a million digits", {"answer": "send(packed(json.dumps(header).encode()[:-1] + b', \"x\": ' + b'9' * 1000000 + b'}', *pieces))"}, ANY),
    ("NaN in the header", {"answer": "send(packed(json.dumps({**header, 'x': float('nan')}).encode(), *pieces))"}, ANY),
    ("a header of 2 MB", {"answer": "send(packed(json.dumps({**header, 'x': 'y' * 2000000}).encode(), *pieces))"}, ANY),
    ("a header of 4 GB", {"answer": "send(packed(header, *pieces, header_length=2**32 - 1))"}, ANY),
    ("a payload of 2^64 bytes", {"answer": "send(packed(header, *pieces, payload_length=2**64 - 1))"}, ANY),
    ("a payload of a byte less", {"answer": "send(packed(header, *pieces)[:-1])"}, ANY),
    ("a payload that is declared a byte less", {"answer": "send(packed(header, *pieces, payload_length=max(0, sum(map(len, pieces)) - 1)))"}, ANY),
    ("a payload of a byte more", {"answer": "send(packed(header, *pieces, b'x'))"}, ANY),
    ("a payload twice", {"answer": "send(packed(header, *pieces, *pieces))"}, ANY),
    ("no payload", {"answer": "send(packed(header))"}, ANY),
    ("another version of the protocol", {"answer": "send(packed(header, *pieces, magic=b'DMLCTS\\x02\\n'))"}, ANY),
    ("a text stream", {"answer": "send(packed(header, *pieces).replace(b'\\n', b'\\r\\n'))"}, ANY),
    ("noise before", {"answer": "send(b'hello\\n')\nplain()"}, ANY),
    ("noise after", {"answer": "plain()\nsend(b'hello\\n')"}, ANY),
    ("noise after the last answer", {"end": "send(b'hello\\n')"}, ANY),
    ("noise before the description", {"describe": "send(b'loading\\n')\nplain()"}, ANY),
    ("a zero byte before", {"answer": "send(b'\\0')\nplain()"}, ANY),
    # Fields of answers
    ("code paths that are none", {"answer": "header['paths'] = [{'label': 7}, None, 'x']\nplain()"}, ANY),
    ("code paths that are no list", {"answer": "header['paths'] = {'label': 'a'}\nplain()"}, ANY),
    ("groups of code paths beyond all bounds", {"answer": "header['paths'] = [{'label': 'a', 'numbers': [2 ** 70]}]\nplain()"}, ANY),
    ("a number that is text", {"answer": "header['id'] = str(header['id'])\nplain()"}, ANY),
    ("a number that is true", {"answer": "header['id'] = True\nplain()"}, ANY),
    ("a number that is a float", {"answer": "header['id'] = float(header['id'])\nplain()"}, ANY),
    ("no number", {"answer": "del header['id']\nplain()"}, ANY),
    ("a status in capitals", {"answer": "header['status'] = 'OK'\nplain()"}, ANY),
    ("a status that is true", {"answer": "header['status'] = True\nplain()"}, ANY),
    ("no status", {"answer": "header.pop('status')\nplain()"}, ANY),
    ("a status of its own: pass", {"answer": "header['status'] = 'pass'\nplain()"}, ANY),
    ("a verdict beside the answer", {"answer": "header.update(verdict='pass', passed=True)\nplain()"}, ANY),
    ("no resources", {"answer": "header['resources'] = []\nwrite_frame(answers, header)"}, ANY),
    ("a resource that is not there", {"answer": "header['resources'] = [99]\nplain()"}, ANY),
    ("a resource below zero", {"answer": "header['resources'] = [-1]\nplain()"}, ANY),
    ("a resource that is text", {"answer": "header['resources'] = ['2']\nplain()"}, ANY),
    ("a resource that is true", {"answer": "header['resources'] = [True]\nplain()"}, ANY),
    ("a resource twice", {"answer": "header['resources'] = header['resources'] * 2\nwrite_frame(answers, header, *pieces, *pieces)"}, ANY),
    ("an input instead of the output", {"answer": "header['resources'] = [0]\nwrite_frame(answers, header, *pieces)"}, ANY),
    ("everything is rejected", {"answer": "write_frame(answers, {'status': 'rejected', 'id': request['id'], 'message': 'no', 'stage': 'create'})"}, ANY),
    ("everything is unsupported", {"answer": "write_frame(answers, {'status': 'unsupported', 'id': request['id'], 'message': 'no'})"}, ANY),
    ("everything is an error", {"answer": "write_frame(answers, {'status': 'error', 'id': request['id'], 'message': 'no'})"}, ANY),
    ("an unknown stage", {"answer": "write_frame(answers, {'status': 'rejected', 'id': request['id'], 'message': 'no', 'stage': 'later'})"}, ANY),
    ("a code that is a number", {"answer": "write_frame(answers, {'status': 'rejected', 'id': request['id'], 'message': 'no', 'stage': 'create', 'code': 7})"}, ANY),
    ("a message that is none", {"answer": "write_frame(answers, {'status': 'error', 'id': request['id'], 'message': None})"}, ANY),
    ("a message that attacks", {"answer": "write_frame(answers, {'status': 'error', 'id': request['id'], 'message': '\\x1b[2J\\n::error::x' * 1000})"}, ANY),
    # Ends
    ("ends after each answer", {"answer": "plain()\nos._exit(0)"}, ANY),
    ("ends before each answer", {"answer": "os._exit(0)"}, ANY),
    ("ends with 0 after the last answer, before close", {"answer": "plain()\nif count == 15: os._exit(0)"}, ANY),
    ("ends with 7 at close", {"end": "sys.exit(7)"}, ANY),
    ("is killed at close", {"end": "os.kill(os.getpid(), signal.SIGKILL)"}, ANY),
    ("hangs for a while at close", {"end": "time.sleep(1)"}, SAME),
    ("stops itself", {"answer": "os.kill(os.getpid(), signal.SIGSTOP) if count == 2 else None\nplain()"}, ANY),
    ("closes its output and goes on", {"answer": "plain()\nos.close(1) if count == 3 else None\ntime.sleep(5) if count == 3 else None"}, ANY),
    ("closes its input and goes on", {"answer": "plain()\nos.close(0) if count == 3 else None\ntime.sleep(5) if count == 3 else None"}, ANY),
    ("drips without an end", {"answer": "data = packed(header, *pieces)\nfor byte in data: (send(bytes([byte])), time.sleep(0.5))"}, ANY),
    ("a child holds the pipes", {"answer": "if count == 2 and os.fork() == 0: (time.sleep(600), os._exit(0))\nif count == 2: os._exit(1)\nplain()"}, ANY),
    ("terminates the suite", {"answer": "os.kill(os.getppid(), signal.SIGTERM)\nplain()"}, ANY),
    ("interrupts the suite at close", {"end": "os.kill(os.getppid(), signal.SIGINT)"}, ANY),
    ("terminates the suite at close", {"end": "os.kill(os.getppid(), signal.SIGTERM)"}, ANY),
    ("another description after an end", {"start": "import pathlib\nagain = pathlib.Path('started').exists()\npathlib.Path('started').touch()", "describe": "header.update(operators=['GEMM'] if again else header['operators'])\nplain()", "answer": "os._exit(0) if count == 2 else plain()"}, ANY),
    ("fewer types after an end", {"start": "import pathlib\nagain = pathlib.Path('started').exists()\npathlib.Path('started').touch()", "describe": "header.update(data_types=['UINT32'] if again else [])\nplain()", "answer": "os._exit(0) if count == 2 else plain()"}, ANY),
    ("another level after an end", {"start": "import pathlib\nagain = pathlib.Path('started').exists()\npathlib.Path('started').touch()", "describe": "header.update(feature_level='1_0' if again else '4_1')\nplain()", "answer": "os._exit(0) if count == 2 else plain()"}, ANY),
    ("no operator at all is known", {"describe": "header.update(operators=['GEMM'])\nplain()"}, ANY),
    ("the suite's own name", {"describe": "header.update(name='reference', details={'reference': True})\nplain()"}, SAME),
    ("writes to the journal", {"answer": "import pathlib\nfor f in pathlib.Path('out/parts').glob('*'): (f.parent / ('9' + f.name)).write_bytes(f.read_bytes().replace(b'not_run', b'pass'))\nplain()"}, ANY),
    ("removes the journal", {"answer": "import shutil\nshutil.rmtree('out/parts', ignore_errors=True)\nplain()"}, ANY),
    ("removes the output folder at close", {"end": "import shutil\nshutil.rmtree('out', ignore_errors=True)"}, ANY),
    ("replaces the journal by a link", {"answer": "import shutil\nif count == 2: (os.rename('out/parts', 'gone'), os.symlink('../gone', 'out/parts'))\nplain()"}, ANY),
    ("writes results before the suite does", {"end": "open('out/results.jsonl', 'w').write('{}')"}, ANY),
    ("replaces itself", {"answer": "open('host.py', 'w').write('raise SystemExit(0)') if count == 2 else None\nplain()"}, SAME),
    ("is removed", {"answer": "os.remove('host.py') if count == 2 else None\nplain()"}, SAME),
    ("is removed, and ends", {"answer": "os.remove('host.py') if count == 2 else None\nplain()\nos._exit(0) if count == 2 else None"}, ANY),
)  # fmt: skip

SLOW = ("stops itself", "drips", "answers only", "a payload", "a header of 4 GB", "ends before each", "everything is an error")
LEAVES = ("a session of its own", "a child holds")


def attacks() -> Iterator[Attack]:
    command = (
        "run",
        *NAMES,
        "-q",
        "--backend",
        f"process:{shlex.join([sys.executable, '-S', '-E', 'host.py'])}",
        "--timeout",
        "1",
        "--out",
        "out",
    )
    for name, parts, same in ROWS:
        must = (never_green, costs_only(WRONG)) if same else (never_green, exits(1, 2, 3, 4, 130, 143))
        yield Attack(name, (Run(command, must, seconds=150),), {"host.py": host(**parts)}, quick=name == "an answer twice")
    for name in ("ends with 7 at close", "is killed at close"):
        parts = next(parts for row, parts, _ in ROWS if row == name)
        yield Attack(f"{name}, and right besides", (Run(command, (no_claim,)),), {"host.py": host(False, **parts)})
    yield Attack("a right host is no wrong one", (Run(command, (never_green,)),), {"host.py": host(False)}, self_check=True)


ATTACKS = tuple(attacks())
