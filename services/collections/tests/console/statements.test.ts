import { setTimeout as delay } from "node:timers/promises";
import { CONSOLE_ROUTES } from "@collections/console";
import { publicId, transaction } from "@collections/database";
import { requestSecondPerson } from "@collections/operators";
import { until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aReconciliation } from "./fixtures/a-reconciliation.ts";
import { firstKeyOf } from "./fixtures/first-key.ts";
import { aComparison, anUpload } from "./fixtures/uploads.ts";
import { aLenderVisitor, aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let staff: Visitor;
let casePath: string;
let keyPath: string;
let personPath: string;
let eventPath: string;
let runPath: string;
let caseId: string;
let story: { readonly loan: string; readonly caseId: string; readonly visitId: string };
const reference = "UTR402812345678";
let uploadPath: string;
let missingPath: string;
let paymentPath: string;
let reversal: string;
let requestPath: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service, { code: "ACME" });
  story = await setup.visit();
  await setup.request(story.visitId);
  const paidAt = new Date().toISOString();
  await setup.lender.confirm(story.loan, { amount: 100, reference, paidAt, mode: "upi" });
  visitor = await aSignedInVisitor(service);
  staff = await aLenderVisitor(service, "ACME");
  personPath = `/console/field-partners/${publicId("fp", setup.fieldPartnerId)}`;
  keyPath = `/console/connection/ACME/keys/${await firstKeyOf(service, "ACME")}`;
  casePath = `/console/cases/ACME/${story.loan}`;
  const { pool } = service.app.database;
  const { rows } = await pool.query<{ event: string; caseId: string }>(
    `select d.id as event, c.id as "caseId" from webhooks.delivery d, cases.collection_case c limit 1`,
  );
  caseId = publicId("case", rows[0]!.caseId);
  eventPath = `/console/deliveries/${publicId("evt", rows[0]!.event)}`;
  // The report of doctor and the outstanding amounts are read in the background, and all pages of a minute share them. A
  // lender's code is read once.
  await visitor.get("/console/system");
  await until(async () => (await visitor.get("/console")).text.includes("All open cases, as of"));
  await staff.get("/console");
  runPath = `/console/reconciliations/ACME/${await aReconciliation(setup.lender, story.loan)}`;
  uploadPath = `/console/uploads/ACME/${await anUpload(service, "ACME", { hasRejected: true })}`;
  const notBooked = { loan: story.loan, reference: "UTR-NEW", amount: 5, paidAt };
  missingPath = `/console/money/missing/ACME/${await aComparison(service, "ACME", [notBooked])}`;
  const daysAgo = new Date(Date.now() - 3 * 86_400_000).toISOString();
  await setup.lender.confirm(story.loan, { amount: 100, reference: "UTR1", paidAt: daysAgo, mode: "upi" });
  paymentPath = `/console/money/payments/ACME/${story.loan}/UTR1`;
  const order = { kind: "reversal", lenderCode: "ACME", loan: story.loan, reference: "UTR1", because: "bounced" };
  const at = { reversalReference: "RV-1", reversedAt: new Date().toISOString() };
  reversal = new URLSearchParams({ ...order, ...at }).toString();
  const asked = { requestedBy: "Lata", change: { ...order, ...at, amount: "", note: "" } };
  const request = await transaction(service.app.database.em(), (tx) => requestSecondPerson(tx, asked, new Date()));
  requestPath = `/console/money/requests/${publicId("req", request.id)}`;
});

/**
 * The most queries that a page sends for one lender, with the query for the session. The dry run of a move is not counted:
 * it makes the move, and rolls it back. A page with the dry run of a change of money has a limit of its own.
 */
const MOST = 8;
/** A dry run sends the queries of the change, and rolls them back. */
const REHEARSED = 60;

