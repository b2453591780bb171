import {
  type EntityManager,
  isUniqueViolation,
  newId,
  publicId,
  query,
  statement,
  type Tx,
} from "@collections/database";
import { LockMode } from "@mikro-orm/core";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { recordFieldPartnerAct } from "./audit.ts";
import { FieldPartnerNotFoundError, InvalidFieldPartnerError } from "./field-partner-fault.ts";
import { FieldPartnerEntity, type FieldPartnerRow, type FieldPartnerState, SessionEntity } from "./schema.ts";

const MAX_DISPLAY_NAME_CHARS = 80;

/**
 * A transaction that makes a person active holds this lock on the phone until it ends. A statement that violates the
 * unique index would write the phone into PostgreSQL's log: "Key (phone)=(…) already exists".
 */
const lockPhone = statement(
  "field-partners.lock-phone",
  "select pg_advisory_xact_lock(hashtextextended('field-partners.phone ' || $1::text, 0))",
);

/** Inserts nothing when another active person has the phone, also one that an older process has just registered. */
const insertActive = statement(
  "field-partners.insert-active",
  `insert into field_partners.field_partner (id, display_name, phone, time_zone, state, created_at)
   values ($1, $2, $3, $4, 'active', $5)
   on conflict (phone) where state = 'active' do nothing returning id`,
);

/** A person who visits borrowers. */
export interface FieldPartner {
  readonly id: string;
  readonly displayName: string;
  /** E.164. Personal: mask it in logs. */
  readonly phone: string;
  /** IANA name: where this person's "today" begins. */
  readonly timeZone: string;
  readonly state: FieldPartnerState;
  readonly createdAt: Date;
}

/**
 * A person to register. What is absent follows from the phone: a number of a country with one time zone is in that
 * zone, else UTC.
 */
export interface NewFieldPartner {
  /** 1 to 80 characters. */
  displayName: string;
  /** E.164; no other active field partner has it, because it signs in. */
  phone: string;
  timeZone?: string;
}

/**
 * Registers a person. Throws InvalidFieldPartnerError.
 *
 * @example
 * const asha = { displayName: "Asha Rao", phone: "+919800000001", timeZone: "Asia/Kolkata" };
 * const fieldPartner = await transaction(em, (tx) => createFieldPartner(tx, asha));
 */
export async function createFieldPartner(
  tx: Tx,
  fieldPartner: NewFieldPartner,
  now: Date = new Date(),
): Promise<FieldPartner> {
  const displayName = readDisplayName(fieldPartner.displayName);
  const phone = readPhone(fieldPartner.phone);
  const timeZone = fieldPartner.timeZone === undefined ? timeZoneOf(phone) : readTimeZone(fieldPartner.timeZone);
  const id = newId();
  await query(tx, lockPhone, [phone]);
  const [registered] = await query(tx, insertActive, [id, displayName, phone, timeZone, now]);
  if (registered === undefined) throw phoneTaken(await activeWithPhone(tx, phone));
  return { id, displayName, phone, timeZone, state: "active", createdAt: now };
}

/**
 * Locks a person out at once: every session ends. Throws FieldPartnerNotFoundError.
 *
 * @example
 * await suspendFieldPartner(tx, fieldPartnerId, now, "The phone was stolen");
 */
export async function suspendFieldPartner(
  tx: Tx,
  fieldPartnerId: string,
  now: Date = new Date(),
  reason?: string,
): Promise<void> {
  const row = await lock(tx, fieldPartnerId);
  row.state = "suspended";
  const ending = { revokedAt: now, endReason: "suspended" as const };
  await tx.nativeUpdate(SessionEntity, { fieldPartnerId, revokedAt: null }, ending);
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "field_partner.suspended", reason }, now);
}

/**
 * Lets a suspended person sign in again. Throws FieldPartnerNotFoundError, InvalidFieldPartnerError.
 *
 * @example
 * await resumeFieldPartner(tx, fieldPartnerId, now, "Has a new phone");
 */
export async function resumeFieldPartner(
  tx: Tx,
  fieldPartnerId: string,
  now: Date = new Date(),
  reason?: string,
): Promise<void> {
  const row = await lock(tx, fieldPartnerId);
  await query(tx, lockPhone, [row.phone]);
  const holder = await activeWithPhone(tx, row.phone);
  if (holder !== undefined && holder.id !== fieldPartnerId) throw phoneTaken(holder);
  row.state = "active";
  try {
    await tx.flush();
  } catch (error) {
    // A process of the version before registers without the lock.
    if (isUniqueViolation(error)) throw phoneTaken();
    throw error;
  }
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "field_partner.resumed", reason }, now);
}

/**
 * The person with this id, also a suspended one; undefined when there is none.
 *
 * @example
 * const fieldPartner = await fieldPartnerById(em, fieldPartnerId);
 * const timeZone = fieldPartner?.timeZone;
 */
