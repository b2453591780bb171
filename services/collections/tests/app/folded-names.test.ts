import { casesOfFieldPartner, searchCases } from "@collections/cases";
import { BEFORE_ALL_IDS, parsePublicId } from "@collections/database";
import { foldedName } from "@collections/field-app/folded-name";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";

/** Borrowers' names, and how somebody types them in a search. */
const NAMES: readonly (readonly [kind: string, name: string, search: string])[] = [
  ["a joiner", "श्री\u200Dराम वर्मा", "श्रीराम"],
  ["a non-joiner", "विष्\u200Cणु राव", "विष्णु"],
  ["a joiner in the search", "गणेश शर्मा", "ग\u200Dणेश"],
  ["a soft hyphen", "Sub\u00ADramaniam", "subramaniam"],
  ["an atomic chillu", "അവൻ നായർ", "അവന\u0D4D\u200D"],
  ["a chillu with a joiner", "രാജന\u0D4D\u200D മേനോൻ", "രാജൻ"],
  ["a khanda ta", "উৎপল দাস", "উত\u09CD\u200Dপল"],
  ["a nukta", "फ़िरोज़ ख़ान", "फिरोज खान"],
  ["an atomic nukta", "\u095Eिरदौस", "फ\u093Cिरदौस"],
  ["a nukta only in the search", "फरहान", "फ़रहान"],
  ["a nukta in Bengali", "\u09DC\u09BE\u09AE", "\u09A1\u09BE\u09AE"],
  ["a typographic apostrophe", "Maria D’Souza", "d'souza"],
  ["an apostrophe of letters", "Sean OʼBrien", "o’brien"],
  ["a backtick", "Anna D`Mello", "d'mello"],
  ["case", "ÉMILIE Zola", "émilie zola"],
  ["width", "ＲＡＶＩ Ｋｕｍａｒ", "ravi kumar"],
  ["a ligature", "Stef\uFB01 Meier", "steffi"],
  ["a dash", "Jean‑Paul Roy", "jean-paul"],
  ["a normal form", "Jose\u0301 Silva", "jos\u00E9"],
  ["the yeh of Arabic", "علي خان", "علی"],
  ["the kaf of Arabic", "كمال", "کمال"],
  ["an elongation", "محمـــد", "محمد"],
];

let service: TestService;
let lenderId: string;
let personId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  const { code } = lender;
  lenderId = (await lenderByCode(service.app.database.em(), code))!.id;
  const person = await aFieldPartner(service);
  personId = parsePublicId("fp", person.id) ?? person.id;
  const rows = NAMES.map(([, borrowerName], index) => aRow(`LN-${index}`, { borrowerName }));
  await lender.importCases(rows);
  for (const index of NAMES.keys()) await assign(service, code, `LN-${index}`, person.id);
});

test.each(NAMES)("a name with %s is found by all searches", async (_kind, name, search) => {
  const loan = `LN-${NAMES.findIndex((one) => one[1] === name)}`;
  const em = service.app.database.em();
  const page = { after: BEFORE_ALL_IDS, limit: 50 };
  for (const text of [search, name]) {
    const { cases } = await searchCases(em, lenderId, { text }, page);
    expect(cases.map(({ sourceLoanNumber }) => sourceLoanNumber)).toEqual([loan]);
    const request = { lenders: [{ id: lenderId, code: "x" }], dayAt: () => "2026-11-20", search: text, first: 50 };
    const { items } = await casesOfFieldPartner(em, personId, request);
    expect(items.map(({ case: one }) => one.sourceLoanNumber)).toEqual([loan]);
  }
});

test.each(NAMES)("the app folds a name with %s as the database does", async (_kind, name, search) => {
  const { rows } = await service.app.database.pool.query<{ folded: string }>(
    "select cases.folded_name(one) as folded from unnest($1::text[]) one",
    [[name, search]],
  );
  expect(rows.map(({ folded }) => folded)).toEqual([foldedName(name), foldedName(search)]);
  expect(foldedName(name)).toContain(foldedName(search).split(" ").at(0));
});

test("the index contains the keys of each name", async () => {
  const { rows } = await service.app.database.pool.query<{ same: boolean }>(
    "select cases.folded_name_keys(lender_id, borrower_name) @> cases.folded_name_keys(lender_id, $1) as same from cases.collection_case where source_loan_number = 'LN-5'",
    ["രാജൻ"],
  );
  expect(rows).toEqual([{ same: true }]);
});
