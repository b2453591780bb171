// The declarations that the examples in the docstrings use. The examples are compiled together with this file.

import { lockVisit, ownCasesByIds } from "@collections/cases";
import { databaseTime, newId } from "@collections/database";
import type { Database, EntityManager, Tx } from "@collections/entities";
import { otpQueue, type SignInKeys } from "@collections/field-partners";
import type * as own from "@collections/flows";
import type { Credentials, Lender, Vault } from "@collections/lenders";
import type { Mailer, SmsGateway, WhatsApp } from "@collections/messaging";
import { AmountLiteral, currency } from "@collections/money";
import { type Outbound, parseAllowList } from "@collections/outbound";
import { alertQueue } from "@collections/webhooks";

declare const database: Database, em: EntityManager, tx: Tx, now: Date;
declare const outbound: Outbound, credentials: Credentials, vault: Vault, keys: SignInKeys;
declare const mailer: Mailer, sms: SmsGateway, whatsapp: WhatsApp;
declare const links: own.LinkDeps, otps: own.OtpDeps, alerts: own.AlertDeps;
declare const lender: Lender,
  payment: own.Confirmation,
  request: own.ReversalRequest,
  nightlyRows: readonly unknown[],
  typedNote: string;
declare const caseId: string, visitId: string, fieldPartnerId: string, linkId: string, idempotencyKey: string;
declare const lenderId: string, runId: string, from: Date, to: Date, checked: own.CheckedPaymentRow;
declare const rows: readonly own.CheckedPaymentRow[];
