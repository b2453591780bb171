import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_MS = 5 * 60 * 1000;

/** The signature of a request. `body` is the very bytes that go over the wire. */
export function sign(secret, method, path, timestamp, body) {
  return createHmac("sha256", secret)
    .update(`${method.toUpperCase()}\n${path.split("?")[0]}\n${timestamp}\n`)
    .update(body)
    .digest("hex");
}

/** Whether these very bytes were signed with this secret, within five minutes of now. */
export function verify(secret, method, path, timestamp, body, signature = "", nowMs = Date.now()) {
  if (!/^[0-9]{1,15}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp)) > TOLERANCE_MS) return false;
  const expected = Buffer.from(sign(secret, method, path, timestamp, body));
  const received = Buffer.from(signature.toLowerCase());
  return received.length === expected.length && timingSafeEqual(received, expected);
}
