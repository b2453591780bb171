import type { PackageSchema } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** An answered request of a lender, without its body, its query string and its headers. */
export const LoggedRequestEntity = defineEntity({
  name: "LoggedRequest",
  schema: "request_log",
  tableName: "request",
  properties: {
    lenderId: p.uuid().primary(),
    /** The UUID of the `X-Request-Id`. It contains the time of the request. */
    id: p.uuid().primary(),
    receivedAt: p.datetime().columnType("timestamptz"),
    keyId: p.text(),
    /** Whether the signature was right. A request without a right signature needs only the id of a key. */
    isSigned: p.boolean(),
    method: p.text(),
    /** The path as it was sent, without the query string. */
    path: p.text(),
    endpoint: p.text(),
    status: p.smallint(),
    /** The `code` of an error. */
    code: p.text().strictNullable(),
    durationMs: p.integer(),
  },
});
/** A row of `request_log.request`. */
export type LoggedRequest = Readonly<InferEntity<typeof LoggedRequestEntity>>;

/** The first successful signed request of a lender to an endpoint. It is never deleted. */
export const FirstUseEntity = defineEntity({
  name: "FirstUse",
  schema: "request_log",
  tableName: "first_use",
  properties: {
    lenderId: p.uuid().primary(),
    endpoint: p.text().primary(),
    usedAt: p.datetime().columnType("timestamptz"),
  },
});

/**
 * The PostgreSQL schema `request_log`: the requests of lenders to the API, which are kept for seven days.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [requestLogSchema] });
 */
export const requestLogSchema: PackageSchema = {
  name: "request_log",
  entities: [LoggedRequestEntity, FirstUseEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema request_log`,
        `create table request_log.request (
          lender_id uuid not null,
          id uuid not null,
          received_at timestamptz not null,
          key_id text not null,
          is_signed boolean not null,
          method text not null,
          path text not null,
          endpoint text not null,
          status smallint not null,
          code text,
          duration_ms integer not null,
          primary key (lender_id, id)
        )`,
        `create index request_failed on request_log.request (lender_id, id) where status >= 400`,
        `create table request_log.first_use (
          lender_id uuid not null,
          endpoint text not null,
          used_at timestamptz not null,
          primary key (lender_id, endpoint)
        )`,
      ],
    },
  ],
};
