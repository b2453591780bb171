import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { transaction } from "@collections/database";
import { createFieldPartner } from "@collections/field-partners";
import { startMailCatcher } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { buildSchema, parse, print, separateOperations, validate } from "graphql";
import { beforeAll, expect, test } from "vitest";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, type Selected } from "../fixtures/graphql-client.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";

const ROOT = new URL("../../../../", import.meta.url);
const document = parse(readFileSync(new URL("docs/field-app/operations.graphql", ROOT), "utf8"));
/** The text of each operation with the fragments that it uses, by the operation's name. */
const operations = new Map(Object.entries(separateOperations(document)).map(([name, one]) => [name, print(one)]));
const PHONE = "+919800000001";
const INR = { minor: "250000", currency: "INR" };

const gateway = await startSmsGateway();
const mail = await startMailCatcher();
afterFile(() => mail.close());

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let caseId: string;
let app: AppClient;
/** The names of the operations that a test has sent. */
const sent = new Set<string>();

beforeAll(async () => {
  service = await startTestService({
    settings: {
      ENVIRONMENT: "live",
      OTP_SMS_URL: gateway.url,
      OTP_SMS_HEADER: "Authorization: Key x",
      SMTP_URL: mail.smtpUrl,
    },
  });
  lender = await aLender(service, {}, { publicUrl: "https://pay.acme.example" });
  const { id } = await transaction(service.app.database.em(), (tx) =>
    createFieldPartner(tx, { displayName: "Asha Rao", phone: PHONE }),
  );
  ({ caseId } = await anAssignedCase(service, lender, id, {
    borrowerEmail: "ravi@example.com",
    borrowerPhone: "+919811122233",
  }));
  app = await signIn();
});

test("operations.graphql is valid for the schema, and each operation has a unique name", () => {
  const schema = buildSchema(readFileSync(new URL("services/collections/schema.graphql", ROOT), "utf8"));
  expect(validate(schema, document)).toEqual([]);
  expect([...operations.keys()]).not.toContain("");
});

test("operations.graphql signs in, renews the session, ends another session and signs out", async () => {
  const { refreshToken } = await tokens();
  const renewed = await mutate(new AppClient(service.url), "RefreshSession", { refreshToken });
  const phone = new AppClient(service.url, renewed.tokens.accessToken);
  const [own, other] = (await ask(phone, "Sessions"))["sessions"];
  expect([own.isCurrent, other.isCurrent]).toEqual([true, false]);

  const spare = await signIn();
  const list = (await ask(phone, "Sessions"))["sessions"] as { id: string; isCurrent: boolean }[];
  const spareId = list[0]!.id;
  const { sessions } = await mutate(phone, "EndSession", { sessionId: spareId });
  expect(sessions.map(({ id }: { id: string }) => id)).not.toContain(spareId);
  expect((await spare.ask(operations.get("Today")!)).errors).toMatchObject([
    { extensions: { code: "UNAUTHENTICATED" } },
  ]);

  expect(await mutate(phone, "SignOut", {})).toMatchObject({ __typename: "SignOutPayload" });
});

test("operations.graphql shows the day, the list of cases, its facets and one case", async () => {
  expect((await ask(app, "Today"))["viewer"]).toMatchObject({ displayName: "Asha Rao" });
  const { edges } = (await ask(app, "Cases", { filter: { workable: true }, sort: "PRIORITY" }))["cases"];
  expect(edges.map(({ node }: Selected) => node.id)).toEqual([caseId]);
  const { totalCount, facets } = (await ask(app, "CaseFacets"))["cases"];
  expect(totalCount).toBe(1);
  expect(facets).toMatchObject({ lender: [{ lender: { code: lender.code }, count: 1 }], workable: 1 });
  expect((await ask(app, "OneCase", { id: caseId }))["case"]).toMatchObject({
    id: caseId,
    outstanding: { minor: "500000" },
  });
  const estimate = (await ask(app, "EstimateEarning", { id: caseId, amount: INR }))["case"].estimatedEarning;
  expect(estimate.formula).toMatch(/% of ₹2,500\.00$/);
  expect((await mutate(app, "RevealContact", { caseId })).contact).toMatchObject({ phone: "+919811122233" });
});

test("operations.graphql starts a visit, requests a link, follows it until it is paid, and shows the earning", async () => {
  const visitId = randomUUID();
  const occurredAt = new Date().toISOString();
  const started = await mutate(app, "StartVisit", { visitId, caseId, occurredAt });
  expect(started.visit).toMatchObject({ visitId, isMine: true });
  const { paymentLink } = await mutate(app, "RequestPaymentLink", { visitId, amount: INR, channels: ["EMAIL"] });
  const { id } = paymentLink;

  sent.add("WatchPaymentLink");
  const statuses: string[] = [];
  for await (const { data } of app.watch(operations.get("WatchPaymentLink")!, { id })) {
    const { status } = data!["paymentLinkUpdated"];
    if (status === "SENT" && !statuses.includes("SENT")) {
      await mutate(app, "ResendPaymentLink", { paymentLinkId: id });
      await lender.pay([...lender.links.keys()].at(-1)!);
    }
    statuses.push(status);
  }
  expect(statuses.at(-1)).toBe("PAID");
  expect((await ask(app, "OnePaymentLink", { id }))["paymentLink"]).toMatchObject({ id, status: "PAID" });

  const end = { visitId, disposition: "PAID_VIA_LINK", occurredAt: new Date().toISOString() };
  expect((await mutate(app, "CompleteVisit", end)).visit).toMatchObject({ disposition: "PAID_VIA_LINK" });
  const { earned } = (await ask(app, "Earnings", { period: "TODAY" }))["earnings"];
  const [line] = (await ask(app, "EarningLines"))["earningLines"].edges;
  expect(earned).toEqual([line.node.amount]);

  const sync = (await ask(app, "Sync"))["sync"];
  expect(sync).toMatchObject({ isFull: true, cases: [{ id: caseId }], paymentLinks: [{ id, status: "PAID" }] });
  expect((await ask(app, "Sync", { since: sync.cursor }))["sync"]).toMatchObject({ isFull: false });
});

test("the tests above have sent every operation of operations.graphql to the service", () => {
  expect([...sent].toSorted()).toEqual([...operations.keys()].toSorted());
});

/** Sends an operation of the file, expects no errors, and returns its data. */
async function ask(client: AppClient, name: string, variables: object = {}): Promise<Record<string, Selected>> {
  sent.add(name);
  const { data, errors } = await client.ask(operations.get(name)!, variables);
  expect(errors, name).toBeUndefined();
  return data!;
}

/** Sends a mutation of the file with a new idempotency key, expects its payload, and returns the payload. */
async function mutate(client: AppClient, name: string, input: object): Promise<Selected> {
  const [result] = Object.values(await ask(client, name, { input: { idempotencyKey: randomUUID(), ...input } }));
  expect(result, name).toMatchObject({ __typename: `${name}Payload` });
  return result;
}

async function tokens(): Promise<{ accessToken: string; refreshToken: string }> {
  const stranger = new AppClient(service.url);
  const { otpId } = await mutate(stranger, "RequestOtp", { phone: PHONE });
  const { code } = await gateway.next(otpId);
  return (await mutate(stranger, "VerifyOtp", { otpId, code, deviceName: "Redmi Note 12" })).tokens;
}

async function signIn(): Promise<AppClient> {
  return new AppClient(service.url, (await tokens()).accessToken);
}
