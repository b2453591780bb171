import type { PackageSchema } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

export type FieldPartnerState = "active" | "suspended";

/** A person who visits borrowers. */
export const FieldPartnerEntity = defineEntity({
  name: "FieldPartner",
  schema: "field_partners",
  tableName: "field_partner",
  properties: {
    id: p.uuid().primary(),
    displayName: p.text(),
    phone: p.text(),
    timeZone: p.text(),
    state: p.text().$type<FieldPartnerState>(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});
export type FieldPartnerRow = InferEntity<typeof FieldPartnerEntity>;

/** One sign-in of the app. Only the SHA-256 of the token is kept. */
export const SessionEntity = defineEntity({
  name: "Session",
  schema: "field_partners",
  tableName: "session",
  properties: {
    id: p.uuid().primary(),
    fieldPartnerId: p.uuid(),
    accessTokenHash: p.blob(),
    issuedAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
    revokedAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

/** What a mutation of the app answered under its idempotency key. */
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

/** Schema `field_partners`: people, their sessions, and the results that make their mutations idempotent. */
export const fieldPartnersSchema: PackageSchema = {
  name: "field_partners",
  entities: [FieldPartnerEntity, SessionEntity, MutationResultEntity],
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
  ],
};
