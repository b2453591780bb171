/** @module-tag own-server */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { transaction } from "@collections/database";
import { createFieldPartner } from "@collections/field-partners";
import type { Crew } from "@collections/faults";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import type { App } from "../../src/app.ts";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { PARTIAL_EFFECTS } from "./fixtures/partial-effects.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, assign, testApp } from "../fixtures/fixture.ts";
import type { Selected } from "../fixtures/graphql-client.ts";
import { RetryingPhone, type PhoneRequest, phoneRequest } from "./fixtures/retrying-phone.ts";
import { type ServiceProcess, type Settings, startCrew, startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

const SEED = seedOfRun();
const SERVERS = 3;
const PEOPLE = 8;
/**
 * The number of cases of each person. It is high enough that no case reaches its limit of ten links a day before the
 * last kill. Three cases per person were too few.
 */
const CASES_EACH = 12;
const KILLS = 20;
/** The number of kills that is enough if the machine is so busy that a process takes ten seconds to start. */
const KILLS_IF_SLOW = 6;
const SLOW_MS = 40_000;
/**
 * A run proves nothing unless a kill has happened after a commit and before its answer. It continues until there was
 * such a kill, but stops after this number of kills.
 */
const MOST_KILLS = 60;
const SIGN_INS = [1, 4];

const random = seededRandom(SEED);
let settings: Settings;
let worker: ServiceProcess;
let servers: Crew;
let app: App;
let lender: Awaited<ReturnType<typeof aLender>>;
let people: Person[];
let kills = 0;
/**
 * The number of commits whose answer was lost. The test counts a commit if the database has its effects before the
 * request is repeated.
 */
let lostCommits = 0;

interface Person {
  readonly id: string;
  readonly number: string;
  readonly phone: RetryingPhone;
  readonly caseIds: string[];
  refreshToken: string;
  usedRefreshToken: string;
  readonly wrongCodes: Map<string, number>;
}

beforeAll(async () => {
  const postgres = await aDurablePostgres();
  settings = { DATABASE_URL: postgres.url, RATE_LIMITS: "off" };
  // The worker sends the one-time passwords and mints the links. This test does not kill it; other tests kill workers.
  worker = await startProcess({ ...settings, ROLE: "worker" });
  servers = await startCrew({ ...settings, ROLE: "server" }, SERVERS);
  app = await testApp(postgres.url);
  afterFile(() => app.close());
  lender = await aLender({ app, url: await serverUrl() });
  people = await Promise.all(Array.from({ length: PEOPLE }, (_, index) => aPerson(index)));
});

test(`kill -9 of servers during every mutation neither loses nor doubles an acknowledged effect, and leaves no partial effect (SEED=${SEED})`, async () => {
  const startedAt = Date.now();
  const isSlow = () => Date.now() - startedAt > SLOW_MS;
  const hasKilledEnough = () => (lostCommits > 0 && kills >= (isSlow() ? KILLS_IF_SLOW : KILLS)) || kills >= MOST_KILLS;
  const acknowledged = () => people.reduce((sum, { phone }) => sum + phone.done.length, 0);

  async function keepKilling(): Promise<void> {
    while (!hasKilledEnough()) {
      const enough = acknowledged() + 5 + random() * 20;
      while (acknowledged() < enough && !hasKilledEnough()) await pause(1);
      await pause(random() * 10);
      await servers.untilRunning(2);
      await servers.replaceOne(random);
      kills += 1;
    }
  }

  await Promise.all([keepKilling(), ...people.map((person) => keepWorking(person, hasKilledEnough))]);
  await servers.untilRunning(SERVERS);
  process.stdout.write(`${kills} kills, ${lostCommits} commits whose answer was lost\n`);
  expect(lostCommits, `in ${kills} kills no answer to a commit was lost, so the test proves nothing`).toBeGreaterThan(
    0,
  );

  await Promise.all(people.map(expectSameAnswers));
  expect(await rowsOf(PARTIAL_EFFECTS)).toEqual([]);
  for (const person of people) await expectOwnRows(person);
  for (const person of people) await expectNothingForThieves(person);
  await expectBooksHold();
});

let turn = 0;

/** Returns the URLs of the running servers in turn. Waits while no server is running. */
async function serverUrl(): Promise<string> {
  await servers.untilRunning(1);
  turn += 1;
  const urls = servers.livingUrls;
  return urls[turn % urls.length]!;
}

/**
 * Repeats rounds until the end: refreshes the tokens, makes a visit with all its mutations, and in some rounds signs in
 * on another phone.
 */
async function keepWorking(person: Person, isOver: () => boolean): Promise<void> {
  for (let round = 0; !isOver() || round <= Math.max(...SIGN_INS); round += 1) {
    await renew(person);
    await visit(person, person.caseIds[round % CASES_EACH]!);
    if (SIGN_INS.includes(round)) await useAnotherPhone(person, round === SIGN_INS[0]);
  }
}

/** Sends the requests of a visit, sometimes the end before the start. */
async function visit({ phone }: Person, caseId: string): Promise<void> {
  const [visitId, occurredAt] = [randomUUID(), new Date().toISOString()];
  const start = phoneRequest("startVisit", { visitId, caseId, occurredAt });
  const ask = phoneRequest("requestPaymentLink", { visitId, amount: { minor: "1000", currency: "INR" }, channels: [] });
  const end = phoneRequest("completeVisit", { visitId, disposition: "NOT_AT_HOME", occurredAt });
  if (random() < 0.1) return phone.sendOnce(start);
  if (random() < 0.3) {
    expect(await phone.send(end)).toMatchObject({ __typename: "VisitNotFound", isHeld: true });
    phone.done.pop();
  }
  expect(await phone.send(start)).toMatchObject({ visit: { visitId } });
  const requested = await phone.send(ask);
  expect(requested).toMatchObject({ paymentLink: { id: expect.any(String) } });
  expect(await phone.send(end)).toMatchObject({ visit: { disposition: "NOT_AT_HOME" } });
  expect(await phone.send(phoneRequest("revealContact", { caseId }))).toHaveProperty("contact");
  await resend(phone, requested.paymentLink.id);
}

async function resend(phone: RetryingPhone, paymentLinkId: string): Promise<void> {
  const query = "query ($id: ID!) { paymentLink(id: $id) { status } }";
  while ((await phone.read(query, { id: paymentLinkId })).paymentLink.status === "REQUESTED") await pause(5);
  const answer = await phone.send(phoneRequest("resendPaymentLink", { paymentLinkId, channels: ["EMAIL"] }));
  expect(answer).toEqual({ __typename: "ResendPaymentLinkPayload", paymentLink: { id: paymentLinkId } });
}

/**
 * Refreshes the session as docs/field-app says: the app stores the request's idempotency key together with the refresh
 * token.
 */
async function renew(person: Person): Promise<void> {
  const { refreshToken } = person;
  const { tokens, code } = await person.phone.send(phoneRequest("refreshSession", { refreshToken }));
  expect(code, "a client that repeats its request is never signed out").toBeUndefined();
  person.usedRefreshToken = refreshToken;
  takeTokens(person, tokens);
}

/**
 * Signs in on another phone after some wrong codes. Then ends that session, from the first phone or by a sign-out on
 * the other phone.
 */
async function useAnotherPhone(person: Person, endsFromHere: boolean): Promise<void> {
  const other = new RetryingPhone(serverUrl, onLost);
  const { otpId } = await other.send(phoneRequest("requestOtp", { phone: person.number }));
  const code = await codeFor(otpId);
  const wrong = code === "000000" ? "000001" : "000000";
  for (const triesLeft of [4, 3]) {
    const refusal = await other.send(phoneRequest("verifyOtp", { otpId, code: wrong }));
    expect(refusal).toEqual({ __typename: "OtpWrong", code: "OTP_WRONG", triesLeft });
    if (!endsFromHere) break;
  }
  person.wrongCodes.set(otpId, endsFromHere ? 2 : 1);
  const { tokens } = await other.send(phoneRequest("verifyOtp", { otpId, code, deviceName: "another" }));
  other.accessToken = tokens.accessToken;
  if (endsFromHere) {
    const { sessions } = await other.read("{ sessions { id isCurrent } }");
    const { id: sessionId } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    expect(await person.phone.send(phoneRequest("endSession", { sessionId }))).toEqual({
      __typename: "EndSessionPayload",
    });
  } else {
    const left = await other.send(phoneRequest("signOut", {}));
    expect([left.signedOut, left.error]).toContainEqual(left.error === undefined ? true : "UNAUTHENTICATED");
  }
  expect((await other.attempt(phoneRequest("signOut", {}))) ?? { result: { error: "UNAUTHENTICATED" } }).toEqual({
    result: { error: "UNAUTHENTICATED" },
  });
  // Skip sign-outs: they cannot be repeated with the token of the ended session.
  person.phone.done.push(...other.done.filter(({ mutation }) => mutation !== "signOut"));
}

/** Expects that repeats of acknowledged requests get the same answers. */
async function expectSameAnswers({ phone }: Person): Promise<void> {
  for (const { mutation, input, answer } of phone.done) {
    if (["verifyOtp", "refreshSession"].includes(mutation)) continue;
    expect(await phone.attempt({ mutation, input }), mutation).toEqual({ result: answer });
  }
}

async function expectOwnRows({ id, phone, wrongCodes }: Person): Promise<void> {
  const count = (mutation: string) => phone.done.filter((one) => one.mutation === mutation).length;
  const [rows] = await rowsOf<object>(OWN_ROWS, [id]);
  expect(rows).toEqual({
    links: count("requestPaymentLink"),
    messages: count("resendPaymentLink"),
    completed: count("completeVisit"),
    reveals: count("revealContact"),
    sessions: phone.done.filter(({ answer }) => answer.__typename === "VerifyOtpPayload").length,
    codes: count("requestOtp"),
  });
  const { rows: tries } = await app.database.pool.query(
    "select id, wrong_tries from field_partners.otp where id = any($1)",
    [[...wrongCodes.keys()]],
  );
  expect(new Map(tries.map(({ id: otpId, wrong_tries }) => [otpId, wrong_tries]))).toEqual(wrongCodes);
  for (const otpId of wrongCodes.keys()) expect(codesSent(otpId)).toHaveLength(1);
}

/** Expects that a used refresh token gets no new tokens, and that its session ends. */
async function expectNothingForThieves({ phone, refreshToken, usedRefreshToken }: Person): Promise<void> {
  const thief = new RetryingPhone(serverUrl, onLost);
  expect(await thief.send(phoneRequest("refreshSession", { refreshToken: usedRefreshToken }))).toEqual(ENDED);
  expect(await phone.send(phoneRequest("refreshSession", { refreshToken }))).toEqual(ENDED);
}

/** Expects that minted links can be paid, and that the verification of the books succeeds. */
async function expectBooksHold(): Promise<void> {
  lender.connect({ serviceUrl: await serverUrl() });
  for (const linkId of [...lender.links.keys()].slice(-5)) expect((await lender.pay(linkId)).status).toBe(200);
  const cli = commandsInProcess(settings);
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true, totalProblems: 0, counts: { bookings: 5 } });
  expect(await rowsOf(PARTIAL_EFFECTS)).toEqual([]);
}

