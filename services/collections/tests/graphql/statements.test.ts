/** @module-tag one-node-plan */
import { randomUUID } from "node:crypto";
import { transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { createFieldPartner } from "@collections/field-partners";
import { startFakeWhatsApp } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aCaseHolder, type CaseHolder, type CaseLender } from "../fixtures/case-holder.ts";
import { documentedOperations } from "../fixtures/documented-operations.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, type Selected } from "../fixtures/graphql-client.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";

const WHATSAPP = { token: "EAAGtoken", phoneNumberId: "106540352242922" };
/** Notifications are sent in batches after the answer, so they are not counted among an operation's queries. */
const SIGNAL = "pg_notify";

const operations = documentedOperations();
const queries: string[] = [];
let service: TestService;
let lender: CaseLender;
/** The URL of another server on the same database. Its SQL queries are collected in `queries`. */
let countedUrl: string;

const gateway = await startSmsGateway();
const whatsapp = await startFakeWhatsApp(WHATSAPP);
afterFile(() => whatsapp.close());

beforeAll(async () => {
  const messengers = { OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" };
  service = await startTestService({ settings: { ...messengers, WHATSAPP_BASE_URL: whatsapp.url } });
  const { phoneNumberId, token } = WHATSAPP;
  lender = await aLender(service, { whatsappPhoneNumberId: phoneNumberId, whatsappToken: token });
  const database = await createDatabase({
    url: service.databaseUrl,
    schemas,
    jobsSchema,
    onStatement: ({ name, text }) => text.includes(SIGNAL) || queries.push(name ?? text),
  });
  await database.jobs.start();
  const server = await startHttpServer({ ...service.app, database });
  countedUrl = server.url;
  afterFile(async () => {
    await server.stop(1_000);
    await database.close();
  });
});

describe("SQL queries of the list of cases", () => {
  const LIST = `query ($first: Int!, $filter: CaseFilter, $search: String, $sort: CaseSort, $near: NearInput) {
    cases(first: $first, filter: $filter, search: $search, sort: $sort, near: $near) { edges { node {
      id outstanding { minor } workable distanceM
      borrower { displayName } lender { name } openPromise { dueOn } activeLink { id status } } } } }`;
  const EVERYTHING = `query ($first: Int!) { cases(first: $first) { edges { node { id lender { code } openPromise { dueOn }
    activeLink { id deliveries { status } fallback { upiUri } } earnings { id } fallback { upiUri }
    estimatedEarning { formula } visits(first: 1) { edges { node { visitId } } } } } } }`;
  let me: CaseHolder;
  let counted: AppClient;
  let bothLenders: string[];

  beforeAll(async () => {
    const other = await aLender(service, { name: "Bolt Credit" });
    bothLenders = [lender.code, other.code];
    me = await aCaseHolder(service);
    await me.cases(lender, ...Array.from({ length: 95 }, () => ({})));
    const others = await me.cases(other, ...Array.from({ length: 5 }, () => ({})));
    for (const caseId of others) await me.mintedLink(caseId);
    counted = new AppClient(countedUrl, me.accessToken);
  });

  test("are six for a page of 1, 20 or 100 cases with some relations, whatever the filter and the sort order", async () => {
    const filter = { status: ["ASSIGNED", "IN_PROGRESS"], lender: bothLenders, workable: true };
    const near = { latitude: 19, longitude: 72 };
    for (const args of [{}, { filter }, { search: "ravi" }, { sort: "AMOUNT" }, { sort: "NEAR_ME", near, filter }]) {
      for (const first of [1, 20, 100]) {
        queries.length = 0;
        const { data } = await counted.ask(LIST, { first, ...args });
        expect(data?.["cases"].edges).toHaveLength(first);
        expect(queries).toHaveLength(6);
      }
    }
  });

  test("are nine for a page of cases with every relation, whatever the length of the page", async () => {
    for (const first of [5, 20]) {
      queries.length = 0;
      const { data } = await counted.ask(EVERYTHING, { first });
      expect(data?.["cases"].edges).toHaveLength(first);
      expect(queries).toHaveLength(9);
    }
  });
});

test("a sync takes the same number of SQL queries for any page length, and a later sync takes one more than the first sync", async () => {
  const SYNC = `query ($since: String, $first: Int) { sync(since: $since, first: $first) { cursor goneCaseIds
    cases { id workable openPromise { dueOn } activeLink { id } } paymentLinks { id deliveries { status } } } }`;
  const me = await aCaseHolder(service);
  const cases = await me.cases(lender, ...Array.from({ length: 40 }, () => ({})));
  await Promise.all(cases.map((caseId) => me.mintedLink(caseId)));
  const counted = new AppClient(countedUrl, me.accessToken);
  for (const [since, expected] of [
    [undefined, 11],
    [Buffer.from(String(Date.now())).toString("base64url"), 12],
  ] as const) {
    for (const first of [1, 10, 40]) {
      queries.length = 0;
      const { data } = await counted.ask(SYNC, { since, first });
      expect(data?.["sync"]).toMatchObject({ cases: { length: first }, paymentLinks: { length: first } });
      expect(queries.length).toBeLessThanOrEqual(expected);
    }
  }
});

/**
 * The allowed number of SQL queries for each documented operation. The look-up of the token, `begin` and `commit` are
 * included.
 */
const ALLOWED: Readonly<Record<string, number>> = {
  RequestOtp: 8,
  VerifyOtp: 10,
  RefreshSession: 8,
  Today: 4,
  MySessions: 2,
  EndSession: 8,
  SignOut: 7,
  MyCases: 6,
  OneCase: 5,
  RevealContact: 12,
  StartVisit: 19,
  CompleteVisit: 21,
  RequestPaymentLink: 15,
  WatchLink: 6,
  WatchCases: 3,
  AskAgain: 3,
  ResendPaymentLink: 17,
  MyMoney: 3,
  Returned: 4,
  Sync: 8,
};

test("each documented operation takes at most its allowed number of SQL queries", async () => {
  const taken: Record<string, number> = {};
  let accessToken: string | undefined;

  /** Runs an operation, records its number of queries, and returns its data. */
  async function count(name: string, variables: object = {}) {
    const app = new AppClient(countedUrl, accessToken);
    queries.length = 0;
    const { data, errors } = await app.ask(operations.get(name)!, variables);
    expect(errors, name).toBeUndefined();
    taken[name] = queries.length;
    return data!;
  }

  /** Runs a mutation and returns its payload. */
  async function payloadOf(name: string, input: object) {
    const data = await count(name, { input: { idempotencyKey: randomUUID(), ...input } });
    const [result] = Object.values(data) as [{ __typename: string }];
    expect(result.__typename, JSON.stringify(result)).toBe(`${name}Payload`);
    return result as Record<string, Selected>;
  }

  // Sign in on two phones.
  const phone = "+919700000001";
  const person = await transaction(service.app.database.em(), (tx) =>
    createFieldPartner(tx, { displayName: "Asha Rao", phone }),
  );
  for (const deviceName of ["Redmi", "Nokia"]) {
    const { otpId } = await payloadOf("RequestOtp", { phone });
    const { code } = await gateway.next(otpId);
    const { tokens } = await payloadOf("VerifyOtp", { otpId, code, deviceName });
    ({ accessToken } = (await payloadOf("RefreshSession", { refreshToken: tokens.refreshToken })).tokens);
  }
  const { sessions } = await count("MySessions");
  await payloadOf("EndSession", { sessionId: sessions.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent).id });

  // Create a case, a visit, and a link that is minted, sent and resent.
  await count("Today");
  const me = await aCaseHolder(service, { id: person.id, accessToken: accessToken! });
  const [caseId] = await me.cases(lender, {});
  await count("MyCases");
  await count("OneCase", { id: caseId });
  await payloadOf("RevealContact", { caseId });
  const visitId = randomUUID();
  const occurredAt = new Date();
  await payloadOf("StartVisit", { caseId, visitId, occurredAt });
  const amount = { minor: "250000", currency: "INR" };
  const { paymentLink } = await payloadOf("RequestPaymentLink", { visitId, amount, channels: ["WHATSAPP"] });
  const { id } = paymentLink;
  await expect.poll(async () => (await count("AskAgain", { id }))["paymentLink"].status).toBe("SENT");
  queries.length = 0;
  for await (const { data } of new AppClient(countedUrl, accessToken).watch(operations.get("WatchLink")!, { id })) {
    expect(data).toMatchObject({ paymentLinkUpdated: { status: "SENT" } });
    break;
  }
  taken["WatchLink"] = queries.length;
  queries.length = 0;
  for await (const { data } of new AppClient(countedUrl, accessToken).watch(operations.get("WatchCases")!, {})) {
    expect(data).toMatchObject({ caseChanged: { kind: "SYNC" } });
    break;
  }
  taken["WatchCases"] = queries.length;
  await payloadOf("ResendPaymentLink", { paymentLinkId: id, channels: ["WHATSAPP"] });
  const promise = { amount, dueOn: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) };
  await payloadOf("CompleteVisit", { visitId, disposition: "PROMISE_TO_PAY", occurredAt, promise });

  await count("MyMoney");
  await count("Returned");
  await count("Sync");
  await payloadOf("SignOut", {});
  const tooMany = Object.entries(taken).filter(([name, count]) => !(count <= (ALLOWED[name] ?? 0)));
  expect(tooMany, "these operations take more SQL queries than ALLOWED says").toEqual([]);
  const counted = Object.keys(taken).toSorted();
  expect(counted).toEqual(Object.keys(ALLOWED).toSorted());
  expect(counted, "count each operation of docs/field-app here, and add it to ALLOWED").toEqual(
    [...operations.keys()].toSorted(),
  );
});
