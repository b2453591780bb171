import { lenderByCode } from "@collections/lenders";
import { expect, vi } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";
import { commandsHere } from "./commands.ts";
import { askForLink, type Cli, linkNow } from "./processes.ts";
import { allRows } from "./table-rows.ts";

type Twin = Awaited<ReturnType<typeof aLender>>;

/** Two lenders of one service to whom the same has happened, under the same loan numbers where both have a loan. */
export interface World {
  readonly service: TestService;
  readonly cli: Cli;
  /** Whose credentials are used. */
  readonly a: Side;
  /** Whose things are named. */
  readonly b: Side;
  /** Texts that are in answers about B's things, and in no others. */
  readonly marks: readonly string[];
  /** A loan that both have, at each of them like every other one that comes from here. */
  sharedLoan(): string;
  /** A loan that only B has. */
  loanOfB(): string;
  /** A loan that nobody has. */
  nobodysLoan(): string;
}

/** What a lender has. */
export interface Side {
  readonly id: string;
  readonly twin: Twin;
  readonly key: Key;
  readonly revokedKey: Key;
  readonly retiredKey: Key;
  /** Public ids of events: one on its way, one delivered, one given up. */
  readonly eventIds: readonly string[];
  readonly replayId: string;
  /** As the lender calls it. */
  readonly linkId: string;
  readonly fieldPartnerId: string;
}

export interface Key {
  readonly apiKeyId: string;
  readonly hmacSecret: string;
}

/** What tells one's data from another's. */
interface Marks {
  readonly mark: string;
  /** In the numbers of loans and payments, which the other one may send too. */
  readonly letter: string;
  readonly owed: number;
  /** Payments of each shared loan: what the lenders' sequences differ by. */
  readonly payments: number;
}

/** Of one payment of each loan that both have, at B. */
export const REFERENCE = "only-B-reference-1";
const SHARED_LOANS = 60;
const LOANS_OF_B = 40;
const DELIVERIES = "/api/v1/partner/webhooks/deliveries";

/** Makes both, and stops the work in the background: what changes afterwards was asked for. */
export async function isolationWorld(): Promise<World> {
  const service = await startTestService();
  const cli = commandsHere({ DATABASE_URL: service.databaseUrl });
  const lives = [
    await begin(service, { mark: "mine-A", letter: "A", owed: 66_345.68, payments: 1 }),
    await begin(service, { mark: "leak-B", letter: "B", owed: 71_234.57, payments: 2 }),
  ];
  await service.worker!.stop(5_000);
  const [a, b] = [await end(service, cli, lives[0]!), await end(service, cli, lives[1]!)];
  const marks = await marksOf(service, b, a);
  let [shared, ofB, nobodys] = [0, 0, 0];
  return {
    service,
    cli,
    a,
    b,
    marks,
    sharedLoan: () => sharedLoan(inRange((shared += 1), SHARED_LOANS, "SHARED_LOANS")),
    loanOfB: () => loanOf("B", inRange((ofB += 1), LOANS_OF_B, "LOANS_OF_B")),
    nobodysLoan: () => loanOf("C", (nobodys += 1)),
  };
}

/** The same world where nothing is used up: for requests that are not sent, or that are refused before they are read. */
export function usedUpNowhere(world: World): World {
  const [shared, ofB, nobodys] = [sharedLoan(1), loanOf("B", 1), loanOf("C", 0)];
  return { ...world, sharedLoan: () => shared, loanOfB: () => ofB, nobodysLoan: () => nobodys };
}

/** What of B's rows is different after some work. */
export async function changesAtB({ service, b }: World, work: () => Promise<unknown>): Promise<string[]> {
  const before = await rowsOf(service, b.id);
  await work();
  const after = await rowsOf(service, b.id);
  return [...new Set([...before, ...after])]
    .filter((row) => before.has(row) !== after.has(row))
    .map((row) => `changes ${row}`);
}

/** Which of B's things are in a text, but for those that were sent. */
export function leaksIn(world: World, text: string, sent: readonly string[] = []): string[] {
  const unsaid = sent.reduce((rest, value) => (value === "" ? rest : rest.replaceAll(value, "")), text);
  return world.marks.filter((mark) => unsaid.includes(mark)).map((mark) => `shows ${mark}`);
}

interface Life extends Marks {
  readonly twin: Twin;
  readonly id: string;
  readonly linkId: string;
  readonly fieldPartnerId: string;
}

