import { checkTimestamp, HEADERS, verify } from "@collections/signing";

/** An edge worker, with a door such as Cloudflare's: it lets in what was signed with its secret, unaltered, just now. */
export default {
  async fetch(request, { HMAC_SECRET }) {
    const timestamp = request.headers.get(HEADERS.timestamp) ?? "";
    const signature = request.headers.get(HEADERS.signature) ?? "";
    const body = new Uint8Array(await request.arrayBuffer()); // as it came: what was parsed and written is another body
    const { method, url } = request;
    const signed = { method, path: new URL(url).pathname, timestamp, body, signature, secret: HMAC_SECRET };
    const clock = checkTimestamp(timestamp, Date.now());
    if (!clock.ok) return Response.json({ code: clock.code }, { status: 401 });
    if (!verify(signed)) return Response.json({ code: "SIGNATURE_MISMATCH" }, { status: 401 });
    return Response.json({ kind: JSON.parse(new TextDecoder().decode(body)).kind });
  },
};
