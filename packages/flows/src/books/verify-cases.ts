import { type CaseBalance, receivableBalances } from "@collections/bookings";
import { caseTotals, type CaseTotals } from "@collections/cases";
import { publicId, readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { holdEvents, type KindedEvent, type LastEvents, lastEvents, lastSequences } from "@collections/webhooks";
import { shown } from "./booking-event-fields.ts";

/** A case that contradicts its ledger lines or its events. */
export interface CaseProblem {
  readonly code: "CASE_MISMATCH" | "CASE_UNLIKE_EVENTS";
  readonly table: "collection_case";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

const PAGE = 1_000;

/** The kinds of the events after which the holder of a case is known. */
const HOLDER_KINDS = ["case.created", "case.assigned", "case.unassigned", "case.reopened"];

/**
 * Compares the amounts of each case of a lender with its ledger lines. Compares the sequence, the status and the field
 * partner of each current case with the last events of its loan. What only deleted events would show is not compared.
 */
export async function verifyCases(
  em: EntityManager,
  lenderId: string,
): Promise<{ problems: CaseProblem[]; count: number }> {
  const problems: CaseProblem[] = [];
  let count = 0;
  let after: string | undefined;
  do {
    const page = await readSnapshot(em, (tx) => checkPage(tx, lenderId, after));
    problems.push(...page.problems);
    count += page.count;
    after = page.last;
  } while (after !== undefined);
  return { problems, count };
}

async function checkPage(
  tx: Tx,
  lenderId: string,
  after: string | undefined,
): Promise<{ problems: CaseProblem[]; count: number; last: string | undefined }> {
  await holdEvents(tx);
  const page = await caseTotals(tx, lenderId, after, PAGE);
  const last = page.length === PAGE ? page.at(-1)?.id : undefined;
  const balances = new Map((await receivableBalances(tx, lenderId, after, PAGE)).map((one) => [one.caseId, one]));
  const loans = page.filter(({ isCurrent }) => isCurrent).map(({ sourceLoanNumber }) => sourceLoanNumber);
  const sequences = await lastSequences(tx, lenderId, loans);
  const events = await lastEvents(tx, lenderId, loans, HOLDER_KINDS);
  const problems = page.flatMap((theCase) => {
    const { id, isCurrent, sourceLoanNumber: loan, sequence } = theCase;
    const lastSequence = isCurrent ? (sequences.get(loan) ?? 0n) : sequence;
    const mismatches = [...moneyFaults(theCase, balances.get(id)), ...sequenceFaults(theCase, lastSequence)];
    const unlike = isCurrent ? eventFaults(theCase, events.get(loan)) : [];
    const problem = (code: CaseProblem["code"], detail: string): CaseProblem => {
      return { code, table: "collection_case", id, lenderId, detail: `${loan}: ${detail}` };
    };
    return [
      ...mismatches.map((detail) => problem("CASE_MISMATCH", detail)),
      ...unlike.map((detail) => problem("CASE_UNLIKE_EVENTS", detail)),
    ];
  });
  return { problems, count: page.length, last };
}

/** Compares the amounts of a case with its ledger lines. A case without lines must have no amounts. */
function moneyFaults(theCase: CaseTotals, balance: CaseBalance | undefined): string[] {
  const pairs = [
    ["outstanding", theCase.outstandingMinor, balance?.outstandingMinor ?? 0n],
    ["total collected", theCase.totalCollectedMinor, balance?.collectedMinor ?? 0n],
    ["total reversed", theCase.totalReversedMinor, balance?.reversedMinor ?? 0n],
    ["excess", theCase.excessMinor, balance?.excessMinor ?? 0n],
  ] as const;
  return pairs.flatMap(([what, said, booked]) =>
    said === booked ? [] : [`The case has ${what} ${said}, but its lines add up to ${booked} (minor units).`],
  );
}

function sequenceFaults({ sequence }: CaseTotals, lastSequence: bigint): string[] {
  return sequence === lastSequence
    ? []
    : [`The case is at sequence ${sequence}, its last event has sequence ${lastSequence}.`];
}

/** Compares the status of a case with its last event, and its field partner with the last event that changed it. */
function eventFaults(theCase: CaseTotals, events: LastEvents | undefined): string[] {
  const { last, lastOfKinds } = events ?? {};
  const faults: string[] = [];
  const status = last === undefined ? theCase.status : objectIn(last.body)["status"];
  if (status !== theCase.status) {
    faults.push(`The case has the status ${theCase.status}; its last event, ${nameOf(last!)}, says ${shown(status)}.`);
  }
  const holder = lastOfKinds === undefined ? undefined : holderAfter(lastOfKinds);
  const own = theCase.assignedFieldPartnerId;
  const ownId = own === null ? null : publicId("fp", own);
  if (holder !== undefined && holder !== ownId) {
    const after = `its last event about that, ${nameOf(lastOfKinds!)}, says ${shown(holder)}`;
    faults.push(`The case is assigned to ${ownId ?? "nobody"}; ${after}.`);
  }
  return faults;
}

function nameOf({ kind, sequence }: KindedEvent): string {
  return `${kind} with sequence ${sequence}`;
}

/**
 * Returns the public id of the field partner who has the case after the event, null if nobody has it, and undefined if the
 * event does not say so.
 */
function holderAfter({ kind, body }: KindedEvent): unknown {
  if (kind === "case.created" || kind === "case.unassigned") return null;
  const { fieldPartner } = Object(objectIn(body)["data"]) as { fieldPartner?: unknown };
  if (fieldPartner === undefined || fieldPartner === null) return fieldPartner;
  return (Object(fieldPartner) as { id?: unknown }).id ?? null;
}

function objectIn(body: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
