import type { PackageSchema } from "@collections/database";
import { HeldReportEntity } from "./message/held-report.ts";
import { LinkDeliveryEntity } from "./link/link-delivery.ts";
import { PaymentLinkEntity } from "./link/payment-link.ts";

/**
 * The schema `payment_links`: the payment links that field partners requested, and the messages that carry them.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [paymentLinksSchema] });
 */
export const paymentLinksSchema: PackageSchema = {
  name: "payment_links",
  entities: [PaymentLinkEntity, LinkDeliveryEntity, HeldReportEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema payment_links`,
        `create table payment_links.payment_link (
          lender_id uuid not null,
          id uuid not null,
          case_id uuid not null,
          source_loan_number text not null,
          visit_id uuid not null,
          field_partner_id uuid not null,
          amount_minor bigint not null check (amount_minor > 0),
          currency char(3) not null,
          status text not null
            check (status in ('requested', 'minted', 'sent', 'unavailable', 'superseded', 'paid')),
          link_id text,
          url text,
          unavailable_reason text
            check (unavailable_reason in ('timeout', 'non_2xx', 'refused', 'bad_answer', 'bad_url', 'connect', 'dns',
              'tls', 'blocked_address', 'outcome_unknown', 'not_configured')),
          unavailable_detail text,
          mint_key uuid not null,
          mint_started_at timestamptz,
          minted_at timestamptz,
          sent_at timestamptz,
          unavailable_at timestamptz,
          superseded_at timestamptz,
          paid_at timestamptz,
          channels text[] not null check (channels <@ array['whatsapp', 'email']),
          created_at timestamptz not null,
          updated_at timestamptz not null,
          primary key (lender_id, id),
          check (status not in ('minted', 'sent') or (link_id is not null and url is not null)),
          check (status <> 'unavailable' or unavailable_reason is not null),
          check (status <> 'paid' or paid_at is not null)
        )`,
        // At most one link of a case is live, also when two transactions record links at the same time.
        `create unique index payment_link_live on payment_links.payment_link (lender_id, case_id)
          where status in ('minted', 'sent')`,
        // The index does not begin with the lender. Otherwise a plan made on an empty table would use it instead of the
        // primary key.
        `create index payment_link_of_case on payment_links.payment_link (case_id, lender_id, id)`,
        `create index payment_link_of_field_partner on payment_links.payment_link (field_partner_id, id)`,
        // The id is part of the index. Otherwise a plan made on an empty table would read all links of the lender to
        // find the newest one.
        `create index payment_link_by_link_id on payment_links.payment_link (lender_id, link_id, id)
          where link_id is not null`,
        `create index payment_link_requested on payment_links.payment_link (created_at) where status = 'requested'`,
        `create table payment_links.link_delivery (
          lender_id uuid not null,
          id uuid not null,
          payment_link_id uuid not null,
          channel text not null check (channel in ('whatsapp', 'email')),
          status text not null check (status in ('queued', 'suppressed', 'sent', 'failed', 'delivered', 'read')),
          provider_message_id text,
          failure_code text,
          failure_detail text,
          started_at timestamptz,
          created_at timestamptz not null,
          updated_at timestamptz not null,
          primary key (lender_id, id),
          foreign key (lender_id, payment_link_id) references payment_links.payment_link (lender_id, id)
        )`,
        `create index link_delivery_of_link on payment_links.link_delivery (payment_link_id, lender_id, id)`,
        `create index link_delivery_by_message on payment_links.link_delivery (lender_id, provider_message_id)
          where provider_message_id is not null`,
        `create index link_delivery_queued on payment_links.link_delivery (updated_at) where status = 'queued'`,
      ],
    },
    {
      name: "0002-held-reports",
      statements: [
        // Reports of a channel that arrived before the message's id was stored. They are kept for minutes.
        `create table payment_links.held_report (
          lender_id uuid not null,
          provider_message_id text not null,
          status text not null check (status in ('sent', 'failed', 'delivered', 'read')),
          failure_code text,
          failure_detail text,
          received_at timestamptz not null,
          primary key (lender_id, provider_message_id, status)
        )`,
      ],
    },
    {
      name: "0003-out-of-order",
      statements: [
        "alter table payment_links.payment_link add column came_out_of_order boolean not null default false",
      ],
    },
    {
      name: "0004-wishes-that-have-passed",
      statements: [
        // NOT VALID leaves the existing rows unchecked. They passed the old check, and the new check allows every
        // reason that the old one allowed.
        `alter table payment_links.payment_link
           drop constraint payment_link_unavailable_reason_check,
           add constraint payment_link_unavailable_reason_check
             check (unavailable_reason in ('timeout', 'non_2xx', 'refused', 'bad_answer', 'bad_url', 'connect', 'dns',
               'tls', 'blocked_address', 'outcome_unknown', 'not_configured', 'case_not_workable',
               'amount_not_allowed', 'asked_too_long_ago')) not valid`,
      ],
    },
    {
      name: "0005-age-of-wishes",
      statements: ["alter table payment_links.payment_link add column asked_at timestamptz"],
    },
    {
      name: "0006-reversals",
      statements: ["alter table payment_links.payment_link add column reversed_at timestamptz"],
    },
    {
      name: "0007-own-faults",
      // Null in existing rows, and in rows that a process of the previous version settles.
      statements: ["alter table payment_links.payment_link add column unavailable_own_fault boolean"],
    },
  ],
};
