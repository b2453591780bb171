import type { PackageSchema } from "@collections/database";
import { Case } from "./case/collection-case.ts";
import { FileImport } from "./import/file-import.ts";
import { GoneCaseEntity } from "./list/gone-case.ts";
import { RareCaseEntity, RareStatusEntity } from "./list/rare-status.ts";
import { SearchStateEntity } from "./list/search-state.ts";
import { caseRuleMigration } from "./migrations/0013-case-rule.ts";
import { searchMigration } from "./migrations/0014-search.ts";
import { balanceMigration } from "./migrations/0015-balance.ts";
import { foldedNamesMigration } from "./migrations/0016-folded-names.ts";
import { searchStatesMigration } from "./migrations/0018-search-states.ts";
import { rareStatusesMigration } from "./migrations/0019-rare-statuses.ts";
import { visitTimesMigration } from "./migrations/0020-visit-times.ts";
import { statusGroupsMigration } from "./migrations/0021-status-groups.ts";
import { filterKeysMigration } from "./migrations/0022-filter-keys.ts";
import { countedVisitsMigration } from "./migrations/0023-counted-visits.ts";
import { goneCasesMigration } from "./migrations/0005-gone-cases.ts";
import { QueuedRequestEntity } from "./visit/queued-request.ts";
import { ImportRun } from "./import/import-run.ts";
import { PromiseToPay } from "./visit/promise-to-pay.ts";
import { Visit } from "./visit/visit.ts";

// The allowed values are repeated here and not imported: a released migration must not change, but a list in the code
// may grow.
const dispositions = `'PAID_VIA_LINK', 'PAID_ELSEWHERE_CLAIMED', 'PROMISE_TO_PAY', 'CALLBACK_REQUESTED', 'NOT_AT_HOME',
    'DOOR_LOCKED', 'SHIFTED', 'ADDRESS_NOT_FOUND', 'WRONG_PERSON', 'REFUSED_TO_PAY', 'HARDSHIP', 'DISPUTE', 'DECEASED',
    'UNSAFE', 'OTHER'`;

const createCases = `
create table cases.collection_case (
  lender_id uuid not null,
  id uuid not null,
  source_loan_number text not null,
  cycle integer not null check (cycle >= 1),
  is_current boolean not null,
  allocation_ref text,
  status text not null check (status in ('new', 'assigned', 'in_progress', 'on_hold', 'collected', 'closed', 'withdrawn')),
  status_reason text,
  status_before_hold text check (status_before_hold in ('new', 'assigned', 'in_progress')),
  field_work text not null check (field_work in ('open', 'blocked')),
  blocked_at timestamptz,
  work_begun boolean not null,
  settled_by_lender boolean not null,
  tags text[] not null,
  currency char(3) not null,
  placed_minor bigint not null check (placed_minor >= 0),
  outstanding_minor bigint not null check (outstanding_minor >= 0),
  total_collected_minor bigint not null check (total_collected_minor >= 0),
  excess_minor bigint not null check (excess_minor between 0 and total_collected_minor),
  minimum_minor bigint check (minimum_minor >= 0),
  outstanding_as_of timestamptz,
  last_payment_at timestamptz,
  product_type text,
  branch_code text,
  emi_minor bigint check (emi_minor >= 0),
  next_due_date date,
  overdue_since date,
  dpd integer,
  bucket text,
  borrower_name text not null,
  borrower_phone text not null,
  alternate_phones text[] not null,
  borrower_email text,
  language text,
  addresses jsonb not null,
  consent jsonb not null,
  do_not_contact_until date,
  metadata jsonb not null,
  assigned_field_partner_id uuid,
  last_visit_id uuid,
  last_disposition text check (last_disposition in (${dispositions})),
  sequence bigint not null check (sequence >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  closed_at timestamptz,
  close_reason text check (close_reason in ('paid_in_full', 'settled_by_lender', 'withdrawn', 'closed_by_operator')),
  primary key (lender_id, id),
  check ((field_work = 'blocked') = (blocked_at is not null)),
  check (status <> 'collected' or outstanding_minor = 0)
) with (fillfactor = 75)`;

