import { BEFORE_ALL_IDS, isUniqueViolation, newId, publicId, query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { isTimeZone, timeZoneOfCountry } from "@collections/local-time";
import { LockMode } from "@mikro-orm/core";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { recordFieldPartnerAct } from "./audit.ts";
import { FieldPartnerNotFoundError, InvalidFieldPartnerError } from "./field-partner-fault.ts";
import { FieldPartnerEntity, type FieldPartnerRow, SessionEntity } from "./schema.ts";

const MAX_DISPLAY_NAME_CHARS = 80;

/**
 * Locks a phone until the transaction ends. A transaction that makes a person active takes this lock first. Otherwise a
 * query could violate the unique index, and PostgreSQL would log the phone: "Key (phone)=(…) already exists".
 */
const lockPhone = statement(
  "field-partners.lock-phone",
  "select pg_advisory_xact_lock(hashtextextended('field-partners.phone ' || $1::text, 0))",
);

const table = tableOf(FieldPartnerEntity);

/**
 * Inserts nothing if another active person has the phone. `lockPhone` does not exclude this case: a process of an older
 * version registers people without the lock.
 */
const insertActive = statement(
  "field-partners.insert-active",
  `insert into ${table.name} (${table.columnList(table.properties)})
   values ($1, $2, $3, $4, 'active', $5)
   on conflict (phone) where state = 'active' do nothing returning id`,
);

/** A person who visits borrowers. */
export type FieldPartner = Readonly<FieldPartnerRow>;

/**
 * A person to register. The default time zone follows from the phone: it is the time zone of the number's country if the
 * country has only one, or else UTC.
 */
export interface NewFieldPartner {
  /** The name that is shown, 1 to 80 characters. */
  displayName: string;
  /** The phone number in E.164. No other active field partner may have it, because it is used to sign in. */
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
  recordFieldPartnerAct(tx, { fieldPartnerId: id, act: "field_partner.created" }, now);
  return { id, displayName, phone, timeZone, state: "active", createdAt: now };
}

/**
 * Returns the active person with the phone. Registers the person if no active person has the phone.
 *
 * @example
 * const visitor = { displayName: "Sandbox Visitor", phone: "+447700900001", timeZone: "UTC" };
 * const { id } = await transaction(em, (tx) => ensureFieldPartner(tx, visitor));
 */
export async function ensureFieldPartner(
  tx: Tx,
  fieldPartner: NewFieldPartner,
  now: Date = new Date(),
): Promise<FieldPartner> {
  const known = await activeWithPhone(tx, fieldPartner.phone);
  if (known) return toFieldPartner(known);
  // Wait for a transaction that registers the same phone, and look again.
  await query(tx, lockPhone, [readPhone(fieldPartner.phone)]);
  const registered = await activeWithPhone(tx, fieldPartner.phone);
  return registered ? toFieldPartner(registered) : createFieldPartner(tx, fieldPartner, now);
}

/** The changes of a person. An absent field stays unchanged. The rules are those of NewFieldPartner. */
export type FieldPartnerChanges = Partial<NewFieldPartner>;

/**
 * Changes a person, for example after they got a new phone number. The person stays signed in. The audit records the old
 * and the new name and time zone, and of the phone only that it was changed. Throws FieldPartnerNotFoundError,
 * InvalidFieldPartnerError.
 *
 * @example
 * const change = { fieldPartnerId, reason: "New SIM", changes: { phone: "+919800000002" } };
 * const { phone } = await updateFieldPartner(tx, change, now);
 */
export async function updateFieldPartner(
  tx: Tx,
  {
    fieldPartnerId,
    changes,
    reason,
  }: { readonly fieldPartnerId: string; readonly changes: FieldPartnerChanges; readonly reason: string },
  now: Date = new Date(),
): Promise<FieldPartner> {
  const { displayName, phone, timeZone } = changes;
  const read = {
    ...(displayName !== undefined && { displayName: readDisplayName(displayName) }),
    ...(phone !== undefined && { phone: readPhone(phone) }),
    ...(timeZone !== undefined && { timeZone: readTimeZone(timeZone) }),
  };
  const row = await lockFieldPartner(tx, fieldPartnerId);
  const isMoving = read.phone !== undefined && read.phone !== row.phone && row.state === "active";
  if (isMoving) await query(tx, lockPhone, [read.phone!]);
  const holder = isMoving ? await activeWithPhone(tx, read.phone!) : undefined;
  if (holder !== undefined) throw phoneTaken(holder);
  const fields = (["displayName", "phone", "timeZone"] as const).filter((field) => {
    return read[field] !== undefined && read[field] !== row[field];
  });
  if (fields.length === 0) return toFieldPartner(row);
  const recorded = fields.map((field) => [
    field,
    field === "phone" ? "changed" : { from: row[field], to: read[field] },
  ]);
  Object.assign(row, read);
  await flushPhone(tx);
  const data = { fields, changes: Object.fromEntries(recorded) as object };
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "field_partner.updated", reason, data }, now);
  return toFieldPartner(row);
}