/** Cases, a link, payments, an adjustment, holds, a withdrawal; all that came of it is delivered. */
async function begin(service: TestService, marks: Marks): Promise<Life> {
  const { mark, letter, owed, payments } = marks;
  const twin = await aLender(service, { name: `${mark}-lender`, technicalContacts: [`${mark}@lender.example`] });
  const { id } = (await lenderByCode(service.app.database.em(), twin.code))!;
  const row = (loan: string, amount = owed) =>
    aRow(loan, { borrowerName: `${mark}-borrower`, outstandingAmount: amount, metadata: { note: `${mark}-note` } });
  const shared = Array.from({ length: SHARED_LOANS }, (_, place) => sharedLoan(place + 1));
  const own = Array.from({ length: LOANS_OF_B }, (_, place) => loanOf(letter, place + 1));
  await twin.importCases([...shared, ...own, "SHARED-held", "SHARED-gone"].map((loan) => row(loan)));
  const paidAt = new Date().toISOString();
  for (let number = 1; number <= payments; number += 1) {
    const payment = { amount: 10, reference: `only-${letter}-reference-${number}`, paidAt, mode: "upi" };
    const answers = await Promise.all([...shared, ...own].map((loan) => twin.confirm(loan, payment)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  }
  await twin.importCases([
    row("SHARED-held", owed + 1),
    { sourceLoanNumber: "SHARED-held", action: "hold", reason: `${mark}-reason` },
  ]);
  await twin.importCases([{ sourceLoanNumber: "SHARED-gone", action: "withdraw", reason: `${mark}-reason` }]);
  const link = await aLink(service, twin, "SHARED-held");
  await twin.waitForEvents(() => [...shared, ...own].every((loan) => twin.loans.get(loan)?.sequence === 1 + payments));
  return { ...marks, twin, id, ...link };
}

async function aLink(service: TestService, twin: Twin, loan: string) {
  await twin.importCases([{ sourceLoanNumber: loan, action: "release" }]);
  const { id: fieldPartnerId, accessToken } = await aFieldPartner(service);
  await assign(service, twin.code, loan, fieldPartnerId);
  const app = new AppClient(service.url, accessToken);
  const asked = await askForLink(app);
  const url = await vi.waitUntil(async () => (await linkNow(app, asked)).url, { timeout: 20_000 });
  await twin.importCases([{ sourceLoanNumber: loan, action: "hold", reason: "dispute" }]);
  return { fieldPartnerId, linkId: url.slice(url.lastIndexOf("/") + 1) };
}

/** Events that wait and that were given up, a replay under way, and keys that have ended. */
async function end(service: TestService, cli: Cli, life: Life): Promise<Side> {
  const { mark, owed, twin, id, linkId, fieldPartnerId } = life;
  const [apiKeyId, hmacSecret] = [...twin.secrets][0]!;
  const replay = await twin.call("POST", `${DELIVERIES}/replay`, { state: "delivered", ratePerSecond: 7 });
  await twin.importCases(["late", "lost"].map((name) => aRow(`${mark}-${name}`, { outstandingAmount: owed })));
  const parked = "update webhooks.delivery set state = 'parked', attempts = 3, settled_at = now() where lender_id = $1";
  await service.app.database.pool.query(`${parked} and loan = $2`, [id, `${mark}-lost`]);
  const eventIds = ["late", "SHARED-gone", "lost"].map(async (name) => {
    const loan = name.startsWith("SHARED") ? name : `${mark}-${name}`;
    const { body } = await twin.call<{ deliveries: { eventId: string }[] }>("GET", `${DELIVERIES}?loan=${loan}`);
    return body.deliveries[0]!.eventId;
  });
  const [revokedKey, retiredKey] = [await anotherKey(cli, twin), await anotherKey(cli, twin)];
  await cli.json("key", "revoke", revokedKey.apiKeyId, "--reason", "lost");
  await cli.json("key", "retire", retiredKey.apiKeyId, "--on", "2099-01-01");
  // Its day has come.
  const retired = "update lenders.api_key set retires_at = now() - interval '1 minute' where id = $1";
  await service.app.database.pool.query(retired, [retiredKey.apiKeyId]);
  return {
    id,
    twin,
    key: { apiKeyId, hmacSecret },
    revokedKey,
    retiredKey,
    eventIds: await Promise.all(eventIds),
    replayId: String(replay.body["replayId"]),
    linkId,
    fieldPartnerId,
  };
}

async function anotherKey(cli: Cli, { code }: Twin): Promise<Key> {
  const { apiKeyId, hmacSecret } = await cli.json("key", "create", code);
  return { apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) };
}

/** Every id of B's rows that A's rows do not have, as it is inside and outside, and what else only B has. */
async function marksOf(service: TestService, b: Side, a: Side): Promise<string[]> {
  const ids = async (side: Side) => new Set([...(await rowsOf(service, side.id))].flatMap((row) => row.match(UUID)));
  const ofA = await ids(a);
  const ofB = [...(await ids(b))].filter((id) => id !== null && !ofA.has(id)) as string[];
  const { twin, key, revokedKey, retiredKey, linkId } = b;
  const keys = [key, revokedKey, retiredKey].flatMap(({ apiKeyId, hmacSecret }) => [apiKeyId, hmacSecret]);
  const texts = ["leak-B", "71234.57", "7123457", "71214.57", `"${twin.code}"`, twin.url, twin.mintAuth.value, linkId];
  return [...texts, ...keys, ...ofB, ...ofB.map((id) => id.replaceAll("-", ""))];
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

async function rowsOf({ app }: TestService, lenderId: string): Promise<Set<string>> {
  const rows = Object.entries(await allRows(app)).flatMap(([table, some]) =>
    some.filter((row) => row.includes(lenderId)).map((row) => `${table} ${row}`),
  );
  return new Set(rows);
}

function sharedLoan(number: number): string {
  return `SHARED-${String(number).padStart(3, "0")}`;
}

function loanOf(letter: string, number: number): string {
  return `only-${letter}-${String(number).padStart(3, "0")}`;
}

function inRange(number: number, most: number, name: string): number {
  if (number > most) throw new Error(`The tests take more than ${most} loans: raise ${name} in isolation-world.ts.`);
  return number;
}
