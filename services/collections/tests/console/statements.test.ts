import { CONSOLE_ROUTES } from "@collections/console";
import { publicId } from "@collections/database";
import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let casePath: string;
let personPath: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service, { code: "ACME" });
  await setup.visit();
  const { loan } = await setup.assignedCase();
  visitor = await aSignedInVisitor(service, ["viewer"]);
  personPath = `/console/field-partners/${publicId("fp", setup.fieldPartnerId)}`;
  // The report of doctor is made in the background, and all pages of a minute share it.
  await visitor.get("/console/system");
  casePath = `/console/cases/ACME/${loan}`;
});

/** The limit of every page. Today, a case and Search still exceed it. */
const MOST = 8;

/** The pages, and how many queries each sends at most for one lender, with the query for the session. */
const PAGES: readonly [name: string, path: () => string, most: number][] = [
  ["Audit", () => "/console/audit", MOST],
  ["Today", () => "/console", 21],
  ["a case", () => casePath, 16],
  ["Search", () => "/console/search?text=CASE", 10],
  ["Cases", () => "/console/cases?status=assigned&text=CASE", MOST],
  ["Field partners", () => "/console/field-partners?text=Asha", MOST],
  ["a field partner", () => personPath, MOST],
  ["Lenders", () => "/console/lenders", MOST],
  ["a lender", () => "/console/lenders/ACME", MOST],
  ["System", () => "/console/system", MOST],
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
