import { readFileSync } from "node:fs";
import { sign, type SignedRequest } from "@collections/signing";

/** A request that arrives with a signature at a moment, and what is right to say about it. */
export interface SigningCase extends SignedRequest {
  readonly name: string;
  readonly secret: string;
  readonly body: Buffer;
  /** What came with it as its signature. */
  readonly received: string;
  readonly nowMs: number;
  /** The right signature. */
  readonly signature: string;
  /** Whether it has to be believed. */
  readonly genuine: boolean;
}

const VECTORS = casesOfVectors();
const WEBHOOK = VECTORS.find(({ name }) => name.startsWith("webhook:"))!;
const { timestamp, signature } = WEBHOOK;
const FIVE_MINUTES_MS = 5 * 60_000;

const WRONG_SIGNATURES = {
  "with another first digit": `0${signature.slice(1)}`,
  "with another last digit": `${signature.slice(0, -1)}0`,
  "of another secret": sign({ ...WEBHOOK, secret: `${WEBHOOK.secret}0` }),
  "of another body": sign({ ...WEBHOOK, body: `${WEBHOOK.body.toString()} ` }),
  "that is missing": "",
  "of 62 digits": signature.slice(2),
  "of 63 digits": signature.slice(1),
  "with two digits more": `${signature}00`,
  "with two letters behind it": `${signature}zz`,
  "twice, as of two headers": `${signature}, ${signature}`,
  "that is no hexadecimal": "g".repeat(64),
  "in base64": Buffer.from(signature, "hex").toString("base64"),
  "with a prefix": `sha256=${signature}`,
  "with a space before it": ` ${signature}`,
  "with a newline behind it": `${signature}\n`,
  "with a wide digit": signature.replace("4", "４"),
};

const WRONG_TIMESTAMPS = {
  "that is missing": "",
  "in seconds": "1795167667",
  "in microseconds": `${timestamp}000`,
  "in words": "now",
  "as a date": "2026-11-20T09:41:07Z",
  "with a plus": `+${timestamp}`,
  "with a minus": `-${timestamp}`,
  "with a fraction": `${timestamp}.0`,
  "with an exponent": "1.795167667e12",
  "in hexadecimal": "0x1a1f8e9d538",
  "with a separator": "1_795_167_667_000",
  "with a space before it": ` ${timestamp}`,
  "with a newline behind it": `${timestamp}\n`,
  "of wide digits": "１７９５１６７６６７０００",
  "of twenty digits": "17951676670001795167",
  "of forty digits": "1795167667".repeat(4),
  "that is no number": "NaN",
};

const ODD_REQUESTS = {
  "of every byte": { body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)) },
  "of 20 KB beyond ASCII": { body: Buffer.from("रु".repeat(3_500)) },
  "to a path with two question marks": { path: "/hooks/collections?a=1?b=2" },
  "to a path with all that needs no escape": { path: "/hooks/a-b._~!$&'()*+,;=:@%20%C3%A9//c/" },
  "with a secret that a shell could read": { secret: "sk_sandbox_$(id)`id`\"'\\ %s" },
};

/** The vectors, and the webhook among them with each thing wrong with it that a receiver has to refuse. */
export const SIGNING_CASES: readonly SigningCase[] = [
  ...VECTORS,
  { ...WEBHOOK, name: "a signature in upper case", received: signature.toUpperCase() },
  ...named("a signature", WRONG_SIGNATURES, (received) => ({ received, genuine: false })),
  // Signed over the very text that is sent: only its form is wrong, or its age.
  ...named("a timestamp", WRONG_TIMESTAMPS, (wrong) => ({ ...signedWith({ timestamp: wrong }), genuine: false })),
  ...named("a request", ODD_REQUESTS, signedWith),
  arrivingAfter("five minutes", FIVE_MINUTES_MS, true),
  arrivingAfter("a millisecond more", FIVE_MINUTES_MS + 1, false),
  arrivingAfter("minus five minutes", -FIVE_MINUTES_MS, true),
  arrivingAfter("minus a millisecond more", -FIVE_MINUTES_MS - 1, false),
  arrivingAfter("a year", 365 * 86_400_000, false),
];

function named<T>(what: string, table: Readonly<Record<string, T>>, change: (value: T) => Partial<SigningCase>) {
  return Object.entries(table).map(([name, value]) => ({ ...WEBHOOK, ...change(value), name: `${what} ${name}` }));
}

function signedWith(change: Partial<SigningCase>): Partial<SigningCase> {
  const signed = sign({ ...WEBHOOK, ...change });
  return { ...change, signature: signed, received: signed };
}

function arrivingAfter(name: string, ageMs: number, genuine: boolean): SigningCase {
  return { ...WEBHOOK, name: `a request after ${name}`, nowMs: WEBHOOK.nowMs + ageMs, genuine };
}

function casesOfVectors(): SigningCase[] {
  const file = new URL("../../../packages/signing/vectors.json", import.meta.url);
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };
  return vectors.map(({ bodyBase64, bodyRepeat, body = "", ...vector }) => ({
    ...vector,
    body: bodyBase64
      ? Buffer.from(bodyBase64, "base64")
      : Buffer.from(bodyRepeat?.text.repeat(bodyRepeat.times) ?? body),
    received: vector.signature,
    signature: vector.signature.toLowerCase(),
    nowMs: Number(vector.timestamp),
    genuine: true,
  }));
}

interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly method: string;
  readonly path: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly bodyRepeat?: { readonly text: string; readonly times: number };
}
