import assert from "node:assert/strict";
import type { Case } from "@collections/cases";
import { query, type Queue, statement } from "@collections/database";
import type { Database } from "@collections/entities";
import type { FieldPartner } from "@collections/field-partners";
import {
  type FakeWhatsApp,
  type LenderTwin,
  type MailCatcher,
  startFakeWhatsApp,
  startLenderTwin,
  startMailCatcher,
} from "@collections/lender-twin";
import { createCredentials, type Lender, type NewLender } from "@collections/lenders";
import { createMailer, createWhatsApp } from "@collections/messaging";
import { createOutbound } from "@collections/outbound";
import { linkById, type PaymentLink } from "@collections/payment-links";
import { afterAll } from "vitest";
import type { LinkDeps } from "../src/link/link-jobs.ts";
import { requestPaymentLink, type PaymentLinkRequest } from "../src/link/request-payment-link.ts";
import { startVisit } from "../src/visit/start-visit.ts";
import { inTransaction, aCase, aFieldPartner, aLender, ALLOW, ENVIRONMENT, VAULT } from "./fixture.ts";

/** A lender, a WhatsApp server and a mail server on real sockets, with the dependencies of the jobs of links. */
export interface LinkStage {
  readonly deps: LinkDeps;
  readonly twin: LenderTwin;
  readonly whatsapp: FakeWhatsApp;
  readonly mails: MailCatcher;
  readonly lender: Lender;
  readonly fieldPartner: FieldPartner;
  /** Creates a case of the lender with a started visit. `row` extends its import row. */
  visitedCase(row?: object): Promise<VisitedCase>;
  /** Requests a link on a visit of the field partner. */
  request(visitId: string, given?: Partial<PaymentLinkRequest>): Promise<PaymentLink>;
  /** Reads the link. */
  link(of: PaymentLink): Promise<PaymentLink>;
}

export interface VisitedCase {
  readonly theCase: Case;
  readonly visitId: string;
}

const WHATSAPP = { token: "EAAG-test-token", phoneNumberId: "106540352242922" };

/** Returns the data of a queue's waiting jobs in which a field equals `value`, oldest first. */
export async function jobsWith<Data extends object>(
  database: Database,
  { name }: Queue<Data>,
  value: string,
): Promise<Data[]> {
  const jobs = await query<{ data: Data }>(database.em(), selectJobs, [name]);
  return jobs.map(({ data }) => data).filter((data) => Object.values(data).includes(value));
}

const selectJobs = statement(
  "link-stage.jobs",
  "select data from collections_jobs.job where name = $1 and state = 'created' order by created_on",
);

/** Starts the servers, and closes everything after the tests of the file. */
export async function linkStage(
  database: Database,
  { lender: given = {}, ...changes }: Partial<LinkDeps> & { lender?: Partial<NewLender> } = {},
): Promise<LinkStage> {
  const [twin, whatsapp, mails] = await Promise.all([
    startLenderTwin(),
    startFakeWhatsApp(WHATSAPP),
    startMailCatcher(),
  ]);
  const outbound = createOutbound({ allow: ALLOW });
  const mailer = createMailer({ smtpUrl: mails.smtpUrl, from: "Collections <no-reply@example.com>" });
  afterAll(async () => {
    await Promise.all([mailer.close(), outbound.close()]);
    await Promise.all([twin.close(), whatsapp.close(), mails.close()]);
  });

  const { name, value } = twin.mintAuth;
  const { lender, apiKeyId, hmacSecret } = await aLender(database, {
    mintLinkUrl: twin.mintUrl,
    mintAuthHeader: `${name}: ${value}`,
    whatsappPhoneNumberId: WHATSAPP.phoneNumberId,
    whatsappToken: WHATSAPP.token,
    whatsappTemplate: "acme_payment",
    ...given,
  });
  twin.connect({ apiKeyId, hmacSecret });
  const fieldPartner = await aFieldPartner(database);

  const deps: LinkDeps = {
    database,
    outbound,
    allow: ALLOW,
    credentials: createCredentials(() => database.em(), VAULT),
    vault: VAULT,
    mailer,
    whatsapp: createWhatsApp({ baseUrl: whatsapp.url, outbound }),
    environment: ENVIRONMENT,
    mintTimeoutMs: 300_000,
    ...changes,
  };

  async function visitedCase(row = {}): Promise<VisitedCase> {
    const theCase = await aCase(database, lender, { fieldPartner, row });
    const visitId = crypto.randomUUID();
    const start = { fieldPartnerId: fieldPartner.id, caseId: theCase.id, visitId, occurredAt: new Date() };
    assert.equal((await inTransaction(database, startVisit, start, { environment: ENVIRONMENT })).kind, "started");
    return { theCase, visitId };
  }

  async function request(visitId: string, given: Partial<PaymentLinkRequest> = {}): Promise<PaymentLink> {
    const asked = { fieldPartnerId: fieldPartner.id, visitId, amountMinor: 250_000n, currency: lender.currency };
    const outcome = await inTransaction(database, requestPaymentLink, { ...asked, ...given }, {});
    assert(outcome.kind === "requested", outcome.kind);
    return outcome.link;
  }

  async function link(of: PaymentLink): Promise<PaymentLink> {
    const found = await linkById(database.em(), of);
    assert(found);
    return found;
  }

  return { deps, twin, whatsapp, mails, lender, fieldPartner, visitedCase, request, link };
}
