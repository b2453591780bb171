import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, startTestService } from "../fixtures/fixture.ts";
import { hostileDocument } from "./fixtures/hostile-documents.ts";
import { type LoopStall, watchLoop } from "../fixtures/loop-stall.ts";
import { startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

// `FUZZ_REQUESTS=20000 vitest run graphql/hostile` makes a longer run. With `FUZZ_SEED=7` as well, it repeats the run
// that had this seed.
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 200);
const SEED = Number(process.env["FUZZ_SEED"] ?? seedOfRun());
const AT_ONCE = 4;
const UNKNOWN_TOKEN = `fpt_${"A".repeat(43)}`;
/** The allowed outcomes for a caller with a valid token. */
const ALLOWED_OUTCOMES = new Set(["answered", "BAD_INPUT", "TOO_COMPLEX", "UNAUTHENTICATED"]);

let url: string;
let accessToken: string;
let loop: LoopStall;

beforeAll(async () => {
  const prepared = await startTestService({ hasWorker: false });
  ({ accessToken } = await aFieldPartner(prepared));
  // The service runs in its own process, so that sending does not load its event loop.
  const settings = { DATABASE_URL: prepared.databaseUrl, ROLE: "server", RATE_LIMITS: "off", ENVIRONMENT: "live" };
  ({ url } = await startProcess(settings));
  loop = await watchLoop(new URL("/metrics", url).href);
});

test(`${REQUESTS} hostile GraphQL documents without a valid token are rejected before they are parsed`, async () => {
  for (const token of [undefined, UNKNOWN_TOKEN]) {
    const unexpected = await sendAll(token, (codes) => codes === "UNAUTHENTICATED");
    expect(unexpected).toEqual([]);
  }
  await report("without a valid token");
}, 7_200_000);

test(`${REQUESTS} hostile GraphQL documents with a valid token cause no server error`, async () => {
  expect(await sendAll(accessToken, (codes) => codes.split(" ").every((code) => ALLOWED_OUTCOMES.has(code)))).toEqual(
    [],
  );
  await report("with a valid token");
}, 7_200_000);

/** Sends all GraphQL documents and returns those that got an unexpected answer. */
async function sendAll(token: string | undefined, isRight: (codes: string) => boolean): Promise<string[]> {
  const wrong: string[] = [];
  let next = 0;
  async function sendSome(): Promise<void> {
    while (next < REQUESTS) {
      const query = hostileDocument(seededRandom(SEED + (next += 1)));
      const { status, codes } = await send(query, token);
      if (status >= 500 || !isRight(codes))
        wrong.push(`FUZZ_SEED=${SEED}: ${status} ${codes} for ${query.slice(0, 500)}`);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
  return wrong;
}

async function send(query: string, token: string | undefined): Promise<{ status: number; codes: string }> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  const codes = [...new Set(errors?.map(({ extensions }) => extensions.code) ?? ["answered"])];
  return { status: response.status, codes: codes.join(" ") };
}

/** Prints the longest stall of the event loop if FUZZ_REQUESTS is set. No test asserts durations. */
async function report(how: string): Promise<void> {
  if (process.env["FUZZ_REQUESTS"] === undefined) return;
  const slowest = (await loop.slowestMs()).toFixed(0);
  process.stdout.write(`seed ${SEED}: slowest stall of the event loop ${how}: ${slowest} ms\n`);
}
