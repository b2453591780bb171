import { type EntityManager, query, statement } from "@collections/database";

/** An event whose number does not follow the one before it on its loan (`after` is 0 for the first). */
export interface SequenceProblem {
  readonly lenderId: string;
  readonly loan: string;
  readonly fault: "gap" | "duplicate";
  readonly after: bigint;
  readonly found: bigint;
  readonly eventId: string;
}

/** Every published event is in exactly one of the four states; what is in flight counts as waiting. */
export interface DeliveryTotals {
  readonly published: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly retrying: number;
  readonly parked: number;
}

/** What breaks the promise of a sequence from 1 without gaps, of one lender or of all. contract: Envelope */
export async function sequenceProblems(em: EntityManager, lenderId?: string): Promise<SequenceProblem[]> {
  return query(em, selectProblems, [lenderId ?? null], PATIENT);
}

/** Counts by state, read in one statement, so that they agree with each other. */
export async function deliveryTotals(em: EntityManager, lenderId?: string): Promise<DeliveryTotals> {
  const [totals] = await query<DeliveryTotals>(em, countByState, [lenderId ?? null], PATIENT);
  return totals as DeliveryTotals;
}

/** The number of the last event of each loan of a lender; a loan without events is not in the map. */
export async function lastSequences(
  em: EntityManager,
  lenderId: string,
  loans: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await query<{ loan: string; sequence: bigint }>(em, selectLastSequences, [lenderId, loans]);
  return new Map(rows.map(({ loan, sequence }) => [loan, sequence]));
}

/** Reads of many rows: as long as the server itself allows a statement. */
const PATIENT = { timeoutMs: 35_000 };

const selectLastSequences = statement(
  "webhooks.last-sequences",
  `select source_loan_number as loan, max(sequence) as sequence
   from webhooks.event where lender_id = $1 and source_loan_number = any ($2::text[])
   group by source_loan_number`,
);

const selectProblems = statement(
  "webhooks.sequence-problems",
  `select lender_id as "lenderId", source_loan_number as loan,
     case when sequence = after then 'duplicate' else 'gap' end as fault, after, sequence as found, id as "eventId"
   from (
     select lender_id, source_loan_number, sequence, id,
       lag(sequence, 1, 0::bigint) over (partition by lender_id, source_loan_number order by sequence, id) as after
     from webhooks.event
     where $1::uuid is null or lender_id = $1
   ) numbered
   where sequence <> after + 1
   order by lender_id, source_loan_number, sequence`,
);

const countByState = statement(
  "webhooks.delivery-totals",
  `select (select count(*)::int from webhooks.event where $1::uuid is null or lender_id = $1) as published,
     count(*) filter (where state = 'delivered')::int as delivered,
     count(*) filter (where state = 'waiting')::int as waiting,
     count(*) filter (where state = 'retrying')::int as retrying,
     count(*) filter (where state = 'parked')::int as parked
   from webhooks.delivery
   where $1::uuid is null or lender_id = $1`,
);
