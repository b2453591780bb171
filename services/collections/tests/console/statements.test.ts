import { CONSOLE_ROUTES } from "@collections/console";
import { publicId } from "@collections/database";
import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { anUpload } from "./fixtures/uploads.ts";
import { aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let casePath: string;
let personPath: string;
let eventPath: string;
let uploadPath: string;

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
  uploadPath = `/console/uploads/ACME/${await anUpload(service, "ACME", { hasRejected: true })}`;
  casePath = `/console/cases/ACME/${loan}`;
});

/** The limit of every page. Today, a case with its forms, and Search still exceed it. */
const MOST = 8;
const WHOLE_CASE = 16;

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
  ["Import", () => "/console/uploads", MOST],
  ["an upload", () => uploadPath, MOST],
  ["rejected rows", () => `${uploadPath}/rejected.csv`, MOST],
  ["Money", () => "/console/money", MOST],
];

test("every page is counted", () => {
  const pages = CONSOLE_ROUTES.filter(({ method, roles }) => method === "get" && roles !== "none");
  const counted = PAGES.map(([, path]) => path().split("?")[0]!);
  const isCounted = ({ path }: { readonly path: string }) =>
    counted.some((one) => new RegExp(`^/console${path.replaceAll(/:\w+/g, "[^/]+")}$`).test(one));
  expect(pages.filter((page) => !isCounted(page)).map(({ path }) => path)).toEqual([]);
});

test.each(PAGES)("the page of %s sends a bounded number of queries", async (_, path, most) => {
  const sent = await queriesDuring(async () => {
    expect(await visitor.get(path())).toMatchObject({ status: 200 });
  });
  const reads = sent.filter(({ text }) => !/^(begin|commit|rollback|set |start transaction)/i.test(text));
  expect(reads.length, reads.map(({ name }) => name).join("\n")).toBeLessThanOrEqual(most);
});
