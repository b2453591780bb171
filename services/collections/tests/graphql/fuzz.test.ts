import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { type KnownIds, oddDocument } from "./fixtures/odd-documents.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";
import { allRows } from "../fixtures/table-rows.ts";

// `FUZZ_REQUESTS=50000 vitest run graphql/fuzz` makes a longer run. With `FUZZ_SEED=7` as well, it repeats the run that
// had this seed.
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 400);
const SEED = Number(process.env["FUZZ_SEED"] ?? seedOfRun());
const IN_A_ROUND = 400;
const AT_ONCE = 16;
const CODES = new Set(["UNAUTHENTICATED", "FORBIDDEN", "BAD_INPUT", "RATE_LIMITED", "TOO_COMPLEX"]);

let service: TestService;
let accessToken: string;
let known: KnownIds;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  const fieldPartner = await aFieldPartner(service);
  ({ accessToken } = fieldPartner);
  const loans = ["LN-1", "LN-2", "LN-3"];
  await lender.importCases(loans.map((loan) => aRow(loan)));
  for (const loan of loans) await assign(service, lender.code, loan, fieldPartner.id);
  const app = new AppClient(service.url, accessToken);
  const { data } = await app.ask("{ cases { edges { node { id } } } }");
  const caseIds = (data!["cases"].edges as { node: { id: string } }[]).map(({ node }) => node.id);
  const visitIds = caseIds.map(() => randomUUID());
  for (const [index, caseId] of caseIds.slice(1).entries()) {
    const input = { caseId, visitId: visitIds[index], occurredAt: new Date().toISOString() };
    await app.mutate("startVisit", input, "visit { visitId }");
  }
  known = { caseIds, visitIds };
});

test(`${REQUESTS} odd GraphQL documents cause no server error, leak no internals, and change nothing when they are rejected`, async () => {
  const seen = new Map<string, number>();
  for (let drawn = 0; drawn < REQUESTS; drawn += IN_A_ROUND) {
    const count = Math.min(IN_A_ROUND, REQUESTS - drawn);
    const bodies = Array.from({ length: count }, (_, index) => oddDocument(seededRandom(SEED + drawn + index), known));
    const answers = await sendAll(bodies);
    for (const { status, codes } of answers) countOne(seen, `${status} ${[...new Set(codes)].join(" ")}`);
    let refused = answers.filter((one) => !mayChange(one)).map(({ bytes }) => bytes);
    let before = {};
    for (let areNew = true; areNew;) {
      before = await allRows(service.app);
      const again = await sendAll(refused);
      areNew = again.some(mayChange);
      refused = again.filter((one) => !mayChange(one)).map(({ bytes }) => bytes);
    }
    expect(await allRows(service.app)).toEqual(before);
  }
  const app = new AppClient(service.url, accessToken);
  expect(await app.ask("{ viewer { displayName } }")).toMatchObject({ data: { viewer: { displayName: "Asha Rao" } } });
  report(seen);
}, 7_200_000);

interface ReceivedAnswer {
  readonly bytes: Buffer;
  readonly status: number;
  readonly text: string;
  readonly data: Record<string, unknown> | null | undefined;
  readonly codes: readonly string[];
}

/**
 * Sends all request bodies. Fails the test for a server error or a leak of internals, and shows the request that led to
 * it.
 */
async function sendAll(bodies: readonly Buffer[]): Promise<ReceivedAnswer[]> {
  const answers: ReceivedAnswer[] = [];
  const left = bodies.map((bytes, index) => ({ bytes, index }));
  async function sendSome(): Promise<void> {
    for (let next = left.pop(); next; next = left.pop()) answers[next.index] = await send(next.bytes);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
  expect(answers.flatMap(faultsOf), `FUZZ_SEED=${SEED}`).toEqual([]);
  return answers;
}

async function send(bytes: Buffer): Promise<ReceivedAnswer> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${accessToken}` };
  const response = await fetch(`${service.url}/graphql`, { method: "POST", headers, body: new Uint8Array(bytes) });
  const text = await response.text();
  const { data, errors = [] } = JSON.parse(text) as {
    data?: Record<string, unknown> | null;
    errors?: { extensions?: { code?: string } }[];
  };
  return {
    bytes,
    status: response.status,
    text,
    data,
    codes: errors.map(({ extensions }) => String(extensions?.code)),
  };
}

function faultsOf({ bytes, status, text, codes }: ReceivedAnswer): string[] {
  const isFault =
    status >= 500 ||
    codes.some((code) => !CODES.has(code)) ||
    /node_modules|\\n\s+at |\.ts:\d|SQLSTATE|relation \\"/.test(text);
  return isFault ? [`${status} ${text.slice(0, 500)} for ${JSON.stringify(bytes.toString().slice(0, 2_000))}`] : [];
}

/**
 * Returns whether the request may have written something. Even a rejected mutation may write something: its result is
 * stored under its idempotency key.
 */
function mayChange({ bytes, data }: ReceivedAnswer): boolean {
  return bytes.includes("mutation") && Object.values(data ?? {}).some((value) => value !== null);
}

function countOne(seen: Map<string, number>, name: string): void {
  seen.set(name, (seen.get(name) ?? 0) + 1);
}

/** Prints a summary if FUZZ_REQUESTS is set. */
function report(seen: ReadonlyMap<string, number>): void {
  if (process.env["FUZZ_REQUESTS"] === undefined) return;
  const lines = [...seen].toSorted(([a], [b]) => a.localeCompare(b)).map(([name, count]) => `${count} × ${name}`);
  process.stdout.write(`seed ${SEED}\n${lines.join("\n")}\n`);
}
