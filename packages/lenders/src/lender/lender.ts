import { isOnCluster, query, statement, type Statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { LockMode } from "@mikro-orm/core";
import { LenderNotFoundError } from "./lender-fault.ts";
import { type FallbackBank, LenderEntity, type LenderRow } from "../schema.ts";

const PROFILE = [
  "id",
  "code",
  "name",
  "state",
  "country",
  "currency",
  "language",
  "timeZone",
  "commission",
  "rateLimits",
] as const;

/** The fields of a lender that every request needs. */
export type LenderProfile = Readonly<Pick<LenderRow, (typeof PROFILE)[number]>>;

/** How a borrower can pay without a payment link. */
export interface Fallback {
  readonly upiId: string | null;
  readonly bank: FallbackBank | null;
  readonly instructions: string | null;
}

/** A lender as operators see it. It does not contain secrets, only whether they exist. */
export interface Lender extends LenderProfile {
  /**
   * `HH:MM` or `HH:MM:SS`. If the as-of value of an imported balance is only a date, the service assumes this time of
   * day.
   */
  readonly balanceCutoff: string | null;
  /** After how many days from the end of a case its borrower's personal data are erased. */
  readonly keepPersonalDataDays: number;
  readonly technicalContacts: readonly string[];
  readonly mintLinkUrl: string | null;
  readonly hasMintAuthHeader: boolean;
  /** The hosts that a minted link may lead to. If empty, any public host is allowed. */
  readonly paymentLinkHosts: readonly string[];
  readonly fallback: Fallback;
  readonly whatsapp: {
    phoneNumberId: string | null;
    template: string | null;
    hasToken: boolean;
    hasAppSecret: boolean;
    hasVerifyToken: boolean;
  };
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Returns the lender with this code, or undefined if there is none. The code is case-sensitive.
 *
 * @example
 * const acme = await lenderByCode(em, "ACME");
 */
export async function lenderByCode(em: EntityManager, code: string): Promise<Lender | undefined> {
  const [row] = await query<LenderRow>(em, selectByCode, [code]);
  return row && toLender(row);
}

/**
 * Returns the lender with this id, or undefined if there is none.
 *
 * @example
 * const lender = await lenderById(em, lenderId);
 * const isActive = lender?.state === "active";
 */
export async function lenderById(em: EntityManager, lenderId: string): Promise<Lender | undefined> {
  return (await lendersByIds(em, [lenderId])).get(lenderId);
}

/**
 * Returns the lenders with these ids, read by one query. Ids without a lender are not in the map.
 *
 * @example
 * const lenders = await lendersByIds(em, [lenderId]);
 * const name = lenders.get(lenderId)?.name;
 */
export async function lendersByIds(em: EntityManager, lenderIds: readonly string[]): Promise<Map<string, Lender>> {
  if (lenderIds.length === 0) return new Map();
  return new Map((await lenderRows(em, lenderIds)).map((row) => [row.id, toLender(row)]));
}

/** Returns the rows of the lenders with these ids, including the sealed secrets. */
export function lenderRows(em: EntityManager, lenderIds: readonly string[]): Promise<LenderRow[]> {
  return query<LenderRow>(em, selectByIds, [lenderIds]);
}

const table = tableOf(LenderEntity);

/** The select list of a LenderProfile, for queries that give lenders.lender the alias `l`. */
export const profileColumns = table.selectList("l", PROFILE);

// Every displayed case and every step of a payment link reads its lender, and most commands read one or all. Without MikroORM,
// whose discovery of the entity takes longer than the query, a command answers sooner.
const selectLenders = `select ${table.selectList("l")} from ${table.name} l`;
const selectByIds = statement("lenders.by-ids", `${selectLenders} where l.id = any ($1::uuid[])`);
const selectByCode = statement("lenders.by-code", `${selectLenders} where l.code = $1`);
const selectAll = statement("lenders.all", `${selectLenders} order by l.code`);

/**
 * Selects the ids of all lenders. Pass it as the option `lenderIds` of the database.
 *
 * @example
 * const ids = await query<{ id: string }>(em, lenderIds, []);
 */
export const lenderIds: Statement = statement("lenders.ids", "select id from lenders.lender");

/**
 * Returns all lenders, sorted by code.
 *
 * @example
 * const codes = (await listLenders(em)).map(({ code }) => code);
 */
export async function listLenders(em: EntityManager): Promise<Lender[]> {
  return (await query<LenderRow>(em, selectAll, [])).map(toLender);
}

/**
 * Locks a lender until the transaction ends, and returns its row. So transactions that change one lender or its API
 * keys run one after the other. Flushes the transaction's own changes first: reading the row again would overwrite
 * them. Throws LenderNotFoundError.
 */
export async function lockLender(tx: Tx, lenderId: string): Promise<LenderRow> {
  await tx.flush();
  await query(tx, lockLenderById, [lenderId]);
  // Locks the row too, because processes of the previous version know only this lock. On a cluster the row is not
  // locked: no process of the previous version runs there, and the lock would be harmful. In a reference table, a row
  // lock locks the table on every node, and two transactions that each inserted a lender would deadlock.
  const lockMode = isOnCluster(tx) ? LockMode.NONE : LockMode.PESSIMISTIC_WRITE;
  const row = await tx.findOne(LenderEntity, { id: lenderId }, { lockMode, refresh: true });
  if (!row) throw new LenderNotFoundError(lenderId);
  return row;
}

const lockLenderById = statement(
  "lenders.lock-lender",
  `select pg_advisory_xact_lock(hashtextextended('lenders.lender/' || $1::uuid::text, 0))`,
);

export function toLender(row: LenderRow): Lender {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    state: row.state,
    country: row.country,
    currency: row.currency,
    language: row.language,
    timeZone: row.timeZone,
    commission: row.commission,
    rateLimits: row.rateLimits,
    balanceCutoff: row.balanceCutoff,
    keepPersonalDataDays: row.keepPersonalDataDays,
    technicalContacts: row.technicalContacts,
    mintLinkUrl: row.mintLinkUrl,
    hasMintAuthHeader: row.mintAuthHeader !== null,
    paymentLinkHosts: row.paymentLinkHosts,
    fallback: {
      upiId: row.fallbackUpiId,
      bank: row.fallbackBank,
      instructions: row.fallbackInstructions,
    },
    whatsapp: {
      phoneNumberId: row.whatsappPhoneNumberId,
      template: row.whatsappTemplate,
      hasToken: row.whatsappToken !== null,
      hasAppSecret: row.whatsappAppSecret !== null,
      hasVerifyToken: row.whatsappVerifyToken !== null,
    },
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
