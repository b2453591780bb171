import { CONSOLE_ROUTES } from "@collections/console";
import { publicId, transaction } from "@collections/database";
import { createFieldPartner } from "@collections/field-partners";
import { requestSecondPerson } from "@collections/operators";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aReconciliation } from "./fixtures/a-reconciliation.ts";
import { firstKeyOf } from "./fixtures/first-key.ts";
import { aComparison, anUpload } from "./fixtures/uploads.ts";
import { aLenderVisitor, aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

const MARKUP = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&lt;`;
const ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x onerror=alert(2)&gt;&amp;lt;";
/** Characters that no reader accepts, but that a row of another origin may have: a bell, an escape, a text from right to left. */
const CONTROLS = "\u0007\u001B[31m\u202E";

const PAGES = CONSOLE_ROUTES.filter(({ method, roles }) => method === "get" && roles !== "none");
/** Each parameter of a query that a page reads, with markup. */
const QUERY = new URLSearchParams(
  [
    "text",
    "lender",
    "person",
    "status",
    "holder",
    "dpd",
    "state",
    "act",
    "by",
    "before",
    "after",
    "done",
    "month",
    "people",
    "loan",
    "path",
    "result",
    "order",
  ].map((name) => [name, MARKUP]),
).toString();

let service: TestService;
let operator: Visitor;
let staff: Visitor;
const params: Record<string, string> = {};

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service, { name: MARKUP });
  const { code } = setup.lender;
  const { loan, visitId } = await setup.visit({ borrowerName: MARKUP, branchCode: MARKUP.slice(0, 20) });
  const note = `${MARKUP}\n${MARKUP}`;
  const end = { visitId, occurredAt: new Date().toISOString(), disposition: "OTHER", note };
  await setup.app.mutate("completeVisit", end, "visit { visitId }");
  const { id } = await transaction(service.app.database.em(), (tx) =>
    createFieldPartner(tx, { displayName: MARKUP, phone: "+919800000099" }),
  );
  await assign(service, code, loan, id);
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  await cli.json("case", "hold", code, loan, "--reason", MARKUP);
  const { pool } = service.app.database;
  await pool.query("update cases.collection_case set borrower_name = $1 || borrower_name", [CONTROLS]);
  await pool.query("update field_partners.field_partner set display_name = $1 || display_name", [CONTROLS]);
  await pool.query("update webhooks.delivery set state = 'parked', last_error = $1", [`${CONTROLS}${MARKUP}`]);
  const { rows } = await pool.query<{ id: string }>("select id from webhooks.delivery order by id limit 1");
  const [eventId, personId] = [publicId("evt", rows[0]!.id), publicId("fp", id)];
  const paidAt = new Date().toISOString();
  await setup.lender.confirm(loan, { amount: 100, reference: "UTR1", paidAt, mode: "upi" });
  const change = {
    kind: "reversal",
    lenderCode: code,
    loan,
    reference: "UTR1",
    reversalReference: MARKUP,
    note: MARKUP,
  };
  const asked = { requestedBy: MARKUP, change: { ...change, because: "bounced", reversedAt: paidAt, amount: "" } };
  const request = await transaction(service.app.database.em(), (tx) => requestSecondPerson(tx, asked, new Date()));
  Object.assign(params, {
    lender: code,
    loan,
    key: await firstKeyOf(service, code),
    person: personId,
    event: eventId,
    token: "unknown",
    reference: "UTR1",
    run: await aReconciliation(setup.lender, loan),
    upload: await anUpload(service, code, { fileName: MARKUP }),
    comparison: await aComparison(service, code, [{ loan, reference: MARKUP, amount: 5, paidAt }]),
    request: publicId("req", request.id),
  });
  operator = await aSignedInVisitor(service, undefined, MARKUP);
  staff = await aLenderVisitor(service, code, MARKUP);
});

function pathOf(path: string): string {
  return `/console${path.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (params[name] === undefined) throw new Error(`The parameter ${name} needs a value.`);
    return encodeURIComponent(params[name]);
  })}`;
}

/** Returns what is wrong with a page that contains markup in names. */
function faultsIn(text: string): string[] {
  return [
    ...(/<script|<img/i.test(text) ? ["markup is not escaped"] : []),
    ...(text.includes(ESCAPED) ? [] : ["the escaped markup is missing"]),
    ...(text.trimEnd().endsWith("</html>") ? [] : ["the page is cut off"]),
  ];
}

test.each(PAGES)("the page $path shows markup in names as text", async ({ path }) => {
  for (const query of ["", `?${QUERY}`]) {
    const { status, headers, text } = await operator.get(pathOf(path) + query);
    expect(status).toBeLessThan(500);
    // A page that leads to another one, and a CSV file, contain no markup.
    if (!headers.get("Content-Type")?.startsWith("text/html") || status === 303) continue;
    // The name of the operator stands on every page.
    expect({ query, faults: faultsIn(text) }).toEqual({ query, faults: [] });
  }
});

test.each(PAGES.filter(({ isForLenders }) => isForLenders))(
  "the lender's page $path shows markup in names as text",
  async ({ path }) => {
    const { headers, text } = await staff.get(`${pathOf(path)}?text=${encodeURIComponent(params["loan"]!)}`);
    if (!headers.get("Content-Type")?.startsWith("text/html")) return;
    expect(faultsIn(text)).toEqual([]);
  },
);

test.each([
  ["a borrower's name", "/cases/:lender/:loan", 2],
  ["a borrower's name in a list", "/cases?lender=:lender", 2],
  ["a field partner's name", "/field-partners/:person", 2],
  ["a lender's name", "/lenders", 2],
  ["a reason", "/audit", 2],
  ["an error", "/deliveries", 2],
  ["the name of a file", "/uploads/:lender/:upload", 2],
  ["a reference in a file", "/money/missing/:lender/:comparison", 2],
  ["a request of a second person", "/money/requests/:request", 2],
])("%s with markup is on its page as text", async (_, path, least) => {
  const { text } = await operator.get(pathOf(path));
  expect(text.split(ESCAPED).length - 1).toBeGreaterThanOrEqual(least);
});