// The update by a confirmation must stay a heap-only (HOT) update. So no index, and no predicate of an index, names a
// column that a confirmation changes.
const indexCases = [
  "create unique index on cases.collection_case (lender_id, source_loan_number) where is_current",
  "create unique index on cases.collection_case (lender_id, source_loan_number, cycle)",
  `create index on cases.collection_case (assigned_field_partner_id, id)
     where is_current and assigned_field_partner_id is not null`,
];

const createVisits = `
create table cases.visit (
  lender_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  field_partner_id uuid not null,
  started_at timestamptz not null,
  start_received_at timestamptz not null,
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  accuracy_m double precision check (accuracy_m >= 0),
  completed_at timestamptz,
  completion_received_at timestamptz,
  disposition text check (disposition in (${dispositions})),
  note text,
  primary key (lender_id, id),
  foreign key (lender_id, case_id) references cases.collection_case (lender_id, id),
  check ((completed_at is null) = (disposition is null)),
  check ((completed_at is null) = (completion_received_at is null))
)`;

const indexVisits = [
  "create index on cases.visit (lender_id, case_id, start_received_at, id)",
  "create index on cases.visit (id)",
  "create index on cases.visit (field_partner_id, started_at)",
];

const createPromises = `
create table cases.promise (
  lender_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  visit_id uuid not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency char(3) not null,
  due_on date not null,
  state text not null check (state in ('open', 'kept', 'broken', 'replaced')),
  created_at timestamptz not null,
  primary key (lender_id, id),
  foreign key (lender_id, visit_id) references cases.visit (lender_id, id)
)`;

const indexPromises = [
  "create unique index on cases.promise (lender_id, case_id) where state = 'open'",
  "create index on cases.promise (lender_id, visit_id)",
];

const createImportRuns = `
create table cases.import_run (
  lender_id uuid not null,
  id uuid not null,
  summary jsonb not null,
  created_at timestamptz not null,
  primary key (lender_id, id)
)`;

const createFileImports = `
create table cases.file_import (
  lender_id uuid not null,
  file_key text not null,
  file_name text not null,
  rows_done integer not null check (rows_done >= 0),
  rejected_bytes bigint not null check (rejected_bytes >= 0),
  summary jsonb not null,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (lender_id, file_key)
)`;

const createHeldRequests = `
create table cases.held_request (
  field_partner_id uuid not null,
  mutation text not null check (mutation in ('completeVisit', 'requestPaymentLink')),
  key uuid not null,
  visit_id uuid not null,
  input jsonb not null,
  received_at timestamptz not null,
  primary key (field_partner_id, mutation, key)
)`;

/**
 * The indexes that find the visits and promises of a day, and unassigned cases. A confirmation changes no column of the
 * index on cases. Operators of large databases create the indexes CONCURRENTLY before the release.
 */
const indexDayFigures = [
  "create index if not exists visit_start_received on cases.visit (lender_id, start_received_at)",
  "create index if not exists visit_completion_received on cases.visit (lender_id, completion_received_at)",
  "create index if not exists promise_due on cases.promise (lender_id, due_on, state)",
  `create index if not exists case_unassigned on cases.collection_case (lender_id, id)
     where is_current and assigned_field_partner_id is null`,
];

/**
 * Converts stored texts to NFC. New texts are stored in NFC and searches compare in NFC, but older rows may be in any
 * normal form.
 */
const normalizeTexts = `
update cases.collection_case
set borrower_name = normalize(borrower_name), bucket = normalize(bucket), addresses = normalize(addresses::text)::jsonb
where borrower_name is not normalized or bucket is not normalized or addresses::text is not normalized`;

