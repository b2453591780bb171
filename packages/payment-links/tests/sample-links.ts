import { migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database, type DatabaseOptions } from "@collections/entities";
import { currency } from "@collections/money";
import { ANSWER_LIMIT_MS, testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import {
  claimMint,
  type LinkKey,
  type LinkRequest,
  lockLinksOfCase,
  type MintedLink,
  type PaymentLink,
  type RecordedMint,
  recordMinted,
  requestLink,
} from "../src/index.ts";
import { paymentLinksSchema } from "../src/schema.ts";

/** The default time of everything that happens in these tests. */
export const NOON = new Date("2026-11-20T12:00:00.000Z");

export function minutesLater(minutes: number): Date {
  return new Date(NOON.getTime() + minutes * 60_000);
}

/**
 * Creates a migrated database for this test file, and closes it after the tests. `onStatement` gets each SQL statement.
 */
export async function linksDatabase(onStatement?: DatabaseOptions["onStatement"]): Promise<Database> {
  const { url } = await testDatabase("payment_links", async (at) => {
    await migrate({ url: at, schemas: [paymentLinksSchema] });
  });
  const database = await createDatabase({
    url,
    schemas: [paymentLinksSchema],
    answerTimeoutMs: ANSWER_LIMIT_MS,
    ...(onStatement && { onStatement }),
  });
  afterAll(() => database.close());
  return database;
}

/** Returns a request whose lender, case, visit and field partner are new. */
export function aRequest(given: Partial<LinkRequest> = {}): LinkRequest {
  return {
    lenderId: newId(),
    caseId: newId(),
    sourceLoanNumber: "LN-1001",
    visitId: newId(),
    fieldPartnerId: newId(),
    amountMinor: 250_000n,
    currency: currency("INR"),
    ...given,
  };
}

export function aRequestedLink(database: Database, given: Partial<LinkRequest> = {}, at = NOON): Promise<PaymentLink> {
  return transaction(database.em(), (tx) => requestLink(tx, aRequest(given), at));
}

/** Creates a minted link, with `linkId` as the lender's id. Default: a new id. */
export async function aMintedLink(
  database: Database,
  given: Partial<LinkRequest> = {},
  linkId = `plink_${newId()}`,
): Promise<PaymentLink> {
  const requested = await aRequestedLink(database, given);
  await claimMint(database.em(), { ...requested, now: NOON });
  const url = `https://pay.lender.example/${linkId}`;
  const { link } = await mintedBy(database, requested, { linkId, url }, NOON);
  return link;
}

/** Records that the lender has minted the link. */
export function mintedBy(database: Database, key: LinkKey, minted: MintedLink, now: Date): Promise<RecordedMint> {
  return transaction(database.em(), async (tx) => recordMinted(tx, await lockLinksOfCase(tx, key), minted, now));
}
