import { type Case, caseById } from "@collections/cases";
import { databaseTime } from "@collections/database";
import { lenderById } from "@collections/lenders";
import { claimMint, linkById, type MintAnswer, mintLink, PaymentLinkNotFoundError } from "@collections/payment-links";
import { type LinkDeps, type MintJob, RECORD_FOR_MS } from "./link-jobs.ts";
import { mintCallOf, mintSetup, type MintSetup, type NoLink } from "./mint-call.ts";
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
  const answer = "unavailable" in wanted ? wanted : await mintLink(mintCallOf(deps, wanted, { ...link, ...wanted }));
  logAnswer(deps, { lenderId, paymentLinkId: linkId }, answer);

  // Record the answer. The link may now exist at the lender, so this retries while the database is unavailable.
  await untilAvailable(RECORD_FOR_MS, () => recordMint(deps, link, answer));
}

interface WantedMint extends MintSetup {
  readonly theCase: Case;
}

/**
 * Returns the data for the mint call, or the reason why no call is made. Returns undefined if the link is no longer
 * `requested`, or if another job has claimed its mint call.
 */
async function wantedMint(deps: LinkDeps, job: MintJob): Promise<WantedMint | NoLink | undefined> {
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

/** Logs the answer. If recording fails, this line is the only trace of a minted link. */
function logAnswer({ log }: LinkDeps, about: object, answer: MintAnswer): void {
  if ("minted" in answer) log?.info({ ...about, linkId: answer.minted.linkId }, "link minted");
  else log?.warn({ ...about, reason: answer.unavailable, detail: answer.detail }, "link unavailable");
}
