import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { DemoDatabaseError } from "./demo-database.ts";
import { type Link, lastUpdate, requestLink } from "./payment-link.ts";
import { Phone } from "./phone.ts";
import { setUp, type Stage, WHATSAPP_OPTIONS } from "./stage.ts";
import { createTimeline, expected, StepFailed, type Timeline } from "./timeline.ts";

const LOAN = "LN-1001";
const SECOND_LOAN = "LN-1002";
const STEP_TIMEOUT_MS = 120_000;

interface AppCase {
  id: string;
  loanTail: string;
  status: string;
  borrower: { displayName: string; maskedPhone: string };
  outstanding: { display: string };
}

const timeline = createTimeline();
const stage = await setUp({ databaseUrl: process.env["DATABASE_URL"] || undefined }).catch((error: unknown) => {
  if (!(error instanceof DemoDatabaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
});
try {
  const phone = await opening(stage, timeline);
  await aPaymentAtTheDoor(stage, timeline, phone);
  await whatCanGoWrong(stage, timeline, phone);
  timeline.end();
} catch (error) {
  if (!(error instanceof StepFailed)) throw error;
  process.stdout.write(`\n${error.message}\n`);
  process.exitCode = 1;
} finally {
  await stage.close();
}

/** Registers a lender and a field partner, and places two cases. Returns the field partner's phone, signed in. */
async function opening(stage: Stage, { act, step }: Timeline): Promise<Phone> {
  const { twin, operator } = stage;
  act("Prologue: a lender joins");
  await step("operator", "registers Acme Finance, with its callback, its mint endpoint and its fallback", async () => {
    const { apiKeyId, hmacSecret } = await operator<{ apiKeyId: string; hmacSecret: string }>(
      "lender create --code ACME --currency INR --commission-percent 2.5 --technical-contact dev@acme.example",
      "--name=Acme Finance",
      `--callback-url ${twin.callbackUrl} --mint-link-url ${twin.mintUrl}`,
      `--mint-auth-header=${twin.mintAuth.name}: ${twin.mintAuth.value}`,
      "--fallback-upi-id acme@okbank --fallback-bank accountNumber=50100012345678,ifsc=HDFC0000123",
      WHATSAPP_OPTIONS,
    );
    twin.connect({ serviceUrl: stage.serviceUrl, apiKeyId, hmacSecret });
    await stage.connectWhatsApp("ACME");
  });
  const { fieldPartnerId } = await step("operator", "registers Asha Rao, who visits borrowers", () =>
    operator<{ fieldPartnerId: string }>("field-partner create --phone +919810000001", "--name=Asha Rao"),
  );
  const { accessToken } = await operator<{ accessToken: string }>(`field-partner token ${fieldPartnerId}`);
  await step(
    "lender",
    "signs its first request: GET /api/v1/partner/health",
    async () => {
      const { status, body } = await twin.health();
      expected(status === 200 && body["ok"] === true, () => JSON.stringify(body));
      return body;
    },
    (body) => [`the signature is right: ${body["lenderCode"] as string} in ${body["env"] as string}`],
  );
  const rows = [
    { ...row(LOAN, 5_000), borrowerEmail: "ravi@example.com", dpd: 42 },
    { ...row(SECOND_LOAN, 1_200), borrowerName: "Meera Iyer", borrowerPhone: "+919820000002" },
  ];
  await step(
    "lender",
    "checks its file in a dry run, then places two cases",
    async () => {
      const rehearsal = await twin.importCases(rows, { dryRun: true });
      expected(rehearsal.status === 200 && rehearsal.body["dryRun"] === true, () => rehearsal.rawBody);
      const { status, body, rawBody } = await twin.importCases(rows);
      expected(status === 200 && body["success"] === true, () => rawBody);
      return body["summary"] as { created: number };
    },
    ({ created }) => [`${created} cases created, ₹5,000.00 and ₹1,200.00 outstanding`],
  );
  await step("operator", "assigns both to Asha", async () => {
    await operator(`case assign ACME ${LOAN} ${fieldPartnerId}`);
    await operator(`case assign ACME ${SECOND_LOAN} ${fieldPartnerId}`);
  });
  return new Phone(stage.serviceUrl, accessToken);
}

/** Act one: two links, two payments, one closed case. */
async function aPaymentAtTheDoor(stage: Stage, timeline: Timeline, phone: Phone): Promise<void> {
  const { twin, operator, mail, whatsapp } = stage;
  const { act, step } = timeline;
  act("Act one: a payment at the door");
  const theCase = await step(
    "field partner",
    "opens her cases",
    async () => caseOf(await myCases(phone), LOAN),
    ({ borrower, outstanding }) => [`${borrower.displayName}, ${borrower.maskedPhone}, owes ${outstanding.display}`],
  );
  const visitId = await step("field partner", "stands at the door and starts a visit", () =>
    startVisit(phone, theCase),
  );
  const link = await askForLink(timeline, phone, visitId, "250000");
  const { linkId } = await step(
    "gateway",
    "has minted the link; the request had Acme's own auth header and an idempotency key",
    async () => {
      const [minted] = [...twin.links.values()];
      expected(minted !== undefined, () => "No link was minted.");
      return minted;
    },
    (minted) => [`${minted.linkId} at ${link.url ?? ""}`],
  );
  await step(
    "borrower",
    "gets the link by e-mail and by WhatsApp",
    async () => {
      const caught = await mail.waitForMail(({ text }) => text.includes(link.url ?? "?"), STEP_TIMEOUT_MS);
      await whatsapp.waitForMessages((messages) => messages.length === 1, STEP_TIMEOUT_MS);
      return caught;
    },
    ({ subject }) => [`"${subject}"`],
  );
  await step(
    "field partner",
    "sees on the phone that the message was read, as Meta has reported in signed calls",
    () => messageRead(phone, link.id),
    (statuses) => [statuses.join(" → ")],
  );
  await step(
    "borrower",
    "pays half of the debt; Acme's gateway confirms the capture",
    async () => {
      const { status, body, rawBody } = await twin.pay(linkId, { amount: 2_500 });
      expected(status === 200 && body["status"] === "in_progress", () => rawBody);
      return body;
    },
    (body) => [`outstanding ₹${String(body["outstandingAfter"])}, attributed ${body["attribution"] as string}`],
  );
  const second = await askForLink(timeline, phone, visitId, "250000");
  await step(
    "borrower",
    "pays the rest, and the case is cleared",
    async () => {
      const minted = [...twin.links.values()].at(-1)!;
      expected(minted.linkId !== linkId && second.status === "SENT", () => "No second link was minted and sent.");
      const { status, body, rawBody } = await twin.pay(minted.linkId);
      expected(status === 200 && body["status"] === "collected", () => rawBody);
      return body;
    },
    (body) => [`outstanding ₹${String(body["outstandingAfter"])}, status ${body["status"] as string}`],
  );
  await step("field partner", "completes the visit: paid via link", () => completeVisit(phone, visitId));
  await step(
    "operator",
    "reads the ledger's statement",
    async () => {
      const { cases } = await operator<{ cases: [Statement] }>(`ledger statement ACME ${LOAN}`);
      expected(cases[0].totals.outstanding === "0.00", () => JSON.stringify(cases[0].totals));
      return cases[0];
    },
    ({ lines }) =>
      lines.map(({ memo, debit, credit, balance }) => {
        const moved = debit === "0.00" ? `− ${credit}` : `+ ${debit}`;
        return `${memo.padEnd(32)} ${moved.padStart(11)}   balance ${balance.padStart(8)}`;
      }),
  );
  await step(
    "field partner",
    "sees her own money: 2.5 % of what she collected, credited",
    () => myEarnings(phone),
    (lines) => lines.map(({ amount, status, formula }) => `${amount.display} ${status.toLowerCase()}: ${formula}`),
  );
  await step(
    "lender",
    "has received every event, signed and in sequence",
    async () => {
      await twin.waitFor(() => twin.loans.get(LOAN)?.status === "collected", STEP_TIMEOUT_MS);
      const events = twin.events.filter(({ sourceLoanNumber }) => sourceLoanNumber === LOAN);
      const inOrder = events.every(({ sequence }, index) => sequence === index + 1);
      expected(inOrder, () => `Sequence: ${events.map(({ sequence }) => sequence).join(", ")}`);
      return events;
    },
    (events) => events.map(({ sequence, kind }) => `${String(sequence).padStart(2)}  ${kind}`),
  );
}

/** Act two: a repeated confirmation, and a gateway that fails. */
async function whatCanGoWrong(stage: Stage, { act, step }: Timeline, phone: Phone): Promise<void> {
  const { twin, operator } = stage;
  act("Act two: what can go wrong");
  await step(
    "lender",
    "confirms the first payment again, as if the answer had been lost",
    async () => {
      const { status, body, rawBody } = await twin.confirmCapture(twin.captures[0]!);
      expected(status === 409 && body["code"] === "DUPLICATE_CONFIRMATION" && body["matches"] === true, () => rawBody);
      return body["original"] as { sequence: number };
    },
    ({ sequence }) => [
      `409 DUPLICATE_CONFIRMATION with the original booking (sequence ${sequence}); nothing is booked twice`,
    ],
  );
  await step(
    "field partner",
    "asks for a link while Acme's gateway is failing",
    async () => {
      twin.mintBehaviour = "error500";
      const visitId = await startVisit(phone, caseOf(await myCases(phone), SECOND_LOAN));
      const link = await lastUpdate(phone, await requestLink(phone, visitId, "120000"), ["UNAVAILABLE"]);
      twin.mintBehaviour = "ok";
      expected(Boolean(link.fallback?.upiUri && link.fallback.bankAccount), () => JSON.stringify(link));
      return link;
    },
    ({ unavailableReason, fallback }) => [
      `link unavailable: ${unavailableReason ?? ""}`,
      `instead, at the door: ${fallback?.upiUri ?? ""}`,
      `or account ${fallback?.bankAccount?.accountNumber ?? ""}`,
    ],
  );
  await step(
    "operator",
    "verifies the books",
    async () => {
      const verdict = await operator<{ ok: boolean; counts: Record<string, number> }>("ledger verify");
      expected(verdict.ok, () => JSON.stringify(verdict));
      return verdict.counts;
    },
    ({ transfers, bookings, events }) => [
      `${transfers} transfers, ${bookings} bookings, ${events} events: no problem found`,
    ],
  );
}

interface Statement {
  lines: { memo: string; debit: string; credit: string; balance: string }[];
  totals: { outstanding: string };
}

function row(sourceLoanNumber: string, outstandingAmount: number) {
  return { sourceLoanNumber, outstandingAmount, borrowerName: "Ravi Kumar", borrowerPhone: "+919800000001" };
}

async function myCases(phone: Phone): Promise<AppCase[]> {
  const { cases } = await phone.ask<{ cases: { edges: { node: AppCase }[] } }>(
    "{ cases { edges { node { id loanTail status borrower { displayName maskedPhone } outstanding { display } } } } }",
  );
  return cases.edges.map(({ node }) => node);
}

function caseOf(cases: AppCase[], loan: string): AppCase {
  const found = cases.find(({ loanTail }) => loan.endsWith(loanTail));
  expected(found !== undefined, () => `No case of ${loan} among ${JSON.stringify(cases)}.`);
  return found;
}

async function startVisit(phone: Phone, theCase: AppCase): Promise<string> {
  const visitId = randomUUID();
  const input = { idempotencyKey: randomUUID(), visitId, caseId: theCase.id, occurredAt: new Date().toISOString() };
  const { startVisit: result } = await phone.ask<{ startVisit: { __typename: string; message?: string } }>(
    `mutation ($input: StartVisitInput!) {
      startVisit(input: $input) { __typename ... on UserError { code message } }
    }`,
    { input },
  );
  expected(result.__typename === "StartVisitPayload", () => JSON.stringify(result));
  return visitId;
}

async function completeVisit(phone: Phone, visitId: string): Promise<void> {
  const input = {
    idempotencyKey: randomUUID(),
    visitId,
    disposition: "PAID_VIA_LINK",
    occurredAt: new Date().toISOString(),
  };
  const { completeVisit: result } = await phone.ask<{ completeVisit: { __typename: string } }>(
    `mutation ($input: CompleteVisitInput!) {
      completeVisit(input: $input) { __typename ... on UserError { code message } }
    }`,
    { input },
  );
  expected(result.__typename === "CompleteVisitPayload", () => JSON.stringify(result));
}

/** Requests a link and watches it until it is sent, as the app does. */
async function askForLink({ step }: Timeline, phone: Phone, visitId: string, minor: string): Promise<Link> {
  const startedAt = performance.now();
  return step(
    "field partner",
    `asks for a payment link and watches it arrive`,
    async () => lastUpdate(phone, await requestLink(phone, visitId, minor), ["SENT"]),
    ({ status, amount }) => [
      `${amount.display} ${status.toLowerCase()} after ${Math.round(performance.now() - startedAt)} ms`,
    ],
  );
}

/** Watches the WhatsApp message of a link until it is read, and returns the states that it had. */
async function messageRead(phone: Phone, id: string): Promise<string[]> {
  const subscription = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { deliveries { channel status } } }";
  const seen: string[] = [];
  const deadline = delay(STEP_TIMEOUT_MS, undefined, { ref: false });
  const updates = phone.watch<{ paymentLinkUpdated: { deliveries: { channel: string; status: string }[] } }>(
    subscription,
    { id },
  );
  while (seen.at(-1) !== "READ") {
    const next = await Promise.race([updates.next(), deadline]);
    if (next === undefined || next.done)
      throw new Error(`The message had the states ${seen.join(" → ")}, and READ did not follow.`);
    const status = next.value.paymentLinkUpdated.deliveries.find(({ channel }) => channel === "WHATSAPP")?.status;
    if (status !== undefined && status !== seen.at(-1)) seen.push(status);
  }
  await updates.return(undefined);
  return seen;
}

async function myEarnings(phone: Phone) {
  const { earningLines } = await phone.ask<{
    earningLines: { edges: { node: { amount: { display: string }; status: string; formula: string } }[] };
  }>("{ earningLines { edges { node { amount { display } status formula } } } }");
  const lines = earningLines.edges.map(({ node }) => node);
  expected(lines.length === 2 && lines.every(({ status }) => status === "CREDITED"), () => JSON.stringify(lines));
  return lines;
}
