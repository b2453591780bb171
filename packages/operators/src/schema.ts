import type { Actor, PackageSchema } from "@collections/database";
import { defineEntity, p } from "@mikro-orm/core";
import type { OperatorRole } from "./role.ts";

/** A link with which an operator signs in once. `tokenHash` is the SHA-256 of the token in the link. */
export const SignInLinkEntity = defineEntity({
  name: "OperatorSignInLink",
  schema: "operators",
  tableName: "sign_in_link",
  properties: {
    id: p.uuid().primary(),
    tokenHash: p.blob(),
    operator: p.text(),
    roles: p.array().columnType("text[]").$type<OperatorRole[]>(),
    /** The lender to which the person is restricted; null for an operator. */
    lenderId: p.uuid().strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
    usedAt: p.datetime().columnType("timestamptz").strictNullable(),
    revokedAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

/** One sign-in of an operator. `tokenHash` is the SHA-256 of the token in the cookie. */
export const OperatorSessionEntity = defineEntity({
  name: "OperatorSession",
  schema: "operators",
  tableName: "session",
  properties: {
    id: p.uuid().primary(),
    tokenHash: p.blob(),
    operator: p.text(),
    roles: p.array().columnType("text[]").$type<OperatorRole[]>(),
    /** The lender to which the person is restricted; null for an operator. */
    lenderId: p.uuid().strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    /** The time of a request. It is updated once a minute at most. */
    lastSeenAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
    endedAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

/** A form of a console that was sent, or an attempt to sign in by a provider. Neither can be used a second time. */
export const UsedFormEntity = defineEntity({
  name: "OperatorUsedForm",
  schema: "operators",
  tableName: "used_form",
  properties: {
    /** The id of the form or of the attempt. The page that contains the form makes it. */
    id: p.uuid().primary(),
    usedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A change that waits for a second operator, or was decided. */
export const SecondPersonRequestEntity = defineEntity({
  name: "OperatorSecondPersonRequest",
  schema: "operators",
  tableName: "second_person_request",
  properties: {
    id: p.uuid().primary(),
    /** The change. This package does not read it. */
    change: p.json<Readonly<Record<string, unknown>>>(),
    requestedBy: p.text(),
    requestedAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
    decidedBy: p.text().strictNullable(),
    decidedAt: p.datetime().columnType("timestamptz").strictNullable(),
    isConfirmed: p.boolean().strictNullable(),
  },
});

/** An action that concerns an operator's access. The table is append-only. */
export const OperatorAuditEntryEntity = defineEntity({
  name: "OperatorAuditEntry",
  schema: "operators",
  tableName: "audit_entry",
  properties: {
    id: p.uuid().primary(),
    /** The name of the operator whom the action concerns. */
    operator: p.text(),
    act: p.text(),
    reason: p.text().strictNullable(),
    data: p.json<Readonly<Record<string, unknown>>>(),
    at: p.datetime().columnType("timestamptz"),
    actor: p.text().$type<Actor>(),
  },
});

/**
 * The PostgreSQL schema `operators`: sign-in links, sessions, used forms, changes that wait for a second person, and the audit of access.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [operatorsSchema] });
 */
export const operatorsSchema: PackageSchema = {
  name: "operators",
  entities: [
    SignInLinkEntity,
    OperatorSessionEntity,
    UsedFormEntity,
    SecondPersonRequestEntity,
    OperatorAuditEntryEntity,
  ],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema operators`,
        `create table operators.sign_in_link (
          id uuid primary key,
          token_hash bytea not null unique,
          operator text not null,
          roles text[] not null check (roles <@ '{viewer,operator,money}' and cardinality(roles) > 0),
          created_at timestamptz not null,
          expires_at timestamptz not null,
          used_at timestamptz,
          revoked_at timestamptz
        )`,
        `create index on operators.sign_in_link (expires_at)`,
        `create table operators.session (
          id uuid primary key,
          token_hash bytea not null unique,
          operator text not null,
          roles text[] not null check (roles <@ '{viewer,operator,money}' and cardinality(roles) > 0),
          created_at timestamptz not null,
          last_seen_at timestamptz not null,
          expires_at timestamptz not null,
          ended_at timestamptz
        )`,
        `create index on operators.session (expires_at)`,
        `create table operators.audit_entry (
          id uuid primary key,
          operator text not null,
          act text not null,
          reason text,
          data jsonb not null,
          at timestamptz not null,
          actor text not null
        )`,
        `create index on operators.audit_entry (actor, id)`,
      ],
    },
    {
      name: "0002",
      statements: [
        `create table operators.used_form (
          id uuid primary key,
          used_at timestamptz not null
        )`,
        `create index on operators.used_form (used_at)`,
      ],
    },
    {
      // Processes of an earlier version do not know `lender_id`. Tokens of rows that have it begin with other letters, so
      // these processes refuse them.
      name: "0003",
      statements: [
        `alter table operators.sign_in_link add column lender_id uuid`,
        `alter table operators.session add column lender_id uuid`,
      ],
    },
    {
      name: "0004",
      statements: [
        `create table operators.second_person_request (
          id uuid primary key,
          change jsonb not null,
          requested_by text not null,
          requested_at timestamptz not null,
          expires_at timestamptz not null,
          decided_by text,
          decided_at timestamptz,
          is_confirmed boolean,
          check (num_nulls(decided_by, decided_at, is_confirmed) in (0, 3)),
          check (not is_confirmed or lower(decided_by) <> lower(requested_by))
        )`,
        `create index on operators.second_person_request (expires_at)`,
      ],
    },
  ],
  appendOnly: ["operators.audit_entry"],
  undistributed: ["sign_in_link", "session", "used_form", "second_person_request", "audit_entry"].map((name) => ({
    table: `operators.${name}`,
    as: "local",
    because: "operators work for all lenders",
  })),
};
