import { randomUUID } from "node:crypto";
import type { Confirmation } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { startMailCatcher } from "@collections/lender-twin";
import { AmountLiteral } from "@collections/money";
import { afterFile } from "@collections/testing";
import { expect, vi } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";

/** A lender with loans in the hands of a field partner, all on one service. */
export interface Story {
  readonly service: TestService;
  readonly lender: Awaited<ReturnType<typeof aLender>>;
  readonly app: AppClient;
  /** Two loans that owe ₹5,000 each. */
  readonly loans: readonly [string, string];
}

const LIST = `{ cases(first: 20) { edges { node { id loanTail status outstanding { minor } } } } }`;

/** Sets the stage on a database of its own, or on that of the settings. */
export async function aStory(settings: Record<string, string> = {}): Promise<Story> {
  const mail = await startMailCatcher();
  afterFile(() => mail.close());
  const service = await startTestService({ settings: { SMTP_URL: mail.smtpUrl, ...settings } });
  const lender = await aLender(service);
  const fieldPartner = await aFieldPartner(service);
  const loans = ["LN-1", "LN-2"] as const;
  await importLoans({ lender, loans });
  for (const loan of loans) await assign(service, lender.code, loan, fieldPartner.id);
  return { service, lender, app: new AppClient(service.url, fieldPartner.accessToken), loans };
}

/** A file of the lender: loans that are new, known, changed or called back. */
export async function importLoans({ lender, loans }: Pick<Story, "lender" | "loans">): Promise<void> {
  const rows = loans.map((loan) => aRow(loan, { borrowerEmail: "ravi@example.com" }));
  expect(await lender.importCases(rows)).toMatchObject({ status: 200, body: { success: true } });
}

/** The field partner looks at the list, stands at the door of a loan and asks for a link, which reaches the borrower. */
export async function askForLink({ app, lender }: Story, loan: string): Promise<string> {
  const { data } = await app.ask(LIST);
  const edges = data!["cases"].edges as { node: { id: string; loanTail: string } }[];
  const caseId = edges.find(({ node }) => loan.endsWith(node.loanTail))!.node.id;
  const visitId = randomUUID();
  await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date().toISOString() }, "visit { visitId }");
  const asked = { visitId, amount: { minor: "250000", currency: "INR" } };
  const { paymentLink } = await app.mutate("requestPaymentLink", asked, "paymentLink { id }");
  await vi.waitUntil(async () => (await linkStatus(app, paymentLink.id)) === "SENT", { timeout: 10_000 });
  return [...lender.links].find(([, { sourceLoanNumber }]) => sourceLoanNumber === loan)![0];
}

/** The borrower pays by the link and the rest of the other loan without one, and the lender hears that it is closed. */
export async function payAll({ lender, loans }: Story, link: string): Promise<void> {
  const rest = { amount: 5000, reference: "UTR2", paidAt: new Date().toISOString(), mode: "upi" };
  expect(await lender.pay(link)).toMatchObject({ status: 200 });
  expect(await lender.confirm(loans[1], rest)).toMatchObject({ status: 200, body: { outstandingAfter: 0 } });
  await lender.waitForEvents((events) => events.some(({ kind }) => kind === "case.closed"));
}

/** Two lenders' borrowers pay in one turn of the event loop, by links that the service does not know. */
export async function lendersPayAtOnce({ service, lender }: Story): Promise<void> {
  const { app } = service;
  const other = await aLender(service);
  const payments = await Promise.all(
    [lender, other].map(async (one): Promise<Confirmation> => {
      await importLoans({ lender: one, loans: ["LN-77", "LN-78"] as const });
      return {
        lender: (await lenderByCode(app.database.em(), one.code))!,
        loan: "LN-77",
        amount: new AmountLiteral("5000"),
        amountIsMajorUnits: false,
        reference: "pay_77",
        paidAt: new Date(),
        mode: "upi",
        rawMode: "upi",
        linkId: "plink_77",
        warnings: [],
        acceptedAt: new Date(),
      };
    }),
  );
  const outcomes = await Promise.all(payments.map((payment) => app.confirmPayment(payment)));
  expect(outcomes.map(({ kind }) => kind)).toEqual(["booked", "booked"]);
}

async function linkStatus(app: AppClient, id: string): Promise<unknown> {
  const { data } = await app.ask("query ($id: ID!) { paymentLink(id: $id) { status } }", { id });
  return data?.["paymentLink"].status;
}
