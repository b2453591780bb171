import { createHmac } from "node:crypto";
import type { RequestToDiagnose, SignatureCause } from "../src/index.ts";

export const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f809";
export const OLDER_SECRET = "sk_sandbox_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
export const KEY_ID = "lk_1f0c2d3e4a5b6c7d8e9fa0b1";
export const OLDER_KEY_ID = "lk_aaaabbbbccccddddeeeeffff";
export const HOST = "api.collections.example:8443";
export const TIMESTAMP = "1795167667123";
export const NOW_MS = Number(TIMESTAMP) + 213;
export const SECRETS = { secret: SECRET, keyId: KEY_ID, others: [{ keyId: OLDER_KEY_ID, secret: OLDER_SECRET }] };

/** The values from which a client makes its signature. */
export interface InHand {
  method: string;
  /** The path as on the request line, with its query string. */
  target: string;
  timestamp: string;
  body: string;
  secret: string;
}

/** A client that signs as the contract says, except for the functions and values given here. */
export interface WrongClient {
  key?: (secret: string) => string | Buffer;
  method?: (method: string) => string;
  path?: (target: string) => string;
  timestamp?: (sent: string) => string;
  body?: (body: string) => string | Buffer;
  join?: (parts: [method: string, path: string, timestamp: string, body: Buffer]) => Buffer;
  digest?: (key: Buffer, message: Buffer) => Buffer;
  write?: (digest: Buffer) => string;
}

export interface Mistaken {
  name: string;
  client: WrongClient;
  cause: SignatureCause;
  /** The request that the client sends, if the mistake needs a special one. */
  sends?: Partial<InHand>;
}

export const COMPACT_BODY =
  '{"reference":"pay/Nx81","amount":2500.50,"note":"आशा & Söhne","items":[{"z":1,"b":2.0},[]],"a":{}}';

/** The request that clients send, unless their mistake needs another one. */
export const SENT: InHand = {
  method: "POST",
  target: "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm?dryRun=true",
  timestamp: TIMESTAMP,
  body: COMPACT_BODY,
  secret: SECRET,
};
export const NO_BODY = { method: "GET", target: "/api/v1/partner/health?verbose=1", body: "" };

/** Makes the request of a client, with the signature that the client computes. */
export function sentBy(client: WrongClient, sends: Partial<InHand> = {}): RequestToDiagnose {
  const { method, target, timestamp, body, secret } = { ...SENT, ...sends };
  const join = client.join ?? joinedBy("\n");
  const message = join([
    (client.method ?? ((sent) => sent))(method),
    (client.path ?? ((sent) => sent.split("?")[0]!))(target),
    (client.timestamp ?? ((sent) => sent))(timestamp),
    Buffer.from((client.body ?? ((sent) => sent))(body) as string),
  ]);
  const key = Buffer.from((client.key ?? ((text) => text))(secret) as string);
  const digest = (client.digest ?? hmac("sha256"))(key, message);
  const signature = (client.write ?? ((bytes) => bytes.toString("hex")))(digest);
  return { method, path: target, timestamp, body, signature, host: HOST };
}

/** Returns a function that joins the parts with the separator. */
export function joinedBy(separator: string): NonNullable<WrongClient["join"]> {
  return (parts) => Buffer.concat([Buffer.from([...parts.slice(0, 3), ""].join(separator)), parts[3]]);
}

export function hmac(algorithm: string): NonNullable<WrongClient["digest"]> {
  return (key, message) => createHmac(algorithm, key).update(message).digest();
}
