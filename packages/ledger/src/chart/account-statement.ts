import { createHash } from "node:crypto";
import { BEFORE_ALL_IDS, type EntityManager, query, statement } from "@collections/database";
import { statementName } from "../tables/statement-name.ts";
import type { Balances } from "./balances.ts";
import type {
  AccountStatement,
  AccountStatementEntry,
  AccountStatementQuery,
  ChartTransfer,
  TransfersQuery,
} from "./chart.ts";
import { invalidPosting, isUuid, shown } from "./posting-input.ts";

const MAX_PAGE = 1_000;
const MAX_TRANSFERS = 10_000;

/** Reads transfers page by page. */
export interface TransferPages {
  /** Returns a page of an account's statement, or undefined if the account was never opened in the book. */
  ofAccount(em: EntityManager, of: AccountStatementQuery): Promise<AccountStatement | undefined>;
  ofSubject(em: EntityManager, about: TransfersQuery): Promise<ChartTransfer[]>;
}

/** Builds the SQL that reads transfers page by page. */
export function transferPages(schema: string, balances: Balances): TransferPages {
  const { selectEntries, selectOfSubject } = statements(schema);
  return {
    async ofAccount(em, of) {
      const { book, account, until, after, limit = 100 } = of;
      checkLimit(limit, MAX_PAGE);
      const start = after === undefined ? await openingAt(em, of) : readCursor(after, of);
      if (start === undefined) return undefined;
      const { micros, id, balanceMinor } = start;
      const values = [book, account, micros, id, until === undefined ? null : microsOf(until), limit + 1];
      const rows = await query<StatementRow>(em, selectEntries, values);
      let closingMinor = balanceMinor;
      const entries = rows.slice(0, limit).map((row): AccountStatementEntry => {
        const { micros: _, ...transfer } = row;
        const changeMinor = transfer.debit === account ? transfer.amountMinor : -transfer.amountMinor;
        closingMinor += changeMinor;
        return { ...transfer, changeMinor, balanceMinor: closingMinor };
      });
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const next = last && writeCursor({ micros: last.micros.toString(), id: last.id, balanceMinor: closingMinor }, of);
      return { openingMinor: balanceMinor, entries, closingMinor, next };
    },
    async ofSubject(em, { book, subject, after, limit }) {
      if (limit !== undefined) checkLimit(limit, MAX_TRANSFERS);
      if (after !== undefined && !isUuid(after)) {
        const message = `after is ${shown(after)}; expected the id of the last transfer of the page before.`;
        throw invalidPosting("PAGE_INVALID", 0, message);
      }
      const values = [book, subject, after ?? BEFORE_ALL_IDS, limit ?? MAX_TRANSFERS + 1];
      const rows = await query<ChartTransfer>(em, selectOfSubject, values);
      if (limit !== undefined || rows.length <= MAX_TRANSFERS) return rows;
      const message = `The subject ${subject} has more than ${MAX_TRANSFERS} transfers; ask for pages with limit and after.`;
      throw invalidPosting("PAGE_INVALID", 0, message);
    },
  };

  /** The place before the first entry. Undefined if the account was never opened in the book. */
  async function openingAt(
    em: EntityManager,
    { book, account, from }: AccountStatementQuery,
  ): Promise<Place | undefined> {
    const found =
      from === undefined ? await balances.of(em, book, account) : await balances.before(em, book, account, from);
    if (found === undefined) return undefined;
    return from === undefined
      ? { micros: null, id: BEFORE_ALL_IDS, balanceMinor: 0n }
      : { micros: microsOf(from), id: BEFORE_ALL_IDS, balanceMinor: found.balanceMinor };
  }
}

/** The place after an entry of a statement, or before all entries of a time, with the balance there. */
interface Place {
  /** Microseconds since 1970, because PostgreSQL's times are finer than those of Date. Null before all times. */
  readonly micros: string | null;
  readonly id: string;
  readonly balanceMinor: bigint;
}

type StatementRow = ChartTransfer & { readonly micros: bigint };

function microsOf(time: Date): string {
  return (BigInt(time.getTime()) * 1_000n).toString();
}

/** The account is in the cursor, because the balance of another one would be wrong. */
function writeCursor({ micros, id, balanceMinor }: Place, of: AccountStatementQuery): string {
  return Buffer.from([micros, id, balanceMinor, markOf(of)].join()).toString("base64url");
}

function markOf({ book, account }: AccountStatementQuery): string {
  return createHash("sha256").update(`${book.toLowerCase()} ${account}`).digest("hex").slice(0, 16);
}

function readCursor(after: unknown, of: AccountStatementQuery): Place {
  const text = typeof after === "string" ? Buffer.from(after, "base64url").toString() : "";
  const [micros = "", id, balance = "", mark, ...more] = text.split(",");
  const isPlace = /^-?\d{1,18}$/.test(micros) && isUuid(id) && /^-?\d{1,38}$/.test(balance);
  if (isPlace && mark === markOf(of) && more.length === 0) {
    return { micros, id, balanceMinor: BigInt(balance) };
  }
  throw invalidPosting(
    "PAGE_INVALID",
    0,
    `after is ${shown(after)}; expected the next of the page before, of this account.`,
  );
}

function checkLimit(limit: unknown, most: number): void {
  if (Number.isSafeInteger(limit) && (limit as number) >= 1 && (limit as number) <= most) return;
  const message = `limit is ${shown(limit)}; expected a whole number from 1 to ${most}.`;
  throw invalidPosting("PAGE_INVALID", 0, message);
}

function statements(schema: string) {
  const columns = `id, lender_id as book, kind, debit_account as debit, credit_account as credit, amount_minor as "amountMinor",
         currency::text as currency, subject_id as subject, memo, metadata, corrects, effective_at as "effectiveAt",
         recorded_at as "recordedAt"`;
  const time = (parameter: string) => `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;
  const page = (side: string) => `(select ${columns}, (extract(epoch from effective_at) * 1000000)::bigint as micros
         from ${schema}.transfer
         where lender_id = $1 and ${side}_account = $2
           and (effective_at, id) > (coalesce(${time("$3")}, '-infinity'), $4::uuid)
           and effective_at < coalesce(${time("$5")}, 'infinity')
         order by effective_at, id limit $6)`;
  return {
    selectEntries: statement(
      statementName(schema, "account-statement"),
      `select * from (${page("debit")} union all ${page("credit")}) entry order by "effectiveAt", id limit $6`,
    ),
    selectOfSubject: statement(
      statementName(schema, "transfers-of-subject"),
      `select ${columns}
       from ${schema}.transfer where lender_id = $1 and subject_id = $2 and id > $3 order by id limit $4`,
    ),
  };
}
