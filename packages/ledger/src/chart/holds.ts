import { type EntityManager, query, send, statement, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { statementName } from "../tables/statement-name.ts";
import { ledgerCheck, type LedgerCheck } from "../verification/verify-checks.ts";
import type { PendingHold, TransferMetadata } from "./chart.ts";
import { constraintOf, invalidPosting, InvalidPostingError, minimumTranslator } from "./posting-input.ts";

/** The columns of a hold. */
export interface HoldRow {
  readonly id: string;
  readonly lenderId: string;
  readonly debitAccount: string;
  readonly creditAccount: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly kind: string;
  readonly subjectId: string | null;
  readonly memo: string;
  readonly metadata: TransferMetadata | null;
  readonly expiresAt: Date;
  readonly recordedAt: Date;
}

/** The holds in a schema. */
export interface Holds {
  add(tx: Tx, row: HoldRow): void;
  /** @throws InvalidPostingError (HOLD_UNKNOWN) */
  find(tx: Tx, book: string, hold: string): Promise<PendingHold>;
  /**
   * Ends a pending hold: posted by a transfer, or voided if `transferId` is null. Waits for a concurrent end of it.
   * @throws InvalidPostingError with HOLD_UNKNOWN, HOLD_ENDED or HOLD_EXPIRED
   */
  end(tx: Tx, book: string, hold: string, transferId: string | null): Promise<void>;
  pending(em: EntityManager, book: string, account: string): Promise<PendingHold[]>;
  /** Compares the holds that were posted with their transfers. */
  readonly check: LedgerCheck;
}

/** Builds the SQL of the holds in a schema. */
export function holdsOf(schema: string): Holds {
  const { insertHold, selectHold, insertEnd, selectPending } = statements(schema);
  return {
    add(tx, row) {
      const { lenderId, id, debitAccount, creditAccount, amountMinor, currency, kind, subjectId, memo } = row;
      const { metadata, expiresAt, recordedAt } = row;
      const values = [
        lenderId,
        id,
        debitAccount,
        creditAccount,
        amountMinor.toString(),
        currency,
        kind,
        subjectId,
        memo,
      ];
      const json = metadata && JSON.stringify(metadata);
      send(tx, insertHold, [...values, json, expiresAt, recordedAt], minimumTranslator([row]));
    },
    async find(tx, book, hold) {
      const [found] = await query<PendingHold>(tx, selectHold, [book, hold]);
      if (found) return found;
      throw invalidPosting("HOLD_UNKNOWN", 0, `The book ${book} has no hold ${hold}; pass an id that hold() returned.`);
    },
    async end(tx, book, hold, transferId) {
      try {
        await query(tx, insertEnd, [book, hold, transferId, new Date()]);
      } catch (error) {
        throw endFault(hold, error);
      }
    },
    pending: (em, book, account) => query<PendingHold>(em, selectPending, [book, account]),
    check: mismatchedHolds(schema),
  };
}

/** Turns the database's rejection of a hold's end into an error that says what to do. */
function endFault(hold: string, error: unknown): unknown {
  const { message = "" } = error as Partial<Error>;
  const fault = (code: "HOLD_UNKNOWN" | "HOLD_ENDED" | "HOLD_EXPIRED", text: string) =>
    new InvalidPostingError(code, 0, `The hold ${hold} cannot be ended: ${text}.`, { cause: error });
  switch (constraintOf(error)) {
    case "hold_exists":
      return fault("HOLD_UNKNOWN", `${message}; pass an id that hold() returned`);
    case "hold_end_pkey":
      return fault("HOLD_ENDED", "it was posted or voided already; pendingHolds shows those that are left");
    case "hold_pending":
      return fault("HOLD_EXPIRED", `${message}; hold the amount again`);
    default:
      return error;
  }
}

function statements(schema: string) {
  const columns = `h.id, h.lender_id as book, h.kind, h.debit_account as debit, h.credit_account as credit,
         h.amount_minor as "amountMinor", h.currency::text as currency, h.subject_id as subject, h.memo, h.metadata,
         h.expires_at as "expiresAt", h.recorded_at as "recordedAt"`;
  const pendingOn = (side: string) => `(select ${columns} from ${schema}.hold h
         where h.lender_id = $1 and h.${side}_account = $2 and h.expires_at > now()
           and not exists (select from ${schema}.hold_end e where e.lender_id = $1 and e.hold_id = h.id)
         order by h.expires_at limit 1000)`;
  return {
    insertHold: statement(
      statementName(schema, "add-hold"),
      `insert into ${schema}.hold (lender_id, id, debit_account, credit_account, amount_minor, currency, kind, subject_id,
         memo, metadata, expires_at, recorded_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    ),
    selectHold: statement(
      statementName(schema, "hold"),
      `select ${columns} from ${schema}.hold h where h.lender_id = $1 and h.id = $2`,
    ),
    insertEnd: statement(
      statementName(schema, "end-hold"),
      `insert into ${schema}.hold_end (lender_id, hold_id, transfer_id, recorded_at) values ($1, $2, $3, $4)`,
    ),
    selectPending: statement(
      statementName(schema, "pending-holds"),
      `select * from (${pendingOn("debit")} union all ${pendingOn("credit")}) pending order by "expiresAt", id limit 1000`,
    ),
  };
}

function mismatchedHolds(schema: string): LedgerCheck {
  return ledgerCheck(
    "holds",
    statementName(schema, "verify-holds"),
    `select 'HOLD_MISMATCH' as code, 'hold' as "table", e.hold_id::text as id,
       case when h.id is null then 'It has ended, and it is not there.'
         when t.id is null then format('It was posted by the transfer %s, which is not there.', e.transfer_id)
         else format('The transfer %s does not move its amount, or a part of it, between its accounts.', t.id) end as detail
     from ${schema}.hold_end e
     left join ${schema}.hold h on h.lender_id = $1 and h.id = e.hold_id
     left join ${schema}.transfer t on t.lender_id = $1 and t.id = e.transfer_id
     where e.lender_id = $1 and (h.id is null or e.transfer_id is not null and (t.id is null
       or t.debit_account <> h.debit_account or t.credit_account <> h.credit_account or t.amount_minor > h.amount_minor))`,
  );
}
