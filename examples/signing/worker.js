import { checkTimestamp, HEADERS, verify } from "@collections/signing";

/**
 * An edge worker in the form that Cloudflare uses. It accepts requests that were signed recently with its secret and
 * not changed.
 */
export default {
  async fetch(request, { HMAC_SECRET }) {
    const timestamp = request.headers.get(HEADERS.timestamp) ?? "";
    const signature = request.headers.get(HEADERS.signature) ?? "";
    const body = new Uint8Array(await request.arrayBuffer()); // the received bytes: parsing and printing could change them
    const { method, url } = request;
    const signed = { method, path: new URL(url).pathname, timestamp, body, signature, secret: HMAC_SECRET };
    const clock = checkTimestamp(timestamp, Date.now());
    if (!clock.ok) return Response.json({ code: clock.code }, { status: 401 });
    if (!verify(signed)) return Response.json({ code: "SIGNATURE_MISMATCH" }, { status: 401 });
    return Response.json({ kind: JSON.parse(new TextDecoder().decode(body)).kind });
  },
};
