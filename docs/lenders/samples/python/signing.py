import hashlib
import hmac
import re
import time

TOLERANCE_MS = 5 * 60 * 1000


def sign(secret: str, method: str, path: str, timestamp: str, body: bytes) -> str:
    """The signature of a request. The body is the very bytes that go over the wire."""
    head = f"{method.upper()}\n{path.split('?')[0]}\n{timestamp}\n"
    return hmac.new(secret.encode(), head.encode() + body, hashlib.sha256).hexdigest()


def verify(secret: str, method: str, path: str, timestamp: str, body: bytes, signature: str, now_ms=None) -> bool:
    """Whether these very bytes were signed with this secret, within five minutes of now. An absent header is ""."""
    if now_ms is None:
        now_ms = time.time() * 1000
    if not re.fullmatch("[0-9]{1,15}", timestamp) or abs(now_ms - int(timestamp)) > TOLERANCE_MS:
        return False
    expected = sign(secret, method, path, timestamp, body)
    return hmac.compare_digest(expected.encode(), signature.lower().encode())
