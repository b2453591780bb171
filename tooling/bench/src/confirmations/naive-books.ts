import type { SigningKey } from "@collections/signing";
import type { Pool, PoolClient } from "pg";
import { BOOKING, TRANSFER } from "../books/one-statement.ts";
import { COMMISSION_STORED } from "../load/payment.ts";
import { timeOrderedId } from "../books/time-ordered-id.ts";

export interface Lender {
  readonly id: string;
  readonly code: string;
  readonly key: SigningKey;
}

/** A payment as in its request. */
export interface Payment {
  readonly loan: string;
  readonly amountMinor: number;
  readonly reference: string;
  readonly paidAt: string;
  readonly mode: string;
  readonly linkId: string | null;
}

interface CaseRow {
  readonly id: string;
  readonly cycle: number;
  readonly currency: string;
  readonly sequence: string;
  readonly outstanding: string;
  readonly collected: string;
  readonly fieldPartnerId: string;
  readonly visitId: string | null;
}

/** The result of a confirmation. */
export type Confirmed =
  | "unknown"
  | { readonly original: object }
  | { readonly outstandingAfter: number; readonly sequence: number };

const PERCENT_SCALE = 1_000_000;

/**
 * Books payments in the usual way: one awaited query after the other. Writes the same tables as the service. Each query
 * is sent as a text with values, as in the documentation of `pg`, so none of them is a prepared statement.
 */
export class NaiveBooks {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Books a payment once, in one transaction. The payment must not settle the loan. */
  async confirm(lender: Lender, payment: Payment): Promise<Confirmed> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      const confirmed = await book(client, lender, payment);
      await client.query("commit");
      return confirmed;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  }
}

async function book(client: PoolClient, lender: Lender, payment: Payment): Promise<Confirmed> {
  const { loan, amountMinor, reference, paidAt, mode, linkId } = payment;
  const { rows: cases } = await client.query<CaseRow>(
    `select id, cycle, currency::text as currency, sequence, outstanding_minor as outstanding,
       total_collected_minor as collected, assigned_field_partner_id as "fieldPartnerId", last_visit_id as "visitId"
     from cases.collection_case where lender_id = $1 and source_loan_number = $2 and is_current for update`,
    [lender.id, loan],
  );
  const [paid] = cases;
  if (!paid) return "unknown";
  const { rows: originals } = await client.query<object>(
    `select reference, amount_minor, paid_at from ledger.payment_booking
     where lender_id = $1 and source_loan_number = $2 and reference = $3`,
    [lender.id, loan, reference],
  );
  if (originals[0]) return { original: originals[0] };

  const outstanding = Number(paid.outstanding) - amountMinor;
  const collected = Number(paid.collected) + amountMinor;
  const sequence = Number(paid.sequence) + 1;
  const [bookingId, eventId] = [timeOrderedId(Date.now()), timeOrderedId(Date.now())];
  const now = new Date().toISOString();
  await client.query(
    `update cases.collection_case set status = 'in_progress', work_begun = true, sequence = $3, outstanding_minor = $4,
       total_collected_minor = $5, last_payment_at = greatest(last_payment_at, $6), updated_at = $7
     where lender_id = $1 and id = $2`,
    [lender.id, paid.id, sequence, outstanding, collected, paidAt, now],
  );
  await insertBooking(client, [
    lender.id,
    bookingId,
    loan,
    reference,
    paid.id,
    paid.cycle,
    amountMinor,
    paid.currency,
    mode,
    mode,
    paidAt,
    linkId,
    paid.visitId,
    paid.fieldPartnerId,
    "inferred",
    amountMinor,
    0,
    outstanding,
    collected,
    "in_progress",
    sequence,
    "[]",
    now,
  ]);
  const line = { lender, paid, bookingId, reference };
  const [direct, receivable] = [`settled_direct/${lender.id}/${paid.currency}`, `receivable/${paid.id}`];
  await insertTransfer(client, line, ["payment", direct, receivable, amountMinor, sequence, paidAt, now]);
  const earned = Math.round((amountMinor * COMMISSION_STORED) / PERCENT_SCALE);
  const [expense, pending] = [
    `commission_expense/${lender.id}/${paid.currency}`,
    `pending/${paid.fieldPartnerId}/${paid.currency}`,
  ];
  await insertTransfer(client, line, ["commission", expense, pending, earned, null, now, now]);
  await client.query(
    `insert into earnings.earning (lender_id, id, case_id, booking_id, source_loan_number, reference, field_partner_id,
       currency, base_minor, percent, amount_minor, status, earned_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12)`,
    [
      lender.id,
      timeOrderedId(Date.now()),
      paid.id,
      bookingId,
      loan,
      reference,
      paid.fieldPartnerId,
      paid.currency,
      amountMinor,
      COMMISSION_STORED,
      earned,
      now,
    ],
  );
  const body = JSON.stringify({
    eventId: publicId("evt", eventId),
    kind: "payment.collected",
    version: 1,
    env: "sandbox",
    lenderCode: lender.code,
    occurredAt: now,
    sourceLoanNumber: loan,
    caseId: publicId("case", paid.id),
    cycle: paid.cycle,
    sequence,
    status: "in_progress",
    currency: paid.currency,
    totalCollected: collected / 100,
    outstandingAfter: outstanding / 100,
    data: { reference, amount: amountMinor / 100, mode, paidAt, linkId, visitId: paid.visitId, excessAmount: 0 },
  });
  await client.query(
    `insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
     values ($1, $2, 'payment.collected', $3, $4, $5, $6)`,
    [lender.id, eventId, loan, sequence, body, now],
  );
  await client.query(
    `insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state)
     select $1, $2, id, $3, $4, 'payment.collected', 'waiting' from webhooks.endpoint where lender_id = $1`,
    [lender.id, eventId, loan, sequence],
  );
  return { outstandingAfter: outstanding / 100, sequence };
}

