import type { PackageSchema } from "@collections/database";
import { alerts, alertQueue } from "./endpoint/alert.ts";
import { attemptTable } from "./storage/attempt-log.ts";
import { deliveryTable } from "./storage/delivery.ts";
import { endpointTable } from "./endpoint/endpoint.ts";
import { subscriptions } from "./endpoint/subscription.ts";
import { eventTable } from "./storage/event.ts";
import { eventWithoutEndpointTable } from "./storage/event-without-endpoint.ts";
import { migration0003 } from "./migrations/0003-partitions.ts";
import { migration0008 } from "./migrations/0008-partitions-on-a-cluster.ts";
import { replayTable } from "./replay/replay.ts";
import { requests } from "./replay/replay-request.ts";
import { letGoTable, retentionTable } from "./storage/retention.ts";
import { retryQueue } from "./dispatch/retry.ts";

/**
 * Tables of endpoints, events, deliveries and attempts. Events and attempts are partitioned by id, which begins with
 * their time. Therefore no foreign key refers to them, and they are found only by (lender_id, id) and by stream or
 * delivery. Only primary keys begin with `lender_id`. On a table without statistics, a second index that begins with
 * `lender_id` would look as good to the planner as the primary key. A query that is prepared at that time would read
 * all rows of an endpoint to find one row.
 *
 * `lender_id` is the address of an endpoint: the tenant's id, or a UUID that is derived from the tenant and the name of
 * the endpoint. `loan` and `source_loan_number` are the stream. The columns are named after the terms of the package's
 * first host, where tenants are lenders. They keep these names, because processes of the previous version use them
 * during a release. Code that reads or writes rows uses the names of the columns: `lenderId` and `loan`.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [webhooksSchema], jobs: true });
 */
