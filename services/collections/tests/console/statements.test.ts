import { CONSOLE_ROUTES } from "@collections/console";
import { publicId } from "@collections/database";
import { until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aLenderVisitor, aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let staff: Visitor;
let casePath: string;
let personPath: string;
let eventPath: string;
let caseId: string;
let story: { readonly loan: string; readonly caseId: string; readonly visitId: string };
const reference = "UTR402812345678";

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
});

/**
 * The most queries that a page sends for one lender, with the query for the session. The dry run of a move is not counted:
 * it makes the move, and rolls it back.
 */
const MOST = 8;

const PAGES: readonly [name: string, path: () => string][] = [
  ["Audit", () => "/console/audit"],
  ["Today", () => "/console"],
  ["a case", () => casePath],
  ["an assignment", () => `${casePath}/assign?person=Asha`],
  ["a hold", () => `${casePath}/hold`],
  ["an end", () => `${casePath}/close`],
  ["an end of an assignment", () => `${casePath}/unassign`],
  ["a release", () => `${casePath}/release`],
  ["Connection", () => "/console/connection"],
  ["Deliveries", () => "/console/deliveries"],
  ["a delivery", () => eventPath],
  ["a new phone", () => `${personPath}/phone`],
  ["a move", () => `${personPath}/move?person=Nobody`],
  ["Search", () => "/console/search"],
  ["a search for a loan number", () => `/console/search?text=${story.loan}`],
  ["a search for the end of a loan number", () => `/console/search?text=${story.loan.slice(1)}`],
  ["a search for the id of a case", () => `/console/search?text=${caseId}`],
  ["a search for an id of any kind", () => `/console/search?text=${story.visitId}`],
  ["a search for a payment", () => `/console/search?text=${reference}`],
  ["Cases", () => "/console/cases?status=assigned&text=CASE"],
  ["Field partners", () => "/console/field-partners?text=Asha"],
  ["a field partner", () => personPath],
  ["Lenders", () => "/console/lenders"],
  ["a lender", () => "/console/lenders/ACME"],
  ["System", () => "/console/system"],
  ["Money", () => "/console/money"],
];

test("every page is counted", () => {
  const pages = CONSOLE_ROUTES.filter(({ method, roles }) => method === "get" && roles !== "none");
  const counted = PAGES.map(([, path]) => path().split("?")[0]!);
  const isCounted = ({ path }: { readonly path: string }) =>
    counted.some((one) => new RegExp(`^/console${path.replaceAll(/:\w+/g, "[^/]+")}$`).test(one));
  expect(pages.filter((page) => !isCounted(page)).map(({ path }) => path)).toEqual([]);
});

test.each(PAGES)("the page of %s sends at most eight queries", async (_, path) => {
  const reads = await readsDuring(async () => {
    expect(await visitor.get(path())).toMatchObject({ status: 200 });
  });
  expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(MOST);
});

/** The pages that a lender's staff reaches. */
const STAFF_PAGES = PAGES.filter(([name]) =>
  /^(Today|a case|Search|a search|Deliveries|a delivery|Connection)/.test(name),
);

test.each(STAFF_PAGES)("a lender's page of %s sends at most eight queries", async (_, path) => {
  const reads = await readsDuring(async () => {
    expect(await staff.get(path())).toMatchObject({ status: 200 });
  });
  expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(MOST);
});

/** Returns the names of the queries that are sent, without those that begin and end transactions, and those of pg-boss. */
async function readsDuring(act: () => Promise<void>): Promise<string[]> {
  const sent = await queriesDuring(act);
  return sent
    .filter(({ text }) => !/^(begin|commit|rollback|set |start transaction)|pgboss/i.test(text))
    .map(({ name }) => name);
}
