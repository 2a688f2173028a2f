"""A host that is ill: `python ill.py NAME [FILE]`. It answers what it can with "unsupported". Plain Python: it starts in a few milliseconds.

| NAME | what it does |
|---|---|
| crashes | ends in every case, with what Wine prints of a function that it lacks |
| hangs | answers no case |
| hangs-at-start | ends in the first case; FILE says that it did: from then on it does not describe itself |
| changes | the same, but describes itself otherwise |
| recovers | ends in every case until FILE is there |
"""

import json
import os
import struct
import sys
import time
from pathlib import Path

PREFIX = struct.Struct("<8sIQ")
REQUESTS, ANSWERS = sys.stdin.buffer, sys.stdout.buffer


def send(header):
    text = json.dumps(header).encode()
    ANSWERS.write(PREFIX.pack(b"DMLCTS\x01\n", len(text), 0) + text)
    ANSWERS.flush()


def crash():
    print("0024:err: wine: Call from 6FFFFFC0E to unimplemented function Cabinet.dll.40, aborting", file=sys.stderr, flush=True)
    os._exit(3)


def main(name, file=""):
    marker = Path(file)
    again = bool(file) and marker.exists()
    while prefix := REQUESTS.read(PREFIX.size):
        _, header_length, payload_length = PREFIX.unpack(prefix)
        request = json.loads(REQUESTS.read(header_length))
        REQUESTS.read(payload_length)
        if request["request"] == "close":
            return
        if request["request"] == "describe":
            if again and name == "hangs-at-start":
                time.sleep(60)
            send({"status": "ok", "name": "ill", "version": "2" if again and name == "changes" else "1"})
        elif name == "hangs":
            time.sleep(60)
        elif name == "crashes" or not again:
            if name != "recovers":
                marker.touch()
            crash()
        else:
            send({"status": "unsupported", "id": request["id"], "message": "recovered"})


main(*sys.argv[1:])
