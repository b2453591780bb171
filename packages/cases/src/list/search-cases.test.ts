import { newId, query, statement } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { foundLoans } from "../../tests/found-loans.ts";
import type { CaseSearch } from "./case-search.ts";

const database = await casesDatabase();
/** More rows than one query reads in the order of ids, so that the rest is found by an index. */
const OTHER_ROWS = 10_500;
const LENDER = newId();
const STRANGER = newId();
const FIRST_NAMES = ["Asha", "ASHWIN", "Al", "Imran", "Zarathustra", "D'Souza", "मीना", "Özge"];
const LAST_NAMES = ["Rao", "Khan", "khanna", "O'Brien", "Li", "राव", "van der Berg", ""];
const BRANCHES = ["PUNE-1", "pune-1", "B 2", null];
const POSTAL_CODES = ["411 045", "411045", "SW1A 1AA", null];

interface Row {
  readonly loan: string;
  readonly name: string;
  readonly branch: string | null;
  readonly postalCode: string | null;
  readonly isCurrent: boolean;
}

const rows: Row[] = FIRST_NAMES.flatMap((first, i) =>
  LAST_NAMES.map((last, j) => {
    const place = i * LAST_NAMES.length + j;
    return {
      loan: `LN-${place}-${"abcdefgh"[j]!}Ä`,
      name: `${first} ${last}`.trim(),
      branch: BRANCHES[place % BRANCHES.length]!,
      postalCode: POSTAL_CODES[(place >> 1) % POSTAL_CODES.length]!,
      isCurrent: place % 9 !== 0,
    };
  }),
);

const insert = statement(
  "test.insert-cases",
  `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work, work_begun,
     settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor, excess_minor, borrower_name,
     borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at, updated_at, branch_code)
   select $1::uuid, overlay($2::text placing lpad(to_hex(n), 8, '0') from 29)::uuid, k->>'loan', 1, (k->>'isCurrent')::boolean,
     'new', 'open', false, false, '{}', 'INR', 1, 1, 0, 0, k->>'name', '+919800000001', '{}',
     case when k->>'postalCode' is null then '[]' else jsonb_build_array(jsonb_build_object('postalCode', k->>'postalCode')) end,
     '{}', '{}', 1, now(), now(), k->>'branch'
   from jsonb_array_elements($3::jsonb) with ordinality as r (k, n)`,
);

rows.unshift(
  ...Array.from({ length: OTHER_ROWS }, (_, n) => {
    return { loan: `XX-${n}`, name: "Common Person", branch: "OTHER", postalCode: "999999", isCurrent: true };
  }),
);

beforeAll(async () => {
  for (const lenderId of [LENDER, STRANGER]) {
    await query(database.em(), insert, [lenderId, newId(), JSON.stringify(rows)]);
  }
});

/** Returns whether a row matches, by the documented meaning of a search. */
function matches(row: Row, { text, branchCode, postalCode }: CaseSearch): boolean {
  const plain = (code: string | null) => code?.toLowerCase().replaceAll(" ", "");
  if (!row.isCurrent) return false;
  if (branchCode !== undefined && row.branch !== branchCode) return false;
  if (postalCode !== undefined && plain(row.postalCode) !== plain(postalCode)) return false;
  if (text === undefined || row.loan.toLowerCase().endsWith(text.toLowerCase())) return true;
  const name = row.name.toLowerCase().split(" ");
  const words = text.toLowerCase().split(/\s+/u);
  return words.every((word) =>
    name.some((one) => one === word || (Array.from(word).length >= 3 && one.startsWith(word))),
  );
}

const found = (search: CaseSearch, limit: number) => foundLoans(database.em(), LENDER, search, limit);

const TEXTS = [
  "asha",
  "ASH",
  "as",
  "al",
  "li",
  "khan",
  "khann",
  "rao asha",
  "o'b",
  "zarathustra van",
  "der",
  "berg zar",
  "मीना",
  "मी",
  "राव",
  "ÖZG",
  "özge  rao",
  "asha\u00A0rao",
  "nobody",
  "common",
  "LN-7-hÄ",
  "-hä",
  "Ä",
  "aä",
  "XX-17",
  "%",
  "_",
  "'",
];

describe.each([3, 50, 20_000])("with pages of %s cases", (limit) => {
  test.each(TEXTS)("a search for the text %j finds the cases that match, in the order of ids", async (text) => {
    expect(await found({ text }, limit)).toEqual(rowsThatMatch({ text }));
  });

  test.each<CaseSearch>([
    ...BRANCHES.flatMap((branchCode) => (branchCode === null ? [] : [{ branchCode }, { branchCode, text: "asha" }])),
    ...["411045", "sw1a1aa", "SW1A 1AA", "000"].map((postalCode) => ({ postalCode })),
    { postalCode: "411045", branchCode: "PUNE-1", text: "rao" },
    { holderId: null, text: "zarathustra" },
  ])("%j finds the cases that match, in the order of ids", async (search) => {
    expect(await found(search, limit)).toEqual(rowsThatMatch(search));
  });
});

function rowsThatMatch(search: CaseSearch): string[] {
  return rows.filter((row) => matches(row, search)).map(({ loan }) => loan);
}
