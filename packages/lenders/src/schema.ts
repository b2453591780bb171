import type { Actor, PackageSchema } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { permitMigration } from "./migrations/0003-permits.ts";
import { masterKeySentinelMigration } from "./migrations/0005-master-key-sentinel.ts";
import { PermitWindowEntity } from "./permit-window.ts";

/** Whether a lender may use the service. */
export type LenderState = "active" | "suspended";
/**
 * The state of an API key. A `retiring` key is valid until its retirement date. A `revoked` key is never valid again.
 */
export type ApiKeyState = "active" | "retiring" | "revoked";

/** A bank account to which a borrower can pay without a link. IFSC is for Indian accounts, SWIFT for others. */
export interface FallbackBank {
  accountNumber: string;
  accountName?: string;
  ifsc?: string;
  swift?: string;
  bankName?: string;
}

/** One lender organisation. `mintAuthHeader` and the three WhatsApp secrets are sealed. */
export const LenderEntity = defineEntity({
  name: "Lender",
  schema: "lenders",
  tableName: "lender",
  properties: {
    id: p.uuid().primary(),
    code: p.text(),
    name: p.text(),
    country: p.text(),
    /** The currency of a new case whose imported row names no currency. */
    currency: p.character().length(3).$type<CurrencyCode>(),
    /** The language of a new case whose imported row names no language, as a BCP 47 tag. */
    language: p.text(),
    timeZone: p.text(),
    balanceCutoff: p.text().strictNullable(),
    /** After how many days from the end of a case its borrower's personal data are erased. */
    keepPersonalDataDays: p.integer().default(365),
    technicalContacts: p.array().columnType("text[]"),
    mintLinkUrl: p.text().strictNullable(),
    mintAuthHeader: p.text().strictNullable(),
    paymentLinkHosts: p.array().columnType("text[]"),
    fallbackUpiId: p.text().strictNullable(),
    fallbackBank: p.json<FallbackBank>().strictNullable(),
    fallbackInstructions: p.text().strictNullable(),
    commission: p.bigint().$type<Percent>(),
    whatsappPhoneNumberId: p.text().strictNullable(),
    whatsappToken: p.text().strictNullable(),
    whatsappTemplate: p.text().strictNullable(),
    whatsappAppSecret: p.text().strictNullable(),
    whatsappVerifyToken: p.text().strictNullable(),
    /** The lender's own limits: maps the name of a limit to its requests per minute. Other limits have their default. */
    rateLimits: p.json<Readonly<Record<string, number>>>(),
    state: p.text().$type<LenderState>(),
    createdAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});
/** A row of `lenders.lender`. Its secrets are sealed. */
export type LenderRow = InferEntity<typeof LenderEntity>;

/**
 * One API key of a lender. `secret` is sealed. `signing` marks the key that signs requests to the lender. In environments
 * where the signature debugger is closed by default, it is open for this key until `debugUntil`.
 */
export const ApiKeyEntity = defineEntity({
  name: "ApiKey",
  schema: "lenders",
  tableName: "api_key",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.text().primary(),
    secret: p.text(),
    state: p.text().$type<ApiKeyState>(),
    retiresAt: p.datetime().columnType("timestamptz").strictNullable(),
    signing: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
    lastUsedAt: p.datetime().columnType("timestamptz").strictNullable(),
    revokedAt: p.datetime().columnType("timestamptz").strictNullable(),
    debugUntil: p.datetime().columnType("timestamptz").strictNullable(),
  },
});
/** A row of `lenders.api_key`. Its secret is sealed. */
export type ApiKeyRow = InferEntity<typeof ApiKeyEntity>;

/**
 * The lender that an API key belongs to. On a cluster every node has a copy of this table, so a key is found without a query
 * of every shard of `lenders.api_key`. The row is inserted together with its key and never changes.
 */
export const LenderOfKeyEntity = defineEntity({
  name: "LenderOfKey",
  schema: "lenders",
  tableName: "lender_of_key",
  properties: {
    keyId: p.text().primary(),
    lenderId: p.uuid(),
  },
});

/** An action of an operator on a lender, and its reason. The table is append-only. */
export const AuditEntryEntity = defineEntity({
  name: "AuditEntry",
  schema: "lenders",
  tableName: "audit_entry",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    act: p.text(),
    reason: p.text().strictNullable(),
    data: p.json<Record<string, unknown>>(),
    at: p.datetime().columnType("timestamptz"),
    /** The actor. Null in rows that versions before migration 0010 have written. */
    actor: p.text().$type<Actor>().strictNullable(),
  },
});

/**
 * The only row has a sealed value that only this database's master key can decrypt. So a process with another master
 * key is detected.
 */
export const MasterKeySentinelEntity = defineEntity({
  name: "MasterKeySentinel",
  schema: "lenders",
  tableName: "master_key_sentinel",
  properties: {
    onlyRow: p.boolean().primary(),
    sealed: p.text(),
    sealedAt: p.datetime().columnType("timestamptz"),
  },
});