/**
 * The schema `cases`: cases with their visits and promises, the progress of imports, and the cases that field partners
 * have lost.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [casesSchema] });
 */
export const casesSchema: PackageSchema = {
  name: "cases",
  entities: [
    Case,
    Visit,
    PromiseToPay,
    ImportRun,
    FileImport,
    QueuedRequestEntity,
    GoneCaseEntity,
    SearchStateEntity,
    RareStatusEntity,
    RareCaseEntity,
  ],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema cases",
        createCases,
        ...indexCases,
        createVisits,
        ...indexVisits,
        createPromises,
        ...indexPromises,
        createImportRuns,
      ],
    },
    { name: "0002-file-imports", statements: [createFileImports] },
    {
      name: "0003-repeated-imports",
      statements: [`alter table cases.import_run add column refused jsonb not null default '[]'`],
    },
    {
      name: "0004-held-requests",
      statements: [
        createHeldRequests,
        "create index on cases.held_request (field_partner_id, visit_id)",
        "create index on cases.held_request (received_at)",
        "alter table cases.visit add column came_out_of_order boolean not null default false",
      ],
    },
    { name: "0005-gone-cases", statements: goneCasesMigration },
    { name: "0006-normal-forms", statements: [normalizeTexts] },
    // Existing rows keep null. The code that reads the columns derives a value: see peak.ts and LockedCase.
    {
      name: "0007-order-of-arrival",
      statements: [
        "alter table cases.collection_case add column peak_minor bigint, add column assigned_since timestamptz",
      ],
    },
    // No migration was ever numbered 0008.
    {
      name: "0009-repeated-requests",
      // `dry_run` and `atomic` store the options of the first use of an import id, even if that import changed no row. A
      // repeat of the id uses the same options.
      statements: [
        `alter table cases.import_run
           add column applied boolean not null default true,
           add column dry_run boolean not null default false,
           add column atomic boolean not null default false`,
      ],
    },
    // NOT VALID: every existing row passed the dropped check, which allowed less.
    {
      name: "0010-reversals",
      statements: [
        `alter table cases.collection_case
           add column total_reversed_minor bigint not null default 0,
           drop constraint collection_case_check2`,
        `alter table cases.collection_case add constraint collection_case_collected_check
           check (status <> 'collected' or outstanding_minor = 0 or not is_current) not valid`,
      ],
    },
    { name: "0011-day-figures", statements: indexDayFigures },
    {
      name: "0012-erasure",
      statements: [
        "alter table cases.collection_case add column if not exists erased_at timestamptz",
        // Finds the cases that still have personal data. A confirmation changes neither of its columns nor its predicate.
        `create index if not exists case_not_erased on cases.collection_case (lender_id, id) where erased_at is null`,
      ],
    },
    { name: "0013-case-rule", statements: caseRuleMigration },
    { name: "0014-search", statements: searchMigration },
    { name: "0015-balance", statements: balanceMigration },
    { name: "0016-folded-names", statements: foldedNamesMigration },
    {
      name: "0017-phone-clocks",
      statements: [
        `alter table cases.visit add column start_clock_wrong boolean not null default false,
           add column completion_clock_wrong boolean not null default false`,
      ],
    },
    { name: "0018-search-states", statements: searchStatesMigration },
    { name: "0019-rare-statuses", statements: rareStatusesMigration },
    { name: "0020-visit-times", statements: visitTimesMigration },
    { name: "0021-status-groups", statements: statusGroupsMigration },
    { name: "0022-filter-keys", statements: filterKeysMigration },
    { name: "0023-counted-visits", statements: countedVisitsMigration },
  ],
  readOnly: ["cases.search_state"],
  undistributed: [
    {
      table: "cases.held_request",
      as: "local",
      commitsWithLenders: true,
      because: "belongs to a field partner, and its case is not known yet; kept for days",
    },
  ],
};
