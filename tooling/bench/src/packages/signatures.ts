import { HEADERS, sign, signingKey, verifyWebhook } from "@collections/signing";
import { Webhook } from "standardwebhooks";
import { BODY } from "./event-program.ts";
import { measureRow, type Rate, type Row } from "./measured-row.ts";

/** A library that signs and verifies webhooks. */
interface SignatureLibrary {
  readonly name: string;
  /** Returns the headers of a signed request. */
  sign(at: Date): Record<string, string>;
  /** Throws an error if the signature is wrong, as a receiver calls it. */
  verify(headers: Record<string, string>): void;
}

const SECRET = "0123456789abcdef".repeat(2);
const PATH = "/hooks";
const EVENT_ID = "evt_0199f3b20c5e7d31a4b6c8d0e2f40617";
/** The number of calls between two looks at the clock. */
const CALLS = 200;

/** Our signatures and verification, which a sender and a receiver of `@collections/webhooks` call. */
function ourLibrary(): SignatureLibrary {
  const secret = signingKey(SECRET);
  return {
    name: "@collections/signing",
    sign(at) {
      const timestamp = String(at.getTime());
      return {
        [HEADERS.delivery]: EVENT_ID,
        [HEADERS.timestamp]: timestamp,
        [HEADERS.signature]: sign({ method: "POST", path: PATH, timestamp, body: BODY, secret }),
      };
    },
    verify(headers) {
      verifyWebhook({ headers, path: PATH, body: BODY }, { secret });
    },
  };
}

/** The library of Standard Webhooks, which the clients of Svix for Node use, too. It also parses the JSON of the body. */
function standardLibrary(): SignatureLibrary {
  const webhook = new Webhook(`whsec_${Buffer.from(SECRET).toString("base64")}`);
  return {
    name: "standardwebhooks",
    sign: (at) => ({
      "webhook-id": EVENT_ID,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": webhook.sign(EVENT_ID, at, BODY),
    }),
    verify(headers) {
      webhook.verify(BODY, headers);
    },
  };
}

/** Measures signing and verifying, in turn, in this process. Fails if a library accepts a wrong signature. */
export async function measureSignatures({
  rounds,
  roundMs,
}: {
  readonly rounds: number;
  readonly roundMs: number;
}): Promise<Row[]> {
  const programs = [ourLibrary(), standardLibrary()];
  for (const library of programs) requireVerification(library);
  const acts: readonly { readonly what: string; readonly act: (library: SignatureLibrary) => () => void }[] = [
    { what: "signatures made", act: (library) => () => void library.sign(new Date()) },
    {
      what: "signatures verified",
      act(library) {
        const headers = library.sign(new Date());
        return () => library.verify(headers);
      },
    },
  ];
  const rows: Row[] = [];
  for (const { what, act } of acts) {
    const measure = async (library: SignatureLibrary) => repeat(act(library), roundMs);
    for (const library of programs) await measure(library);
    const row = { what, clients: 1, rounds, place: rows.length, pids: [process.pid] };
    rows.push(await measureRow({ ...row, programs, measure }));
  }
  return rows;
}

function requireVerification({ name, sign, verify }: SignatureLibrary): void {
  const headers = sign(new Date());
  verify(headers);
  const wrong = Object.entries(headers).map(([header, value]) => {
    if (!header.toLowerCase().endsWith("signature")) return [header, value];
    return [header, value.slice(0, 5) + (value[5] === "0" ? "1" : "0") + value.slice(6)];
  });
  try {
    verify(Object.fromEntries(wrong) as Record<string, string>);
  } catch {
    return;
  }
  throw new Error(`${name} accepted a wrong signature.`);
}

function repeat(act: () => void, durationMs: number): Rate {
  const startedAt = performance.now();
  const usedBefore = process.cpuUsage();
  let calls = 0;
  while (performance.now() - startedAt < durationMs) {
    for (let call = 0; call < CALLS; call += 1) act();
    calls += CALLS;
  }
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(usedBefore);
  return { perSecond: (calls / elapsedMs) * 1_000, processorUs: (user + system) / calls };
}