/**
 * Adds the missing rows of `lenders.lender_of_key`. A process of an older version, which does not know this table,
 * creates API keys without such a row. Older versions do not run on clusters.
 */
const ADD_LENDERS_OF_KEYS = `insert into lenders.lender_of_key (key_id, lender_id)
  select id, lender_id from lenders.api_key on conflict do nothing`;

/**
 * The PostgreSQL schema `lenders`: organisations, their API keys and the audit of actions on them.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [lendersSchema] });
 */
export const lendersSchema: PackageSchema = {
  name: "lenders",
  entities: [
    LenderEntity,
    ApiKeyEntity,
    LenderOfKeyEntity,
    AuditEntryEntity,
    PermitWindowEntity,
    MasterKeySentinelEntity,
  ],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema lenders`,
        `create table lenders.lender (
          id uuid primary key,
          code text not null unique check (code ~ '^[A-Z0-9]{2,16}$'),
          name text not null,
          country text not null,
          currency char(3) not null,
          language text not null,
          time_zone text not null,
          technical_contacts text[] not null,
          mint_link_url text,
          mint_auth_header text,
          fallback_upi_id text,
          fallback_bank jsonb,
          fallback_instructions text,
          commission bigint not null check (commission between 0 and 1000000),
          whatsapp_phone_number_id text,
          whatsapp_token text,
          whatsapp_template text,
          rate_limits jsonb not null,
          state text not null check (state in ('active', 'suspended')),
          created_at timestamptz not null,
          updated_at timestamptz not null
        )`,
        `create table lenders.api_key (
          lender_id uuid not null,
          id text not null,
          secret text not null,
          state text not null check (state in ('active', 'retiring', 'revoked')),
          retires_at timestamptz,
          signing boolean not null,
          created_at timestamptz not null,
          last_used_at timestamptz,
          revoked_at timestamptz,
          primary key (lender_id, id),
          check (state <> 'retiring' or retires_at is not null),
          check ((state = 'revoked') = (revoked_at is not null)),
          check (not (signing and state = 'revoked'))
        )`,
        `create index on lenders.api_key (id)`,
        `create unique index on lenders.api_key (lender_id) where signing`,
        `create table lenders.audit_entry (
          lender_id uuid not null,
          id uuid not null,
          act text not null,
          reason text,
          data jsonb not null,
          at timestamptz not null,
          primary key (lender_id, id)
        )`,
      ],
    },
    { name: "0002-debugger", statements: [`alter table lenders.api_key add column debug_until timestamptz`] },
    { name: "0003-permits", statements: permitMigration },
    {
      name: "0004-whatsapp-webhook",
      statements: [
        `alter table lenders.lender add column whatsapp_app_secret text, add column whatsapp_verify_token text`,
      ],
    },
    { name: "0005-master-key-sentinel", statements: masterKeySentinelMigration },
    {
      name: "0006-link-hosts",
      statements: [`alter table lenders.lender add column payment_link_hosts text[] not null default '{}'`],
    },
    {
      name: "0007-balance-cutoff",
      statements: ["alter table lenders.lender add column balance_cutoff text"],
    },
    {
      name: "0008-lender-of-key",
      statements: [
        `create table lenders.lender_of_key (key_id text primary key, lender_id uuid not null)`,
        ADD_LENDERS_OF_KEYS,
      ],
    },
    {
      name: "0009-acts-on-loans",
      statements: [
        `create index if not exists audit_entry_of_loan on lenders.audit_entry (lender_id, (data->>'loan'), id)
          where data->>'loan' is not null`,
      ],
    },
    { name: "0010-actors", statements: ["alter table lenders.audit_entry add column actor text"] },
    {
      name: "0011-keep-personal-data",
      statements: ["alter table lenders.lender add column keep_personal_data_days integer not null default 365"],
    },
    {
      name: "0012-audit-by-kind",
      statements: [
        "create index if not exists audit_entry_of_kind on lenders.audit_entry (lender_id, act, id)",
        "create index if not exists audit_entry_of_actor on lenders.audit_entry (lender_id, actor, act, id)",
      ],
    },
  ],
  appendOnly: ["lenders.audit_entry"],
  beforeDistribution: [ADD_LENDERS_OF_KEYS],
  undistributed: [
    {
      table: "lenders.lender",
      as: "reference",
      because: "the table has few rows, which all processes read and rarely write",
    },
    {
      table: "lenders.lender_of_key",
      as: "reference",
      because: "the table leads from a key id to its lender, and so to the node that has the key",
    },
    {
      table: "lenders.permit_window",
      as: "local",
      because: "the table has counters of the previous version, which expire after a minute",
    },
    {
      table: "lenders.master_key_sentinel",
      as: "local",
      because: "the table has one row, which a process reads when it starts",
    },
  ],
};
