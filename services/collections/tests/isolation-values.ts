import { randomBytes } from "node:crypto";
import { sign } from "@collections/lender-twin";
import { REFERENCE, type World } from "./isolation-world.ts";

/** Leaves a parameter or a field out. */
export const LEFT_OUT = Symbol("left out");

/** What a request says at one place. */
export interface Values {
  /** Right ones for the caller, or what makes one; where there are several, each is in a variant of the request. */
  readonly own: (world: World) => readonly unknown[];
  /** What names something of another lender's, each beside one of the same form that names nothing. */
  readonly pairs?: (world: World) => readonly (readonly [theirs: string, nobodys: string])[];
}

const HEALTH = { method: "GET", path: "/api/v1/partner/health", timestamp: "1795167667000", body: "" };
let references = 0;

/**
 * Values for every parameter and field of the REST API, by its place: `path.`, `query.` or `header.` and its name, or
 * the schema of the body and the field. What names something that is stored has `pairs`.
 */
export const VALUES: Readonly<Record<string, Values>> = {
  "path.loan": { own: ({ sharedLoan }) => [sharedLoan], pairs: aLoan },
  "path.eventId": { own: ({ a }) => a.eventIds, pairs: ({ b }) => b.eventIds.map((id) => [id, nobodys("evt")]) },
  "path.replayId": { own: ({ a }) => [a.replayId], pairs: ({ b }) => [[b.replayId, nobodys("replay")]] },

  "header.If-None-Match": { own: without, pairs: () => [['"3"', '"9"']] },
  "query.state": { own: () => [LEFT_OUT, "waiting", "delivered", "parked"] },
  "query.loan": { own: () => [LEFT_OUT, "SHARED-001"], pairs: aLoan },
  "query.since": { own: () => [LEFT_OUT, "2020-01-01T00:00:00Z"] },
  "query.cursor": {
    own: ({ a }) => [LEFT_OUT, ...a.eventIds.map((id) => id.replace("evt", "cur"))],
    pairs: ({ b }) => b.eventIds.map((id) => id.replace("evt", "cur")).map((cursor) => [cursor, next(cursor)]),
  },
  "query.limit": { own: () => [LEFT_OUT, "2"] },
  "query.dryRun": { own: () => [LEFT_OUT, LEFT_OUT, "true", "true"] },
  "query.atomic": { own: () => [LEFT_OUT, LEFT_OUT, LEFT_OUT, LEFT_OUT, "true"] },

  "ImportRequest.rows": { own: () => ["UpsertRow", "ControlRow"] },
  "ImportRequest.dryRun": { own: without },
  "ImportRequest.atomic": { own: without },

  "UpsertRow.sourceLoanNumber": {
    own: ({ sharedLoan }) => [sharedLoan],
    pairs: ({ loanOfB, nobodysLoan }) => [[loanOfB(), nobodysLoan()]],
  },
  "UpsertRow.borrowerName": { own: () => ["Asha Rao"] },
  "UpsertRow.borrowerPhone": { own: () => ["+919800000077"] },
  "UpsertRow.outstandingAmount": { own: () => [4_000] },
  "UpsertRow.action": { own: () => ["upsert"] },
  "UpsertRow.reason": { own: () => ["asked for"] },
  "UpsertRow.outstandingAsOf": { own: without },
  "UpsertRow.currency": { own: () => ["INR"] },
  "UpsertRow.country": { own: () => ["IN"] },
  "UpsertRow.minimumAmount": { own: () => [100] },
  "UpsertRow.emiAmount": { own: () => [200] },
  "UpsertRow.nextDueDate": { own: () => ["2027-01-05"] },
  "UpsertRow.overdueSince": { own: () => ["2026-10-05"] },
  "UpsertRow.dpd": { own: () => [45] },
  "UpsertRow.bucket": { own: () => ["B2"] },
  "UpsertRow.productType": { own: () => ["two wheeler"] },
  "UpsertRow.branchCode": { own: () => ["PUN"] },
  "UpsertRow.allocationRef": { own: () => ["batch 7"] },
  "UpsertRow.tags": { own: () => [["urgent"]] },
  "UpsertRow.alternatePhones": { own: () => [["+919800000078"]] },
  "UpsertRow.borrowerEmail": { own: () => ["asha@example.com"] },
  "UpsertRow.language": { own: () => ["hi-IN"] },
  "UpsertRow.addresses": { own: () => [[{ line1: "1 MG Road", city: "Pune" }]] },
  "UpsertRow.consent": { own: () => [{ whatsapp: false }] },
  "UpsertRow.doNotContactUntil": { own: without },
  "UpsertRow.metadata": { own: () => [{ zone: "west" }] },

  "ControlRow.sourceLoanNumber": { own: ({ sharedLoan }) => [sharedLoan], pairs: aLoan },
  "ControlRow.action": { own: () => ["hold", "hold", "release", "withdraw"] },
  "ControlRow.reason": { own: () => ["disputed"] },

  "PaymentConfirmation.amount": { own: () => [10] },
  "PaymentConfirmation.reference": { own: () => [reference], pairs: () => [[REFERENCE, reference()]] },
  "PaymentConfirmation.paidAt": { own: () => ["2026-11-20T09:40:55Z"] },
  "PaymentConfirmation.mode": { own: () => ["upi"] },
  "PaymentConfirmation.linkId": { own: without, pairs: ({ b }) => [[b.linkId, `plink_${"0".repeat(20)}`]] },
  "PaymentConfirmation.amountIsMajorUnits": { own: without },

  "SignatureToDebug.method": { own: () => [HEALTH.method] },
  "SignatureToDebug.path": { own: () => [HEALTH.path] },
  "SignatureToDebug.timestamp": { own: () => [HEALTH.timestamp] },
  "SignatureToDebug.signature": {
    own: ({ a }) => [sign(a.key.hmacSecret, HEALTH)],
    pairs: ({ b }) => [[sign(b.key.hmacSecret, HEALTH), sign("nobody's", HEALTH)]],
  },
  "SignatureToDebug.body": { own: without },
  "SignatureToDebug.bodyBase64": { own: without },
  "SignatureToDebug.headers": { own: without },

  "WebhookTest.kind": { own: () => ["ping"] },

  "ReplayRequest.loan": { own: () => [LEFT_OUT, "SHARED-001"], pairs: aLoan },
  "ReplayRequest.kind": { own: without },
  "ReplayRequest.since": { own: without },
  "ReplayRequest.until": { own: without },
  "ReplayRequest.state": { own: () => ["delivered", "parked"] },
  "ReplayRequest.ratePerSecond": { own: () => [5] },
  "ReplayRequest.dryRun": { own: without },
};

function without(): readonly unknown[] {
  return [LEFT_OUT];
}

function aLoan({ loanOfB, nobodysLoan }: World): readonly (readonly [string, string])[] {
  return [[loanOfB(), nobodysLoan()]];
}

function nobodys(prefix: string): string {
  return `${prefix}_${randomBytes(16).toString("hex")}`;
}

/** The id behind an id, which nothing has: a list that goes on from there begins with the very one. */
function next(id: string): string {
  const [prefix = "", hex = ""] = id.split("_");
  return `${prefix}_${(BigInt(`0x${hex}`) + 1n).toString(16).padStart(32, "0")}`;
}

function reference(): string {
  references += 1;
  return `pay_${references}`;
}
