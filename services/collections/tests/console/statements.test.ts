import { beforeAll, expect, test } from "vitest";
import { queriesDuring } from "../database/fixtures/sent-statements.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let casePath: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service, { code: "ACME" });
  await setup.visit();
  const { loan } = await setup.assignedCase();
  visitor = await aSignedInVisitor(service, ["viewer"]);
  casePath = `/console/cases/ACME/${loan}`;
});

/** The pages, and how many queries each sends at most for one lender, with the query for the session. */
const PAGES: readonly [name: string, path: () => string, most: number][] = [
  ["Audit", () => "/console/audit", 6],
  ["Today", () => "/console", 21],
  ["a case", () => casePath, 16],
  ["Search", () => "/console/search?text=CASE", 10],
];

test.each(PAGES)("the page of %s sends a bounded number of queries", async (_, path, most) => {
  const sent = await queriesDuring(async () => {
    expect(await visitor.get(path())).toMatchObject({ status: 200 });
  });
  const reads = sent.filter(({ text }) => !/^(begin|commit|rollback|set |start transaction)/i.test(text));
  expect(reads.length, reads.map(({ name }) => name).join("\n")).toBeLessThanOrEqual(most);
});