const BOOKING_TYPES =
  `uuid,uuid,text,text,uuid,integer,bigint,text,text,text,timestamptz,text,uuid,uuid,text,bigint,bigint,
  bigint,bigint,text,bigint,jsonb,timestamptz`.split(/,\s*/);
const BOOKING_VALUES = BOOKING_TYPES.map((type, index) => `$${index + 1}::${type}`).join(", ");

async function insertBooking(client: PoolClient, values: readonly unknown[]): Promise<void> {
  await client.query(
    `insert into ledger.payment_booking (${BOOKING}, digest)
     values (${BOOKING_VALUES}, ledger.payment_booking_digest(${BOOKING_VALUES}))`,
    [...values],
  );
}

interface Line {
  readonly lender: Lender;
  readonly paid: CaseRow;
  readonly bookingId: string;
  readonly reference: string;
}

type Move = readonly [
  kind: "payment" | "commission",
  debit: string,
  credit: string,
  amountMinor: number,
  sequence: number | null,
  effectiveAt: string,
  recordedAt: string,
];

const TRANSFER_TYPES = "uuid,uuid,text,text,bigint,text,text,uuid,uuid,uuid,bigint,text,timestamptz,timestamptz".split(
  ",",
);
const TRANSFER_VALUES = TRANSFER_TYPES.map((type, index) => `$${index + 1}::${type}`).join(", ");

async function insertTransfer(client: PoolClient, { lender, paid, bookingId, reference }: Line, move: Move) {
  const [kind, debit, credit, amountMinor, sequence, effectiveAt, recordedAt] = move;
  const memo = kind === "payment" ? `Payment ${reference}` : "Commission earned";
  await client.query(
    `insert into ledger.transfer (${TRANSFER}, digest)
     values (${TRANSFER_VALUES}, ledger.transfer_digest(${TRANSFER_VALUES}))`,
    [
      lender.id,
      timeOrderedId(Date.now()),
      debit,
      credit,
      amountMinor,
      paid.currency,
      kind,
      paid.id,
      bookingId,
      null,
      sequence,
      memo,
      effectiveAt,
      recordedAt,
    ],
  );
}

function publicId(prefix: string, id: string): string {
  return `${prefix}_${id.replaceAll("-", "")}`;
}
