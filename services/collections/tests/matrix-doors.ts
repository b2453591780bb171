import { randomUUID } from "node:crypto";
import { payoutPreview, recordPayout } from "@collections/flows";
import type { CurrencyCode } from "@collections/money";
import { type aLender, aRow, assign, type TestService } from "./fixture.ts";
import type { AppClient } from "./graphql-client.ts";
import { BUCKET, CITY, LINK_MINOR, PLACE, POSTAL_CODE, PROMISED } from "./matrix-values.ts";

export type Lender = Awaited<ReturnType<typeof aLender>>;

/** What tells one's data from another's. */
export interface Marks {
  /** In every text. */
  readonly mark: string;
  /** The end of each loan's number, but for a letter. */
  readonly tail: string;
  readonly owed: number;
  readonly part: number;
}

/** What came of the work; ids as the app knows them. */
export interface Doors {
  readonly workable: string;
  readonly held: string;
  readonly cases: readonly string[];
  readonly openVisitId: string;
  readonly liveLink: string;
  readonly paidLink: string;
  readonly noLink: string;
}

/** Everything that may happen at doors, so that each field of the schema has a value somewhere. */
export async function workDoors(
  service: TestService,
  [first, second]: readonly [Lender, Lender],
  fieldPartner: { readonly id: string; readonly client: AppClient },
  { mark, tail, owed, part }: Marks,
): Promise<Doors> {
  const { id, client } = fieldPartner;
  const loan = (place: number) => `${mark}-${tail}${"ABCDE"[place]}`;
  const row = (place: number) => aRow(loan(place), { ...borrower(mark, place), outstandingAmount: owed });
  await first.importCases([row(0), row(1), row(2), row(3)]);
  await second.importCases([row(4)]);
  for (const place of [0, 1, 2, 3]) await assign(service, first.code, loan(place), id);
  await assign(service, second.code, loan(4), id);
  const cases = await casesByTail(client);
  const [workable, paid, , held, partly] = ["A", "B", "C", "D", "E"].map((letter) => cases.get(tail + letter)!);

  // One promised, and one is there now.
  const { minor, dueOn } = PROMISED;
  const promise = { amount: { minor, currency: "INR" }, dueOn };
  await visit(client, workable!, { disposition: "PROMISE_TO_PAY", note: `${mark}-note`, promise });
  const openVisitId = await visit(client, workable!);
  const liveLink = await askForLink(client, openVisitId);

  // One paid it all by a link, and the field partner has the money; one paid a part, and gets no link.
  const paidLink = await askForLink(client, await visit(client, paid!));
  const payment = { amount: owed, reference: `${mark}-paid`, paidAt: new Date().toISOString(), mode: "upi" };
  await first.confirm(loan(1), { ...payment, linkId: await linkIdOf(client, paidLink) });
  await payOut(service, id, `${mark}-payout`);
  await second.confirm(loan(4), { ...payment, amount: part, reference: `${mark}-part` });
  second.mintBehaviour = "refuse";
  const noLink = await askForLink(client, await visit(client, partly!));

  // One disputes it.
  await visit(client, held!, { disposition: "DISPUTE" });
  return { workable: workable!, held: held!, cases: [...cases.values()], openVisitId, liveLink, paidLink, noLink };
}

/** A case that one has worked and been paid for, and that the other has now. */
export async function handOver(
  service: TestService,
  lender: Lender,
  { from, to, client }: { from: string; to: string; client: AppClient },
) {
  const loan = "shared-SH5A";
  await lender.importCases([aRow(loan, { outstandingAmount: 90_000 })]);
  await assign(service, lender.code, loan, from);
  const caseId = (await casesByTail(client)).get("SH5A")!;
  const linkId = await askForLink(client, await visit(client, caseId));
  const paidAt = new Date().toISOString();
  await lender.confirm(loan, { amount: 12_121.21, reference: "leak-B-shared", paidAt, mode: "upi" });
  await assign(service, lender.code, loan, to);
  return { caseId, linkId };
}

/** A visit that has just begun, and ended if it says how. */
async function visit(client: AppClient, caseId: string, completion?: object): Promise<string> {
  const visitId = randomUUID();
  const occurredAt = new Date().toISOString();
  await client.mutate("startVisit", { caseId, visitId, occurredAt }, "__typename");
  if (completion) await client.mutate("completeVisit", { visitId, occurredAt, ...completion }, "__typename");
  return visitId;
}

/** A link that the lender has given, or has not. */
async function askForLink(client: AppClient, visitId: string): Promise<string> {
  const wish = { visitId, amount: { minor: LINK_MINOR, currency: "INR" } };
  const { paymentLink } = await client.mutate("requestPaymentLink", wish, "paymentLink { id }");
  const watch = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { status } }";
  for await (const { data } of client.watch(watch, { id: paymentLink.id })) {
    if (data!["paymentLinkUpdated"].status !== "REQUESTED") break;
  }
  return paymentLink.id;
}

async function linkIdOf(client: AppClient, id: string): Promise<string> {
  const { data } = await client.ask("query ($id: ID!) { paymentLink(id: $id) { url } }", { id });
  const { url } = data!["paymentLink"] as { url: string };
  return url.slice(url.lastIndexOf("/") + 1);
}

async function payOut(service: TestService, fieldPartnerId: string, reference: string): Promise<void> {
  const { credited } = (await payoutPreview(service.app.database.em(), fieldPartnerId, null))!;
  const { kind } = await recordPayout(service.app.database.em(), {
    fieldPartnerId,
    currency: "INR" as CurrencyCode,
    reference,
    paidOn: new Date().toISOString().slice(0, 10),
    until: null,
    amountMinor: credited.reduce((sum, part) => sum + part.amountMinor, 0n),
  });
  if (kind !== "recorded") throw new Error(`${reference} was not paid out: ${kind}.`);
}

function borrower(mark: string, place: number): object {
  return {
    borrowerName: `${mark}-borrower`,
    borrowerPhone: mark === "leak-B" ? `+91988877766${place}` : `+91922211100${place}`,
    alternatePhones: [mark === "leak-B" ? "+919888777699" : "+919222111099"],
    borrowerEmail: `${mark.toLowerCase()}@example.com`,
    language: "hi-IN",
    minimumAmount: 100.01,
    dpd: 45,
    bucket: BUCKET,
    addresses: [{ line1: `${mark}-street`, city: CITY, postalCode: POSTAL_CODE, ...PLACE }],
    consent: { whatsapp: false },
  };
}

async function casesByTail(app: AppClient): Promise<Map<string, string>> {
  const { data } = await app.ask("{ cases(first: 100) { edges { node { id loanTail } } } }");
  const edges = data!["cases"].edges as { node: { id: string; loanTail: string } }[];
  return new Map(edges.map(({ node }) => [node.loanTail, node.id]));
}
