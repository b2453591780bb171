import { HEADERS, sign, type SigningKey } from "@collections/signing";

/** A lender's API key, ready to sign requests with. */
export interface Signer {
  readonly apiKeyId: string;
  readonly key: SigningKey;
}

/** The bytes of a signed POST over HTTP/1.1, prepared before the clock starts. */
export function signedPost(signer: Signer, host: string, path: string, body: string, nowMs: number): Buffer {
  const timestamp = String(nowMs);
  const signature = sign({ method: "POST", path, timestamp, body, secret: signer.key });
  return Buffer.from(
    [
      `POST ${path} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${signer.apiKeyId}`,
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      `${HEADERS.timestamp}: ${timestamp}`,
      `${HEADERS.signature}: ${signature}`,
      "",
      body,
    ].join("\r\n"),
  );
}