export const webhooksSchema: PackageSchema = {
  name: "webhooks",
  tables: [
    endpointTable,
    subscriptions,
    eventTable,
    eventWithoutEndpointTable,
    deliveryTable,
    attemptTable,
    alerts,
    replayTable,
    requests,
    retentionTable,
    letGoTable,
  ],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema webhooks`,
        `create table webhooks.endpoint (
          lender_id uuid not null,
          id uuid not null,
          url text,
          state text not null default 'active' check (state in ('active', 'suspended')),
          consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
          suspended_at timestamptz,
          next_probe_at timestamptz,
          created_at timestamptz not null default now(),
          updated_at timestamptz not null default now(),
          primary key (lender_id, id)
        )`,
        `create unique index endpoint_one_per_lender on webhooks.endpoint (lender_id)`,
        `create table webhooks.event (
          lender_id uuid not null,
          id uuid not null,
          kind text not null,
          source_loan_number text not null,
          sequence bigint not null check (sequence > 0),
          body text not null,
          occurred_at timestamptz not null,
          created_at timestamptz not null default now(),
          primary key (lender_id, id)
        )`,
        `create index event_of_loan on webhooks.event (source_loan_number, lender_id, sequence)`,
        // The loan has byte order (collation "C"), because every lease compares loans to get from one loan to the next.
        `create table webhooks.delivery (
          lender_id uuid not null,
          id uuid not null,
          endpoint_id uuid not null,
          loan text collate "C" not null,
          sequence bigint not null,
          kind text not null,
          state text not null check (state in ('waiting', 'retrying', 'delivered', 'parked')),
          attempts integer not null default 0,
          next_attempt_at timestamptz,
          claim_id uuid,
          leased_until timestamptz,
          last_error text,
          created_at timestamptz not null default now(),
          settled_at timestamptz,
          primary key (lender_id, id)
        ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
        // The columns of the lease have no index, so that a lease rewrites no index entry.
        `create index delivery_waiting on webhooks.delivery (endpoint_id, loan, sequence) where state = 'waiting'`,
        `create index delivery_retrying on webhooks.delivery (endpoint_id, next_attempt_at) where state = 'retrying'`,
        `create index delivery_parked on webhooks.delivery (endpoint_id, id) where state = 'parked'`,
        `create table webhooks.attempt (
          lender_id uuid not null,
          id uuid not null,
          delivery_id uuid not null,
          number integer not null check (number > 0),
          started_at timestamptz not null,
          duration_ms integer not null,
          outcome text not null check (outcome in ('delivered', 'failed')),
          status integer,
          headers jsonb,
          body text,
          error_code text,
          error_detail text,
          replay boolean not null default false,
          created_at timestamptz not null default now(),
          primary key (lender_id, id)
        )`,
        `create index attempt_of_delivery on webhooks.attempt (delivery_id, id)`,
      ],
    },
    {
      name: "0002-suspension",
      statements: [
        `alter table webhooks.endpoint
           add column failing_since timestamptz,
           add column recovered_at timestamptz,
           add column drain_to uuid,
           add column probed_at timestamptz,
           add column probe_error text`,
        `create index endpoint_suspended on webhooks.endpoint (next_probe_at) where state = 'suspended'`,
        `alter table webhooks.delivery add column replay boolean not null default false`,
        // The index serves a check that each lease makes after a recovery: whether an earlier event of the loan still
        // waits for its retry.
        `create index delivery_retrying_loan on webhooks.delivery (endpoint_id, loan, sequence) where state = 'retrying'`,
        `create table webhooks.alert (
          lender_id uuid not null,
          id uuid not null,
          cause text not null check (cause in ('suspended', 'parked', 'gone', 'recovered')),
          facts jsonb not null,
          raised_at timestamptz not null,
          held_back integer not null default 0 check (held_back >= 0),
          primary key (lender_id, id)
        )`,
        `create unique index alert_one_per_cause on webhooks.alert (lender_id, cause)`,
        `create table webhooks.replay (
          lender_id uuid not null,
          id uuid not null,
          loan text,
          kind text,
          states text[] not null,
          created_from timestamptz,
          created_to timestamptz,
          rate_per_second integer not null check (rate_per_second > 0),
          total integer not null,
          done integer not null default 0,
          state text not null check (state in ('running', 'done', 'cancelled')),
          cursor uuid,
          up_to uuid not null,
          requested_by text not null,
          next_step_at timestamptz not null,
          created_at timestamptz not null,
          finished_at timestamptz,
          primary key (lender_id, id)
        )`,
        `create index replay_running on webhooks.replay (next_step_at) where state = 'running'`,
      ],
    },
    { name: "0003-partitions", statements: migration0003 },
    {
      name: "0004-replays",
      // The index is for counting replayed deliveries that still wait, because the next step of a replay waits for
      // them.
      statements: [
        `create index delivery_replayed on webhooks.delivery (endpoint_id, id) where state = 'waiting' and replay`,
      ],
    },
    {
      name: "0005-room-for-leases",
      // Leaves room in each page for a new version of each row, so that no row moves to another page when it is leased.
      // Rows of the same page are leased together.
      statements: [`alter table webhooks.delivery set (fillfactor = 45)`],
    },
    {
      name: "0006-repeated-requests",
      // A client that lost the answer repeats its request. These columns identify the repeat.
      statements: [
        `alter table webhooks.delivery add column replayed_by uuid`,
        `alter table webhooks.replay add column joined_by uuid[] not null default '{}'`,
      ],
    },
    {
      name: "0007-replay-requests",
      // Records every request, so that a repeat of any of them is recognized. `delivery.replayed_by` has only the
      // latest request.
      statements: [
        `create table webhooks.replay_request (
          lender_id uuid not null,
          id uuid not null,
          delivery_id uuid,
          created_at timestamptz not null,
          primary key (lender_id, id)
        )`,
      ],
    },
    { name: "0008-partitions-on-a-cluster", statements: migration0008 },
    {
      name: "0009-named-endpoints",
      // The `lender_id` of a named endpoint is its address, which is also `subscription.id`. The row stores `tenant_id`
      // and `name` too, because they cannot be computed from the address.
      statements: [
        `create table webhooks.subscription (
          lender_id uuid not null,
          id uuid not null,
          name text not null,
          topics text[] not null,
          created_at timestamptz not null default now(),
          primary key (lender_id, id),
          unique (lender_id, name)
        )`,
        `alter table webhooks.endpoint
           add column tenant_id uuid,
           add column name text,
           add column has_named boolean not null default false`,
      ],
    },
    {
      name: "0010-pace",
      // Processes of the previous version do not pace attempts.
      statements: [`alter table webhooks.endpoint add column paced_until timestamptz`],
    },
    {
      name: "0011-without-endpoint",
      // A process of the previous version writes waiting deliveries for a removed unnamed endpoint. They wait until the endpoint
      // is registered again.
      statements: [
        `alter table webhooks.endpoint add column removed_at timestamptz`,
        `create table webhooks.event_without_endpoint (
          lender_id uuid not null,
          id uuid not null,
          primary key (lender_id, id)
        )`,
      ],
    },
  ],
  appendOnly: ["webhooks.event", "webhooks.attempt"],
  readOnly: ["webhooks.retention", "webhooks.let_go"],
  undistributed: [
    {
      table: "webhooks.retention",
      as: "local",
      because: "a row for each partitioned table, read where partitions are made",
    },
  ],
  queues: [retryQueue, alertQueue],
};