/**
 * Suspends a person and ends all their sessions. Throws FieldPartnerNotFoundError.
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
  const row = await lockFieldPartner(tx, fieldPartnerId);
  row.state = "suspended";
  const ending = { revokedAt: now, endReason: "suspended" as const };
  await tx.nativeUpdate(SessionEntity, { fieldPartnerId, revokedAt: null }, ending);
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "field_partner.suspended", reason }, now);
}

/**
 * Ends a person's suspension, so that they can sign in again.
 * Throws FieldPartnerNotFoundError, InvalidFieldPartnerError.
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
  const row = await lockFieldPartner(tx, fieldPartnerId);
  await query(tx, lockPhone, [row.phone]);
  const holder = await activeWithPhone(tx, row.phone);
  if (holder !== undefined && holder.id !== fieldPartnerId) throw phoneTaken(holder);
  row.state = "active";
  await flushPhone(tx);
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "field_partner.resumed", reason }, now);
}

/**
 * Returns the person with this id, active or suspended, or undefined if there is none.
 *
 * @example
 * const fieldPartner = await fieldPartnerById(em, fieldPartnerId);
 * const timeZone = fieldPartner?.timeZone;
 */
export async function fieldPartnerById(em: EntityManager, fieldPartnerId: string): Promise<FieldPartner | undefined> {
  return (await fieldPartnersByIds(em, [fieldPartnerId])).get(fieldPartnerId);
}

/**
 * Returns the people with these ids, read by one query. Ids without a person are not in the map.
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
  return new Map(rows.map((row) => [row.id, toFieldPartner(row)]));
}

/**
 * Returns all field partners, in the order of registration.
 *
 * @example
 * const active = (await listFieldPartners(em)).filter(({ state }) => state === "active");
 */
export async function listFieldPartners(em: EntityManager): Promise<FieldPartner[]> {
  const rows = await em.findAll(FieldPartnerEntity, { orderBy: { id: "asc" } });
  return rows.map(toFieldPartner);
}

