// Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
// A case is seven fields, each with a NUL behind it; the body is in base64.
import { readFileSync } from "node:fs";
import { sign, verify } from "./signing.mjs";

const fields = readFileSync(0, "utf8").split("\0");
while (fields.length > 1) {
  const [secret, method, path, timestamp, body, signature, nowMs] = fields.splice(0, 7);
  const request = [secret, method, path, timestamp, Buffer.from(body, "base64")];
  console.log(sign(...request), verify(...request, signature, Number(nowMs)));
}
