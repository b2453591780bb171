import { type EntityManager, isOnCluster, query, statement, type Statement, type Tx } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { LockMode } from "@mikro-orm/core";
import { LenderNotFoundError } from "./lender-fault.ts";
import { type FallbackBank, LenderEntity, type LenderRow, type LenderState } from "../schema.ts";

/** What every request of a lender needs to know about it. */
export interface LenderProfile {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly state: LenderState;
  readonly country: string;
  /** Default of imported rows. */
  readonly currency: CurrencyCode;
  /** BCP 47, default of imported rows. */
  readonly language: string;
  readonly timeZone: string;
  readonly commission: Percent;
  /** Overrides: requests a minute by the name of the limit. */
  readonly rateLimits: Readonly<Record<string, number>>;
}

/** How a borrower pays when there is no link. */
export interface Fallback {
  readonly upiId: string | null;
  readonly bank: FallbackBank | null;
  readonly instructions: string | null;
}

/** A lender as operators see it. Secrets are only said to be there. */
export interface Lender extends LenderProfile {
  /** The time of day, `HH:MM` or `HH:MM:SS`, that a date without a time means for a balance in a file. */
  readonly balanceCutoff: string | null;
  readonly technicalContacts: readonly string[];
  readonly mintLinkUrl: string | null;
  readonly hasMintAuthHeader: boolean;
  /** Hosts that a minted link may lead to; empty: any public host. */
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
 * The lender with this code, exactly as registered; undefined when there is none.
 *
 * @example
 * const acme = await lenderByCode(em, "ACME");
 */
export async function lenderByCode(em: EntityManager, code: string): Promise<Lender | undefined> {
  const row = await em.findOne(LenderEntity, { code });
  return row ? asLender(row) : undefined;
}

/**
 * The lender with this id; undefined when there is none.
 *
 * @example
 * const lender = await lenderById(em, lenderId);
 * const isActive = lender?.state === "active";
 */
export async function lenderById(em: EntityManager, lenderId: string): Promise<Lender | undefined> {
  return (await lendersByIds(em, [lenderId])).get(lenderId);
}

/**
 * Many lenders in one statement, by id; one that does not exist is not in the map.
 *
 * @example
 * const lenders = await lendersByIds(em, [lenderId]);
 * const name = lenders.get(lenderId)?.name;
 */
export async function lendersByIds(em: EntityManager, lenderIds: readonly string[]): Promise<Map<string, Lender>> {
  if (lenderIds.length === 0) return new Map();
  return new Map((await lenderRows(em, lenderIds)).map((row) => [row.id, asLender(row)]));
}

/** The rows behind `lendersByIds`, with what is sealed in them. */
export function lenderRows(em: EntityManager, lenderIds: readonly string[]): Promise<LenderRow[]> {
  return query<LenderRow>(em, selectByIds, [lenderIds]);
}

const COLUMNS = {
  id: "id",
  code: "code",
  name: "name",
  country: "country",
  currency: "currency",
  language: "language",
  timeZone: "time_zone",
  balanceCutoff: "balance_cutoff",
  technicalContacts: "technical_contacts",
  mintLinkUrl: "mint_link_url",
  mintAuthHeader: "mint_auth_header",
  paymentLinkHosts: "payment_link_hosts",
  fallbackUpiId: "fallback_upi_id",
  fallbackBank: "fallback_bank",
  fallbackInstructions: "fallback_instructions",
  commission: "commission",
  whatsappPhoneNumberId: "whatsapp_phone_number_id",
  whatsappToken: "whatsapp_token",
  whatsappTemplate: "whatsapp_template",
  whatsappAppSecret: "whatsapp_app_secret",
  whatsappVerifyToken: "whatsapp_verify_token",
  rateLimits: "rate_limits",
  state: "state",
  createdAt: "created_at",
  updatedAt: "updated_at",
} satisfies Record<keyof LenderRow & string, string>;

// Prepared: each case that is shown and each step of a link asks for its lender.
const selectByIds = statement(
  "lenders.by-ids",
  `select ${Object.entries(COLUMNS)
    .map(([property, column]) => `${column} as "${property}"`)
    .join(", ")}
   from lenders.lender where id = any ($1::uuid[])`,
);

/**
 * Selects the id of every lender: `lenderIds` of the database's options.
 *
 * @example
 * const ids = await query<{ id: string }>(em, lenderIds, []);
 */
export const lenderIds: Statement = statement("lenders.ids", "select id from lenders.lender");

/**
 * Every lender, by code.
 *
 * @example
 * const codes = (await listLenders(em)).map(({ code }) => code);
 */
export async function listLenders(em: EntityManager): Promise<Lender[]> {
  const rows = await em.findAll(LenderEntity, { orderBy: { code: "asc" } });
  return rows.map(asLender);
}

/**
 * Locks the lender until the transaction ends, so that acts on one lender and its keys follow one another, and reads its
 * row. What the transaction changed before is written first: reading afresh would undo it. Throws LenderNotFoundError.
 */
export async function lockLender(tx: Tx, lenderId: string): Promise<LenderRow> {
  await tx.flush();
  await query(tx, takeLender, [lenderId]);
  // Processes of the version before lock the row. On a cluster, where they never ran, a lock of one row of a reference
  // table locks the table on every node, and two transactions that have each inserted a lender would deadlock.
  const lockMode = isOnCluster(tx) ? LockMode.NONE : LockMode.PESSIMISTIC_WRITE;
  const row = await tx.findOne(LenderEntity, { id: lenderId }, { lockMode, refresh: true });
  if (!row) throw new LenderNotFoundError(lenderId);
  return row;
}

const takeLender = statement(
  "lenders.lock-lender",
  `select pg_advisory_xact_lock(hashtextextended('lenders.lender/' || $1::uuid::text, 0))`,
);

export function asLender(row: LenderRow): Lender {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    state: row.state,
    country: row.country,
    currency: row.currency as CurrencyCode,
    language: row.language,
    timeZone: row.timeZone,
    commission: row.commission as Percent,
    rateLimits: row.rateLimits,
    balanceCutoff: row.balanceCutoff,
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