/** The people to find, and where the page begins. An absent field does not restrict the list. */
export interface FieldPartnerSearch {
  readonly state?: FieldPartnerRow["state"] | undefined;
  /** A part of the name, which is compared by `folded_name`, or the last digits of the phone. */
  readonly text?: string | undefined;
  /** The id of the last person of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * Returns a page of field partners, in the order of registration.
 *
 * @example
 * const people = await searchFieldPartners(em, { state: "active", text: "asha", limit: 50 });
 */
export async function searchFieldPartners(
  em: EntityManager,
  { state, text, after, limit }: FieldPartnerSearch,
): Promise<FieldPartner[]> {
  if (text !== undefined) return query(em, selectNamed, [text, state ?? null, after ?? BEFORE_ALL_IDS, limit]);
  const rows = await em.find(
    FieldPartnerEntity,
    { ...(state !== undefined && { state }), ...(after !== undefined && { id: { $gt: after } }) },
    { orderBy: { id: "asc" }, limit, disableIdentityMap: true },
  );
  return rows.map(toFieldPartner);
}

// A deployment has thousands of field partners, so the query may read all of them. PostgreSQL folds the text once, in the
// sub-select.
const selectNamed = statement(
  "field-partners.named",
  `select ${table.selectList("p")} from field_partners.field_partner p
   where ($2::text is null or p.state = $2::text) and p.id > $3::uuid
     and (position((select field_partners.folded_name($1::text)) in field_partners.folded_name(p.display_name)) > 0
       or (regexp_replace($1::text, '\\s', '', 'g') <> ''
         and right(p.phone, length(regexp_replace($1::text, '\\s', '', 'g'))) = regexp_replace($1::text, '\\s', '', 'g')))
   order by p.id limit $4::bigint`,
);

/**
 * Locks a person's state until the transaction ends, so that a suspension commits either before the lock or after this
 * transaction. Returns the person, active or suspended, or undefined if there is none.
 *
 * @example
 * const fieldPartner = await lockFieldPartnerState(tx, fieldPartnerId);
 * const mayWork = fieldPartner?.state === "active";
 */
export async function lockFieldPartnerState(tx: Tx, fieldPartnerId: string): Promise<FieldPartner | undefined> {
  const options = { lockMode: LockMode.PESSIMISTIC_READ, refresh: true } as const;
  const row = await tx.findOne(FieldPartnerEntity, { id: fieldPartnerId }, options);
  return row ? toFieldPartner(row) : undefined;
}

async function activeWithPhone(tx: Tx, phone: string): Promise<FieldPartnerRow | undefined> {
  return (await tx.findOne(FieldPartnerEntity, { phone, state: "active" })) ?? undefined;
}

/** Writes a person. Another active person must not have the same phone. */
async function flushPhone(tx: Tx): Promise<void> {
  try {
    await tx.flush();
  } catch (error) {
    // A process of the previous version, which takes no lock, may have registered a person with this phone.
    if (isUniqueViolation(error)) throw phoneTaken();
    throw error;
  }
}

/**
 * Returns the error for a phone that another active person has. `holder` is undefined if that person was registered or
 * suspended at the same time.
 */
function phoneTaken(holder?: { readonly id: string }): InvalidFieldPartnerError {
  const who = holder ? `: ${publicId("fp", holder.id)}` : "";
  const detail = `Another active field partner signs in with this number${who}.`;
  return new InvalidFieldPartnerError("DUPLICATE_PHONE", "phone", detail);
}

/** Locks a person's row. Flushes the transaction's own changes first: reading the row again would overwrite them. */
async function lockFieldPartner(tx: Tx, id: string): Promise<FieldPartnerRow> {
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

/** Returns whether a text has the form of an E.164 phone number. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text);
}

function readPhone(text: string): string {
  if (isPhone(text)) return text;
  throw new InvalidFieldPartnerError(
    "INVALID_PHONE",
    "phone",
    "Expected a number in E.164, for example +919800000001.",
  );
}

function readTimeZone(text: string): string {
  if (isTimeZone(text)) return text;
  const detail = "Expected a time zone of the IANA database, for example Asia/Kolkata.";
  throw new InvalidFieldPartnerError("INVALID_TIME_ZONE", "timeZone", detail);
}

function timeZoneOf(phone: string): string {
  const country = parsePhoneNumberFromString(phone)?.country;
  return (country && timeZoneOfCountry(country)) ?? "UTC";
}

function toFieldPartner({ id, displayName, phone, timeZone, state, createdAt }: FieldPartnerRow): FieldPartner {
  return { id, displayName, phone, timeZone, state, createdAt };
}
