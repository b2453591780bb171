import { CONSOLE_ROUTES } from "@collections/console";
import { publicId, transaction } from "@collections/database";
import { requestSecondPerson } from "@collections/operators";
import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let casePath: string;
let personPath: string;
let eventPath: string;
let paymentPath: string;
let reversal: string;
let requestPath: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service, { code: "ACME" });
  await setup.visit();
  const { loan } = await setup.assignedCase();
  visitor = await aSignedInVisitor(service);
  personPath = `/console/field-partners/${publicId("fp", setup.fieldPartnerId)}`;
  // The report of doctor is made in the background, and all pages of a minute share it.
  await visitor.get("/console/system");
  const { pool } = service.app.database;
  const { rows } = await pool.query<{ id: string }>("select id from webhooks.delivery limit 1");
  eventPath = `/console/deliveries/${publicId("evt", rows[0]!.id)}`;
  casePath = `/console/cases/ACME/${loan}`;
  const paid = (await setup.assignedCase()).loan;
  const daysAgo = new Date(Date.now() - 3 * 86_400_000).toISOString();
  await setup.lender.confirm(paid, { amount: 100, reference: "UTR1", paidAt: daysAgo, mode: "upi" });
  paymentPath = `/console/money/payments/ACME/${paid}/UTR1`;
  const order = { kind: "reversal", lenderCode: "ACME", loan: paid, reference: "UTR1", because: "bounced" };
  const at = { reversalReference: "RV-1", reversedAt: new Date().toISOString() };
  reversal = new URLSearchParams({ ...order, ...at }).toString();
  const asked = { requestedBy: "Lata", change: { ...order, ...at, amount: "", note: "" } };
  const request = await transaction(service.app.database.em(), (tx) => requestSecondPerson(tx, asked, new Date()));
  requestPath = `/console/money/requests/${publicId("req", request.id)}`;
});

/** The limit of every page. Today, a case with its forms, and Search still exceed it. */
const MOST = 8;
const WHOLE_CASE = 16;
/** A dry run sends the queries of the change, and rolls them back. */
const REHEARSED = 60;

/** The pages, and how many queries each sends at most for one lender, with the query for the session. */
const PAGES: readonly [name: string, path: () => string, most: number][] = [
  ["Audit", () => "/console/audit", MOST],
  ["Today", () => "/console", 21],
  ["a case", () => casePath, WHOLE_CASE],
  ["an assignment", () => `${casePath}/assign?text=Asha`, WHOLE_CASE],
  ["a hold", () => `${casePath}/hold`, WHOLE_CASE],
  ["an end", () => `${casePath}/close`, WHOLE_CASE],
  ["an end of an assignment", () => `${casePath}/unassign`, WHOLE_CASE],
  ["a release", () => `${casePath}/release`, WHOLE_CASE],
  ["Connection", () => "/console/connection", MOST],
  ["Deliveries", () => "/console/deliveries", MOST],
  ["a delivery", () => eventPath, MOST],
  ["a new phone", () => `${personPath}/phone`, MOST],
  ["a move", () => `${personPath}/move?text=Asha`, MOST],
  ["Search", () => "/console/search?text=CASE", 10],
  ["Cases", () => "/console/cases?status=assigned&text=CASE", MOST],
  ["Field partners", () => "/console/field-partners?text=Asha", MOST],
  ["a field partner", () => personPath, MOST],
  ["Lenders", () => "/console/lenders", MOST],
  ["a lender", () => "/console/lenders/ACME", MOST],
  ["System", () => "/console/system", MOST],
  ["Money", () => "/console/money", MOST],
  ["a payout", () => personPath.replace("field-partners", "money/payouts"), MOST],
  ["a payment", () => paymentPath, MOST],
  ["the requests", () => "/console/money/requests", MOST],
  ["a request", () => requestPath, REHEARSED],
  ["the effects of a reversal", () => `/console/money/changes?${reversal}`, REHEARSED],
];

/** Pages that only lead to another page. */
const LEADING = new Set(["/money/payments"]);

test("every page is counted", () => {
  const pages = CONSOLE_ROUTES.filter(
    ({ method, path, roles }) => method === "get" && roles !== "none" && !LEADING.has(path),
  );
  const counted = PAGES.map(([, path]) => path().split("?")[0]!);
  const isCounted = ({ path }: { readonly path: string }) =>
    counted.some((one) => new RegExp(`^/console${path.replaceAll(/:\w+/g, "[^/]+")}$`).test(one));
  expect(pages.filter((page) => !isCounted(page)).map(({ path }) => path)).toEqual([]);
});

test.each(PAGES)("the page of %s sends a bounded number of queries", async (_, path, most) => {
  const sent = await queriesDuring(async () => {
    expect(await visitor.get(path())).toMatchObject({ status: 200 });
  });
  // The work of the queues in the background may fall into the same time.
  const reads = sent.filter(({ text }) => !/^(begin|commit|rollback|set |start transaction)|pgboss\./i.test(text));
  expect(reads.length, reads.map(({ name }) => name).join("\n")).toBeLessThanOrEqual(most);
});