const ENDED = { __typename: "SessionEnded", code: "SESSION_ENDED" };

/** Creates a field partner who has signed in and has cases. */
async function aPerson(index: number): Promise<Person> {
  const number = `+91970000000${index}`;
  const { id } = await transaction(app.database.em(), (tx) =>
    createFieldPartner(tx, { displayName: "Asha Rao", phone: number }),
  );
  const loans = Array.from({ length: CASES_EACH }, (_, at) => `LN-${index}-${at}`);
  await lender.importCases(loans.map((loan) => aRow(loan)));
  for (const loan of loans) await assign({ app }, lender.code, loan, id);
  const phone = new RetryingPhone(serverUrl, onLost);
  const { otpId } = await phone.send(phoneRequest("requestOtp", { phone: number }));
  const { tokens } = await phone.send(phoneRequest("verifyOtp", { otpId, code: await codeFor(otpId) }));
  phone.accessToken = tokens.accessToken;
  const { cases } = await phone.read("{ cases { edges { node { id } } } }");
  const caseIds = cases.edges.map(({ node }: Selected) => node.id as string);
  const wrongCodes = new Map<string, number>([[otpId, 0]]);
  return { id, number, phone, caseIds, wrongCodes, refreshToken: tokens.refreshToken, usedRefreshToken: "" };
}

