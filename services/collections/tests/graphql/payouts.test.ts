import { newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { addEarnings, credited, earningOn } from "@collections/earnings";
import { createFieldPartner, issueAccessToken } from "@collections/field-partners";
import { recordPayout } from "@collections/flows";
import { currency, type Percent } from "@collections/money";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const INR = currency("INR");
const lenderIds = [newId(), newId()];
const queries: string[] = [];

let service: TestService;
let countedUrl: string;
let people = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const onStatement = ({ name, text }: { name: string | undefined; text: string }) => queries.push(name ?? text);
  const database = await createDatabase({ url: service.databaseUrl, schemas, jobsSchema, onStatement });
  const server = await startHttpServer({ ...service.app, database });
  countedUrl = server.url;
  afterFile(async () => {
    await server.stop(1_000);
    await database.close();
  });
});

async function aFieldPartnerIn(timeZone: string): Promise<{ id: string; accessToken: string }> {
  const phone = `+9197${String(20_000_000 + (people += 1))}`;
  return transaction(service.app.database.em(), async (tx) => {
    const { id } = await createFieldPartner(tx, { displayName: "Asha Rao", phone, timeZone });
    return { id, accessToken: (await issueAccessToken(tx, id)).accessToken };
  });
}

/** Adds a credited earning of one rupee for each of these moments. */
async function earn(fieldPartnerId: string, moments: readonly Date[]): Promise<void> {
  const lines = moments.map((earnedAt, index) => {
    const payment = {
      lenderId: lenderIds[index % lenderIds.length]!,
      caseId: newId(),
      bookingId: newId(),
      sourceLoanNumber: "LN-1",
      reference: "pay_1",
      fieldPartnerId,
      currency: INR,
      appliedMinor: 10_000n,
    };
    return credited(earningOn(payment, 10_000n as Percent, earnedAt)!, earnedAt);
  });
  for (const ofLender of Map.groupBy(lines, ({ lenderId }) => lenderId).values()) {
    await transaction(service.app.database.em(), async (tx) => addEarnings(tx, ofLender));
  }
}

/** Records a payout with today's date for all credited earnings, which must add up to `amountMinor`. */
async function pay(fieldPartnerId: string, reference: string, amountMinor: bigint): Promise<void> {
  const paidOn = new Date().toISOString().slice(0, 10);
  const order = { fieldPartnerId, currency: INR, reference, paidOn, until: null, amountMinor };
  expect(await recordPayout(service.app.database.em(), order)).toMatchObject({ kind: "recorded" });
}

test("a page of earnings takes as many SQL queries for 100 lines of ten payouts as for one line", async () => {
  const { id, accessToken } = await aFieldPartnerIn("Asia/Kolkata");
  for (let payout = 1; payout <= 10; payout += 1) {
    await earn(
      id,
      Array.from({ length: 10 }, () => new Date()),
    );
    await pay(id, `UTR${payout}`, 1_000n);
  }
  const counted = new AppClient(countedUrl, accessToken);
  const query = `query ($first: Int!) { earnings(period: THIS_MONTH) { earned { display } paidOut { display } }
    earningLines(first: $first) { edges { node { status payout { reference amount { display } } } } } }`;
  const counts: number[] = [];
  for (const first of [1, 20, 100]) {
    queries.length = 0;
    const { data } = await counted.ask(query, { first });
    expect(data!["earnings"]).toEqual({ earned: [{ display: "₹100.00" }], paidOut: [{ display: "₹100.00" }] });
    const nodes = data!["earningLines"].edges.map(({ node }: { node: object }) => node);
    expect(nodes).toHaveLength(first);
    expect(nodes.at(-1)).toMatchObject({ status: "PAID_OUT", payout: { amount: { display: "₹10.00" } } });
    counts.push(queries.length);
  }
  // The four queries read the token, the sums, the lines, and the payouts of the lines.
  expect(counts).toEqual([4, 4, 4]);
});

test("a period of earnings includes its first moment and excludes its end, in the field partner's time zone", async () => {
  const { id, accessToken } = await aFieldPartnerIn("Europe/Berlin");
  const app = new AppClient(service.url, accessToken);
  const PERIODS = ["TODAY", "YESTERDAY", "THIS_WEEK", "LAST_WEEK", "THIS_MONTH", "LAST_MONTH"];
  const query = `{ ${PERIODS.map((period) => `${period}: earnings(period: ${period}) { from to earned { minor } }`).join(" ")} }`;
  const ask = async () =>
    (await app.ask(query)).data as Record<string, { from: string; to: string; earned: { minor: string }[] }>;
  const spans = await ask();
  expect([spans["YESTERDAY"]!.to, spans["LAST_WEEK"]!.to, spans["LAST_MONTH"]!.to]).toEqual(
    ["TODAY", "THIS_WEEK", "THIS_MONTH"].map((period) => spans[period]!.from),
  );
  const edges = Object.values(spans).flatMap(({ from, to }) => [Date.parse(from), Date.parse(to)]);
  const moments = edges.flatMap((ms) => [ms - 1, ms]);
  await earn(
    id,
    moments.map((ms) => new Date(ms)),
  );
  for (const [period, { from, to, earned }] of Object.entries(await ask())) {
    const inside = moments.filter((ms) => ms >= Date.parse(from) && ms < Date.parse(to));
    expect([period, earned]).toEqual([period, [{ minor: String(inside.length * 100) }]]);
    const clock = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "medium" });
    expect([clock.format(new Date(from)), clock.format(new Date(to))]).toEqual(["00:00:00", "00:00:00"]);
  }
});

test("a field partner cannot see another's payouts", async () => {
  const [mine, theirs] = [await aFieldPartnerIn("UTC"), await aFieldPartnerIn("UTC")];
  await earn(mine.id, [new Date()]);
  await earn(theirs.id, [new Date()]);
  await pay(theirs.id, "UTR-theirs", 100n);
  const query = `{ earningLines { edges { node { id status paidOutAt payout { reference } } } } }`;
  const lineOf = async ({ accessToken }: { accessToken: string }) =>
    (await new AppClient(service.url, accessToken).ask(query)).data!["earningLines"].edges[0].node;
  expect(await lineOf(theirs)).toMatchObject({ status: "PAID_OUT", payout: { reference: "UTR-theirs" } });
  const own = await lineOf(mine);
  expect(own).toMatchObject({ status: "CREDITED", paidOutAt: null, payout: null });
  const node = "query ($id: ID!) { node(id: $id) { ... on EarningLine { payout { reference } } } }";
  const { id } = await lineOf(theirs);
  expect((await new AppClient(service.url, mine.accessToken).ask(node, { id })).data).toEqual({ node: null });
});