const PAGES: readonly [name: string, path: () => string, most?: number][] = [
  ["Audit", () => "/console/audit"],
  ["Today", () => "/console"],
  ["a case", () => casePath],
  ["an assignment", () => `${casePath}/assign?person=Asha`],
  ["a hold", () => `${casePath}/hold`],
  ["an end", () => `${casePath}/close`],
  ["an end of an assignment", () => `${casePath}/unassign`],
  ["a release", () => `${casePath}/release`],
  ["Connection", () => "/console/connection"],
  ["the settings of a lender", () => "/console/connection/ACME/settings"],
  ["a new key", () => "/console/connection/ACME/keys"],
  ["a new signing key", () => `${keyPath}/sign`],
  ["the end of a key", () => `${keyPath}/retire`],
  ["a revocation of a key", () => `${keyPath}/revoke`],
  ["a test link", () => "/console/connection/ACME/mint-test"],
  ["Sandbox", () => "/console/sandbox"],
  ["Requests", () => "/console/requests?path=cases"],
  ["Deliveries", () => "/console/deliveries"],
  ["a delivery", () => eventPath],
  ["a new phone", () => `${personPath}/phone`],
  ["a move", () => `${personPath}/move?person=Nobody`],
  ["a suspension", () => `${personPath}/suspend`],
  ["an end of a suspension", () => `${personPath}/resume`],
  ["a spread", () => "/console/cases/spread?people=Nobody"],
  ["Search", () => "/console/search"],
  ["a search for a loan number", () => `/console/search?text=${story.loan}`],
  ["a search for the end of a loan number", () => `/console/search?text=${story.loan.slice(1)}`],
  ["a search for the id of a case", () => `/console/search?text=${caseId}`],
  ["a search for an id of any kind", () => `/console/search?text=${story.visitId}`],
  ["a search for a payment", () => `/console/search?text=${reference}`],
  ["Cases", () => "/console/cases?status=assigned&text=CASE"],
  ["Cases with three filters", () => "/console/cases?status=on_hold&dpd=31+to+60&holder=none"],
  ["Cases in the order of loans", () => "/console/cases?order=loan"],
  ["Field partners", () => "/console/field-partners?text=Asha"],
  ["a field partner", () => personPath],
  ["Lenders", () => "/console/lenders"],
  ["a lender", () => "/console/lenders/ACME"],
  ["System", () => "/console/system"],
  ["Import", () => "/console/uploads"],
  ["an upload", () => uploadPath],
  ["rejected rows", () => `${uploadPath}/rejected.csv`],
  ["Money", () => "/console/money"],
  ["Payments", () => "/console/payments"],
  ["Reversals", () => "/console/payments?kind=reversals"],
  ["Fees", () => "/console/fees"],
  ["a fee statement as CSV", () => `/console/fees.csv?lender=ACME&month=${new Date().toISOString().slice(0, 7)}`],
  ["Reconciliations", () => "/console/reconciliations"],
  ["a reconciliation", () => runPath],
  ["a payout", () => personPath.replace("field-partners", "money/payouts")],
  ["a payment", () => paymentPath],
  ["the missing payments of a file", () => missingPath],
  ["the requests", () => "/console/money/requests"],
  ["a request", () => requestPath, REHEARSED],
  ["the effects of a reversal", () => `/console/money/changes?${reversal}`, REHEARSED],
];

/** Pages that only lead to another page. */
const LEADING = new Set(["/money/payments", "/requests/debugger"]);

test("every page is counted", () => {
  const pages = CONSOLE_ROUTES.filter(
    ({ method, path, roles }) => method === "get" && roles !== "none" && !LEADING.has(path),
  );
  const counted = new Set(PAGES.flatMap(([, path]) => routesOf(path())));
  expect(pages.filter((page) => !counted.has(page)).map(({ path }) => path)).toEqual([]);
});

test.each(PAGES)("the page of %s sends at most eight queries", async (_, path, most = MOST) => {
  const reads = await readsOf(visitor, path());
  expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(most);
});

test("a page of a lender's staff sends at most eight queries", async () => {
  const reached = PAGES.filter(([, path]) => routesOf(path()).some(({ isForLenders }) => isForLenders));
  expect(reached.length).toBeGreaterThan(10);
  for (const [name, path] of reached) {
    const reads = await readsOf(staff, path());
    expect(reads.length, [name, ...reads].join("\n")).toBeLessThanOrEqual(MOST);
  }
});

test("an exact search over many lenders sends at most eight queries", { tags: "one-node-plan" }, async () => {
  for (let lenders = 1; lenders < 10; lenders++) await aLender(service);
  for (const text of [reference, story.loan]) {
    const reads = await readsOf(visitor, `/console/search?text=${text}`);
    expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(MOST);
  }
});

/**
 * Returns the queries of a page. Visits it once before, because once a minute a request begins a reading that all pages
 * share, and waits until that has ended.
 */
async function readsOf(who: Visitor, path: string): Promise<string[]> {
  await who.get(path);
  await until(async () => (await readsDuring(() => delay(100))).length === 0);
  return readsDuring(async () => {
    expect(await who.get(path), path).toMatchObject({ status: 200 });
  });
}

/** Returns the routes of a page. */
function routesOf(path: string) {
  const [at] = path.split("?") as [string];
  return CONSOLE_ROUTES.filter(
    (route) => route.method === "get" && new RegExp(`^/console${route.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(at),
  );
}

/**
 * Returns the names of the queries that are sent, without those that begin and end transactions, those of pg-boss, and the
 * empty `select` with which the connection for signals checks now and then that it is alive.
 */
async function readsDuring(act: () => Promise<void>): Promise<string[]> {
  const sent = await queriesDuring(act);
  return sent
    .filter(({ text }) => !/^(begin|commit|rollback|set |start transaction|select$)|pgboss/i.test(text))
    .map(({ name }) => name);
}
