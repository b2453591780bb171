import { newId, query, statement } from "@collections/database";
import type { Database } from "@collections/entities";
import type { CaseStatus } from "../src/case/case-status.ts";

/** A case of a test: what the lists of cases filter and sort by. */
export interface SampleCase {
  readonly loan: string;
  readonly status: CaseStatus;
  readonly dpd: number | null;
  readonly holder: string | null;
  readonly isCurrent: boolean;
}

/** Inserts cases of a lender. Their ids are in the order of the cases. */
export async function insertSampleCases(
  database: Database,
  lenderId: string,
  cases: readonly SampleCase[],
): Promise<void> {
  await query(database.em(), insert, [lenderId, newId(), JSON.stringify(cases)]);
}

const insert = statement(
  "test.insert-sample-cases",
  `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
     settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at,
     assigned_field_partner_id, dpd)
   select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, k->>'loan', 1, (k->>'isCurrent')::boolean,
     k->>'status', 'open', false, false, '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(),
     now(), (k->>'holder')::uuid, (k->>'dpd')::integer
   from jsonb_array_elements($3::jsonb) with ordinality as r (k, n)`,
);