function takeTokens(
  person: Person,
  { accessToken, refreshToken }: { accessToken: string; refreshToken: string },
): void {
  person.phone.accessToken = accessToken;
  person.refreshToken = refreshToken;
}

function codesSent(otpId: string): string[] {
  const lines = worker.log().split("\n");
  return lines.filter((line) => line.includes(otpId)).flatMap((line) => /sign-in code (\d{6})/.exec(line)?.[1] ?? []);
}

async function codeFor(otpId: string): Promise<string> {
  while (codesSent(otpId).length === 0) await pause(10);
  return codesSent(otpId)[0]!;
}

/** Called after an attempt without an answer. Counts the attempt if its effects were committed. */
async function onLost({ input }: PhoneRequest): Promise<void> {
  const { idempotencyKey } = input;
  if ((await rowsOf(DONE_UNDER_KEY, [idempotencyKey])).length > 0) lostCommits += 1;
}

async function rowsOf<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await app.database.pool.query<Row>(text, values)).rows;
}

const DONE_UNDER_KEY = `
  select key from field_partners.mutation_result where key = $1
  union all select used_key from field_partners.token_pair where used_key = $1
  union all select idempotency_key from field_partners.otp where idempotency_key = $1 or verified_key = $1`;

const OWN_ROWS = `
  select
    (select count(*)::int from payment_links.payment_link l where l.field_partner_id = $1) as links,
    (select count(*)::int from payment_links.link_delivery d
     join payment_links.payment_link l on l.lender_id = d.lender_id and l.id = d.payment_link_id
     where l.field_partner_id = $1) as messages,
    (select count(*)::int from cases.visit v where v.field_partner_id = $1 and v.completed_at is not null) as completed,
    (select count(*)::int from field_partners.audit_entry a
     where a.field_partner_id = $1 and a.act = 'contact.revealed') as reveals,
    (select count(*)::int from field_partners.session s where s.field_partner_id = $1) as sessions,
    (select count(*)::int from field_partners.otp o where o.field_partner_id = $1) as codes`;
