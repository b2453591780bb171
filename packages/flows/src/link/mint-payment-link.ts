import { type Case, caseById } from "@collections/cases";
import { databaseTime } from "@collections/database";
import {
  lenderById,
  type LenderSigningKey,
  type MintRegistration,
  mintRegistration,
  SealedValueError,
} from "@collections/lenders";
import {
  claimMint,
  linkById,
  type MintAnswer,
  mintLink,
  type MintRequest,
  type PaymentLink,
  PaymentLinkNotFoundError,
} from "@collections/payment-links";
import { type LinkDeps, type MintJob, RECORD_FOR_MS } from "./link-jobs.ts";
import { obsoleteMintReason } from "./obsolete-request.ts";
import { recordMint } from "./record-mint.ts";
import { untilAvailable } from "./until-available.ts";

/**
 * Runs a job of `mintPaymentLinkQueue`: calls the lender at most once to mint the link, and records the link or the
 * reason why there is none. An extra job for the same link does nothing. contract: Lender-exposed endpoints, Errors
 *
 * @example
 * await database.jobs.work(mintPaymentLinkQueue, { concurrency: 128 }, ({ data }) => mintPaymentLink(links, data));
 */
export async function mintPaymentLink(deps: LinkDeps, job: MintJob): Promise<void> {
  const { lenderId, linkId } = job;

  // Read everything that the call needs, so that after the claim only the call itself can fail.
  const wanted = await wantedMint(deps, job);
  if (!wanted) return;

  // Claim the link's only mint call. If the call was claimed before, it may have been made, so it is not made again.
  const link = await claimMint(deps.database.em(), { lenderId, id: linkId });
  if (!link) return;

  // Call the lender, outside any transaction, unless the request is obsolete or cannot be sent.
  const answer = "unavailable" in wanted ? wanted : await askLender(deps, wanted, link);
  logAnswer(deps, { lenderId, paymentLinkId: linkId }, answer);

  // Record the answer. The link may now exist at the lender, so this retries while the database is unavailable.
  await untilAvailable(RECORD_FOR_MS, () => recordMint(deps, link, answer));
}

interface MintSetup {
  readonly registration: MintRegistration;
  readonly key: LenderSigningKey;
}

interface MintCall extends MintSetup {
  readonly theCase: Case;
}

type NoLink = Extract<MintAnswer, { unavailable: unknown }>;

/**
 * Returns the data for the mint call, or the reason why no call is made. Returns undefined if the link is no longer
 * `requested`, or if another job has claimed its mint call.
 */
async function wantedMint(deps: LinkDeps, job: MintJob): Promise<MintCall | NoLink | undefined> {
  const em = deps.database.em();
  const { lenderId, linkId: id, caseId } = job;
  const [link, lender, setup, now, caseOfJob] = await Promise.all([
    linkById(em, { lenderId, id }),
    lenderById(em, lenderId),
    mintSetup(deps, lenderId),
    databaseTime(em),
    caseId === undefined ? undefined : caseById(em, { lenderId, caseId }),
  ]);
  if (!link) throw new PaymentLinkNotFoundError({ lenderId, id });
  if (link.status !== "requested" || link.mintStartedAt !== null) return undefined;
  const theCase = (caseOfJob ?? (await caseById(em, link)))!;
  const obsolete = obsoleteMintReason(link, { theCase, lender: lender!, now });
  if (obsolete) return { unavailable: obsolete.reason, detail: obsolete.detail };
  return "unavailable" in setup ? setup : { ...setup, theCase };
}

async function mintSetup({ database, vault, credentials }: LinkDeps, lenderId: string): Promise<MintSetup | NoLink> {
  try {
    const registration = await mintRegistration(database.em(), vault, lenderId);
    if (!registration) return notConfigured("The lender has registered no mint-link URL.");
    const key = await credentials.signingKeyOf(lenderId);
    return key ? { registration, key } : notConfigured("The lender has no valid API key to sign the mint call with.");
  } catch (error) {
    if (error instanceof SealedValueError) return notConfigured(error.message);
    throw error;
  }
}

function notConfigured(detail: string): NoLink {
  return { unavailable: "not_configured", detail };
}

function mintRequestOf(link: PaymentLink, { borrowerName, borrowerPhone }: Case): MintRequest {
  const { sourceLoanNumber, caseId, visitId, amountMinor, currency } = link;
  const description = `Payment for loan ${sourceLoanNumber}`;
  return { sourceLoanNumber, caseId, visitId, amountMinor, currency, borrowerName, borrowerPhone, description };
}

function askLender(
  { outbound, allow, mintTimeoutMs }: LinkDeps,
  { registration, key, theCase }: MintCall,
  link: PaymentLink,
): Promise<MintAnswer> {
  return mintLink({
    outbound,
    linkUrlRule: { allow, hosts: registration.paymentLinkHosts },
    url: registration.mintLinkUrl,
    authHeader: registration.authHeader ?? undefined,
    signingKey: key.signingKey,
    keyId: key.keyId,
    mintKey: link.mintKey,
    request: mintRequestOf(link, theCase),
    timeoutMs: mintTimeoutMs,
    now: new Date(),
  });
}

/** Logs the answer. If recording fails, this line is the only trace of a minted link. */
function logAnswer({ log }: LinkDeps, about: object, answer: MintAnswer): void {
  if ("minted" in answer) log?.info({ ...about, linkId: answer.minted.linkId }, "link minted");
  else log?.warn({ ...about, reason: answer.unavailable, detail: answer.detail }, "link unavailable");
}
