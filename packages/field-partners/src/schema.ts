import { type Actor, foldedNameFunction, type PackageSchema } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { otpQueue } from "./otp-queue.ts";
import { signInMigration } from "./migrations/0002-sign-in.ts";

/** Whether a field partner may sign in. */
export type FieldPartnerState = "active" | "suspended";

/** A person who visits borrowers. */
export const FieldPartnerEntity = defineEntity({
  name: "FieldPartner",
  schema: "field_partners",
  tableName: "field_partner",
  properties: {
    id: p.uuid().primary(),
    displayName: p.text(),
    /** The phone number in E.164. It is personal data: mask it in logs. */
    phone: p.text(),
    /** An IANA name. The person's day starts and ends in this time zone. */
    timeZone: p.text(),
    state: p.text().$type<FieldPartnerState>(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});
/** A row of `field_partners.field_partner`. */
export type FieldPartnerRow = InferEntity<typeof FieldPartnerEntity>;

/** The reason why a session ended before it expired. */
export type SessionEnd = "signed_out" | "ended_by_owner" | "reused_token" | "suspended";

/** One sign-in of the app. It stays the same session when its tokens are refreshed. */
export const SessionEntity = defineEntity({
  name: "Session",
  schema: "field_partners",
  tableName: "session",
  properties: {
    id: p.uuid().primary(),
    fieldPartnerId: p.uuid(),
    deviceName: p.text().strictNullable(),
    issuedAt: p.datetime().columnType("timestamptz"),
    refreshedAt: p.datetime().columnType("timestamptz").strictNullable(),
    expiresAt: p.datetime().columnType("timestamptz"),
    revokedAt: p.datetime().columnType("timestamptz").strictNullable(),
    endReason: p.text().$type<SessionEnd>().strictNullable(),
  },
});

/**
 * An access token and the refresh token issued with it, as SHA-256 hashes. An access token issued by an operator has no
 * refresh token.
 */
export const TokenPairEntity = defineEntity({
  name: "TokenPair",
  schema: "field_partners",
  tableName: "token_pair",
  properties: {
    id: p.uuid().primary(),
    sessionId: p.uuid(),
    accessTokenHash: p.blob(),
    accessExpiresAt: p.datetime().columnType("timestamptz"),
    refreshTokenHash: p.blob().strictNullable(),
    refreshExpiresAt: p.datetime().columnType("timestamptz").strictNullable(),
    issuedAt: p.datetime().columnType("timestamptz"),
    usedAt: p.datetime().columnType("timestamptz").strictNullable(),
    usedKey: p.uuid().strictNullable(),
  },
});

/**
 * A requested one-time password. The row exists even if no field partner has the phone. The code itself is not stored,
 * because it is derived from the id.
 */
export const OtpEntity = defineEntity({
  name: "Otp",
  schema: "field_partners",
  tableName: "otp",
  properties: {
    id: p.uuid().primary(),
    phone: p.text(),
    idempotencyKey: p.uuid(),
    requestedAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
    /** The active field partner with the phone, set when a worker sends the code. */
    fieldPartnerId: p.uuid().strictNullable(),
    sentAt: p.datetime().columnType("timestamptz").strictNullable(),
    wrongTries: p.integer(),
    /** The SHA-256 of the last request with a wrong code. A repeat of that request does not count as another try. */
    lastWrong: p.blob().strictNullable(),
    verifiedAt: p.datetime().columnType("timestamptz").strictNullable(),
    verifiedKey: p.uuid().strictNullable(),
    /**
     * Whether the device that requested the code was signed in with this phone before. Such a device has separate
     * limits.
     */
    fromKnownDevice: p.boolean().default(false),
    /** The channel that delivered the code. */
    channel: p.text().strictNullable(),
    /** When an operator reset the phone's limits. The row does not count in the limits any more. */
    forgivenAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

/** An action that concerns a field partner's access. The table is append-only. */
export const AuditEntryEntity = defineEntity({
  name: "FieldPartnerAuditEntry",
  schema: "field_partners",
  tableName: "audit_entry",
  properties: {
    id: p.uuid().primary(),
    fieldPartnerId: p.uuid(),
    act: p.text(),
    reason: p.text().strictNullable(),
    data: p.json<Readonly<Record<string, unknown>>>(),
    at: p.datetime().columnType("timestamptz"),
    /** The actor. Null in rows that versions before migration 0008 have written. */
    actor: p.text().$type<Actor>().strictNullable(),
  },
});

/** The result of a mutation of the app, by its idempotency key. */
export const MutationResultEntity = defineEntity({
  name: "MutationResult",
  schema: "field_partners",
  tableName: "mutation_result",
  properties: {
    fieldPartnerId: p.uuid().primary(),
    mutation: p.text().primary(),
    key: p.uuid().primary(),
    inputHash: p.blob(),
    result: p.json<unknown>().strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

/**
 * The PostgreSQL schema `field_partners`: people, their sign-in, and the results that make their mutations idempotent.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [fieldPartnersSchema], jobs: true });
 */
export const fieldPartnersSchema: PackageSchema = {
  name: "field_partners",
  entities: [FieldPartnerEntity, SessionEntity, TokenPairEntity, OtpEntity, AuditEntryEntity, MutationResultEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema field_partners`,
        `create table field_partners.field_partner (
          id uuid primary key,
          display_name text not null,
          phone text not null,
          time_zone text not null,
          state text not null check (state in ('active', 'suspended')),
          created_at timestamptz not null
        )`,
        `create unique index on field_partners.field_partner (phone) where state = 'active'`,
        `create table field_partners.session (
          id uuid primary key,
          field_partner_id uuid not null references field_partners.field_partner (id),
          access_token_hash bytea not null unique,
          issued_at timestamptz not null,
          expires_at timestamptz not null,
          revoked_at timestamptz
        )`,
        `create index on field_partners.session (field_partner_id)`,
        `create index on field_partners.session (expires_at)`,
        `create table field_partners.mutation_result (
          field_partner_id uuid not null,
          mutation text not null,
          key uuid not null,
          input_hash bytea not null,
          result jsonb,
          created_at timestamptz not null,
          primary key (field_partner_id, mutation, key)
        )`,
        `create index on field_partners.mutation_result (created_at)`,
      ],
    },
    { name: "0002-sign-in", statements: signInMigration },
    {
      name: "0003-contact-reveals",
      statements: [`create index on field_partners.audit_entry (field_partner_id, at) where act = 'contact.revealed'`],
    },
    { name: "0004-wrong-codes", statements: [`alter table field_partners.otp add column last_wrong bytea`] },
    {
      name: "0005-known-devices",
      statements: [
        `alter table field_partners.otp
           add column from_known_device boolean not null default false,
           add column channel text`,
      ],
    },
    { name: "0006-forgiven-codes", statements: [`alter table field_partners.otp add column forgiven_at timestamptz`] },
    {
      name: "0007-reveals-of-cases",
      statements: [
        `create index if not exists contact_reveal_of_case on field_partners.audit_entry ((data->>'caseId'), id)
          where act = 'contact.revealed'`,
        `create index if not exists audit_entry_of_field_partner on field_partners.audit_entry (field_partner_id, id)`,
      ],
    },
    { name: "0008-actors", statements: ["alter table field_partners.audit_entry add column actor text"] },
    {
      name: "0009-audit-by-kind",
      statements: [
        "create index if not exists audit_entry_of_kind on field_partners.audit_entry (act, id)",
        "create index if not exists audit_entry_of_actor on field_partners.audit_entry (actor, act, id)",
      ],
    },
    { name: "0010-folded-names", statements: [foldedNameFunction("field_partners")] },
  ],
  appendOnly: ["field_partners.audit_entry"],
  undistributed: ["field_partner", "session", "token_pair", "otp", "audit_entry", "mutation_result"].map((name) => ({
    table: `field_partners.${name}`,
    as: "local",
    // A mutation's result is written in the same transaction as the mutation's changes to a lender's case.
    commitsWithLenders: name === "mutation_result",
    because: "field partners visit for many lenders, and at sign-in no lender is known yet",
  })),
  queues: [otpQueue],
};