export async function fieldPartnerById(em: EntityManager, fieldPartnerId: string): Promise<FieldPartner | undefined> {
  return (await fieldPartnersByIds(em, [fieldPartnerId])).get(fieldPartnerId);
}

/**
 * Many people in one statement, by id; who does not exist is not in the map.
 *
 * @example
 * const people = await fieldPartnersByIds(em, [fieldPartnerId]);
 * const name = people.get(fieldPartnerId)?.displayName;
 */
export async function fieldPartnersByIds(
  em: EntityManager,
  fieldPartnerIds: readonly string[],
): Promise<Map<string, FieldPartner>> {
  if (fieldPartnerIds.length === 0) return new Map();
  const rows = await em.find(FieldPartnerEntity, { id: { $in: [...fieldPartnerIds] } });
  return new Map(rows.map((row) => [row.id, asFieldPartner(row)]));
}

/**
 * Everybody, in the order of registration.
 *
 * @example
 * const active = (await listFieldPartners(em)).filter(({ state }) => state === "active");
 */
export async function listFieldPartners(em: EntityManager): Promise<FieldPartner[]> {
  const rows = await em.findAll(FieldPartnerEntity, { orderBy: { id: "asc" } });
  return rows.map(asFieldPartner);
}

/**
 * Locks a person's state until the transaction ends: a suspension comes before this lock or after the commit. Undefined
 * when there is no such person; a suspended one is returned.
 *
 * @example
 * const fieldPartner = await lockFieldPartnerState(tx, fieldPartnerId);
 * const mayWork = fieldPartner?.state === "active";
 */
export async function lockFieldPartnerState(tx: Tx, fieldPartnerId: string): Promise<FieldPartner | undefined> {
  const options = { lockMode: LockMode.PESSIMISTIC_READ, refresh: true } as const;
  const row = await tx.findOne(FieldPartnerEntity, { id: fieldPartnerId }, options);
  return row ? asFieldPartner(row) : undefined;
}

async function activeWithPhone(tx: Tx, phone: string): Promise<FieldPartnerRow | undefined> {
  return (await tx.findOne(FieldPartnerEntity, { phone, state: "active" })) ?? undefined;
}

/**
 * A suspended person may have the phone of an active one. Two active ones may not. The holder is unknown if they were
 * registered or suspended at the same moment.
 */
function phoneTaken(holder?: { readonly id: string }): InvalidFieldPartnerError {
  const who = holder ? `: ${publicId("fp", holder.id)}` : "";
  const detail = `Another active field partner signs in with this number${who}.`;
  return new InvalidFieldPartnerError("DUPLICATE_PHONE", "phone", detail);
}

/** What the transaction changed before is written first: reading afresh would undo it. */
async function lock(tx: Tx, id: string): Promise<FieldPartnerRow> {
  await tx.flush();
  const row = await tx.findOne(FieldPartnerEntity, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
  if (!row) throw new FieldPartnerNotFoundError(id);
  return row;
}

function readDisplayName(text: string): string {
  const name = text.normalize().trim();
  if (name !== "" && name.length <= MAX_DISPLAY_NAME_CHARS && !/[\p{Cc}\p{Cs}]/u.test(name)) return name;
  const detail = `Expected 1 to ${MAX_DISPLAY_NAME_CHARS} characters without control characters.`;
  throw new InvalidFieldPartnerError("INVALID_DISPLAY_NAME", "displayName", detail);
}

/** Whether a text is a phone number as E.164 writes it. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text);
}

function readPhone(text: string): string {
  if (isPhone(text)) return text;
  throw new InvalidFieldPartnerError("INVALID_PHONE", "phone", "Expected E.164, for example +919800000001.");
}

/** Names only: PostgreSQL reads the sign of an offset such as +05:30 the other way round than JavaScript. */
function readTimeZone(text: string): string {
  try {
    if (/^[A-Za-z][\w/+-]*$/.test(text) && new Intl.DateTimeFormat("en", { timeZone: text })) return text;
  } catch {
    // A RangeError says that the zone is unknown.
  }
  const detail = "Expected a time zone of the IANA database, for example Asia/Kolkata.";
  throw new InvalidFieldPartnerError("INVALID_TIME_ZONE", "timeZone", detail);
}

function timeZoneOf(phone: string): string {
  const country = parsePhoneNumberFromString(phone)?.country;
  if (country === undefined) return "UTC";
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones(): string[] | undefined };
  const [zone, ...others] = locale.getTimeZones() ?? [];
  return zone !== undefined && others.length === 0 ? zone : "UTC";
}

function asFieldPartner({ id, displayName, phone, timeZone, state, createdAt }: FieldPartnerRow): FieldPartner {
  return { id, displayName, phone, timeZone, state, createdAt };
}
