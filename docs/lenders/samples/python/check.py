"""Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.

A case is seven fields, each with a NUL behind it; the body is in base64.
"""

import sys
from base64 import b64decode

from signing import sign, verify

fields = iter(sys.stdin.buffer.read().decode().split("\0")[:-1])
for secret, method, path, timestamp, body, signature, now_ms in zip(*[fields] * 7):
    request = (secret, method, path, timestamp, b64decode(body))
    print(sign(*request), "true" if verify(*request, signature, int(now_ms)) else "false")
