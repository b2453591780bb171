import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aLenderVisitor, aSignedInVisitor, type ConsoleAnswer, type Visitor } from "./fixtures/visitor.ts";

const CASES = 60;

let service: TestService;
let code: string;
let operator: Visitor;
let staff: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  code = lender.code;
  const numbers = Array.from({ length: CASES }, (_, n) => (n * 37) % CASES);
  await lender.importCases(numbers.map((number, n) => aRow(`LN-${String(number).padStart(2, "0")}`, { dpd: n })));
  const { id } = await aFieldPartner(service);
  for (const loan of ["LN-07", "LN-08"]) await assign(service, code, loan, id);
  operator = await aSignedInVisitor(service);
  staff = await aLenderVisitor(service, code);
});

/** Returns the choices of the filters with their counts, such as `New 58`. */
function choicesIn({ text }: ConsoleAnswer): string[] {
  const links = [...text.matchAll(/<a href="[^"]+\/cases\?[^"]*" aria-current="[^"]+"\s*>([^]*?)<\/a\s*>/g)];
  return links.map(([, label]) =>
    label!
      .replaceAll(/<[^>]+>/g, "")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

async function loansOf(visitor: Visitor, query: string): Promise<string[]> {
  const loans: string[] = [];
  for (let path: string | undefined = `/console/cases?lender=${code}&${query}`; path !== undefined;) {
    const { text } = await visitor.get(path);
    loans.push(...[...text.matchAll(/data-label="Loan">(LN-\d+)</g)].map(([, loan]) => loan!));
    path = /<p class="more"><a href="([^"]+)">/.exec(text)?.[1]!.replaceAll("&amp;", "&");
  }
  return loans;
}

const sorted = Array.from({ length: CASES }, (_, number) => `LN-${String(number).padStart(2, "0")}`);

test("the filters have counts", async () => {
  for (const visitor of [operator, staff]) {
    const choices = choicesIn(await visitor.get(`/console/cases?lender=${code}`));
    expect(choices).toEqual(expect.arrayContaining(["New 58", "Assigned 2", "On hold 0", "Unassigned 58"]));
    expect(choices).toEqual(expect.arrayContaining(["0 1", "1 to 30 30", "31 to 60 29", "Over 90 0"]));
  }
});

test("a count respects the other filters", async () => {
  const choices = choicesIn(await operator.get(`/console/cases?lender=${code}&status=assigned&dpd=0`));
  expect(choices).toEqual(expect.arrayContaining(["New 1", "Assigned 0", "Unassigned 0"]));
});

test("a search for a text has no counts and no other order", async () => {
  const choices = choicesIn(await operator.get(`/console/cases?lender=${code}&text=LN-07`));
  expect(choices).toContain("New");
  expect(choices).not.toContain("Newest import");
});

test.each([
  ["order=loan", sorted],
  ["order=loan-descending", sorted.toReversed()],
  ["order=loan&status=assigned", ["LN-07", "LN-08"]],
])("%s lists each case once, in order", async (query, expected) => {
  expect(await loansOf(operator, query)).toEqual(expected);
});

test("the newest import comes first on request", async () => {
  const oldest = await loansOf(staff, "");
  expect(oldest).toHaveLength(CASES);
  expect(await loansOf(staff, "order=newest")).toEqual(oldest.toReversed());
});

test("the head of the column Loan sorts and says how", async () => {
  const { text } = await operator.get(`/console/cases?lender=${code}&order=loan&status=new`);
  const [head] = /<th[^>]+aria-sort="ascending">[^]*?<\/th>/.exec(text)!;
  expect(head).toContain("status=new&amp;order=loan-descending");
});

test.each(["order=other", "order=toString", "order=loan&after=%25", "order=newest&after=x", "order=loan&holder=fp_x"])(
  "the page answers %s",
  async (query) => {
    expect(await operator.get(`/console/cases?lender=${code}&${query}`)).toMatchObject({ status: 200 });
  },
);
