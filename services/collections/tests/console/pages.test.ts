import { transaction } from "@collections/database";
import { createSignInLink } from "@collections/operators";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

const MARKUP = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;

let service: TestService;
let visitor: Visitor;
let code: string;
let loan: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service);
  code = setup.lender.code;
  ({ loan } = await setup.assignedCase());
  visitor = await aSignedInVisitor(service, ["viewer"]);
});

describe("the page Today", () => {
  test("shows the figures of `today` for a lender", async () => {
    const { lenders } = (await commandsInProcess({ DATABASE_URL: service.databaseUrl }).json("today")) as {
      lenders: [{ timeZone: string; unassignedCases: { count: number }; endpoints: { endpoints: number } }];
    };
    const [{ timeZone, unassignedCases, endpoints }] = lenders;
    const { text } = await visitor.get("/console");
    expect(text).toContain(` in ${timeZone}, beside `);
    expect(text).toContain(`Unassigned cases</span> <b>${unassignedCases.count}</b>`);
    expect(text).toContain(`Unhealthy endpoints</span> <b>0 of ${endpoints.endpoints}</b>`);
  });

  test("shows the chosen lender, and says if there is no such lender", async () => {
    const other = await aLender(service);
    const { text } = await visitor.get(`/console?lender=${other.code}`);
    expect(text).toContain(`<option selected>${other.code}</option>`);
    expect((await visitor.get("/console?lender=NONE")).text).toContain("There is no such lender.");
  });
});

describe("the page Search", () => {
  test("finds a loan and names the command that shows it", async () => {
    const { text } = await visitor.get(`/console/search?text=${encodeURIComponent(loan)}`);
    expect(text).toContain("1 result for");
    expect(text).toContain(`pnpm collections case show ${code} ${loan}`);
  });

  test("masks the phone of a person", async () => {
    const { text } = await visitor.get("/console/search?text=Asha");
    expect(text).toContain("Field partner");
    expect(text).not.toMatch(/\+91\d{10}/);
  });

  test("says that nothing is found, or that a text is too short", async () => {
    expect((await visitor.get("/console/search?text=nothing-like-this")).text).toContain("Nothing is called");
    expect((await visitor.get("/console/search?text=x")).text).toContain("Search for 2 to 200 characters.");
  });

  test("shows markup in names and in the searched text as text", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("MARKUP-1", { borrowerName: MARKUP })]);
    const byLoan = await visitor.get("/console/search?text=MARKUP-1");
    expect(byLoan.text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x");
    const byText = await visitor.get(`/console/search?text=${encodeURIComponent(MARKUP)}`);
    for (const { text } of [byLoan, byText]) expect(text).not.toMatch(/<script|<img/);
  });
});

describe("the page of a case", () => {
  test("is linked from the search, and shows facts and one timeline", async () => {
    const found = await visitor.get(`/console/search?text=${encodeURIComponent(loan)}`);
    const [, path] = /<a href="([^"]+\/cases\/[^"]+)"/.exec(found.text)!;
    expect(path).toBe(`/console/cases/${code}/${loan}`);
    const { status, text } = await visitor.get(path!);
    expect(status).toBe(200);
    expect(text).toContain("Outstanding");
    expect(text).toMatch(/<b>Assigned<\/b>/);
    expect(text).not.toMatch(/\+91\d{10}/);
  });

  test("answers 404 for a lender or loan that does not exist", async () => {
    for (const path of [`/console/cases/NONE/${loan}`, `/console/cases/${code}/LN-404`, `/console/cases/${code}/%00`]) {
      expect(await visitor.get(path)).toMatchObject({ status: 404, text: expect.stringContaining("Loan not found") });
    }
  });

  test("shows markup in a borrower's name and in a reason as text", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("MARKUP-2", { borrowerName: MARKUP })]);
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    await cli.json("case", "hold", lender.code, "MARKUP-2", "--reason", MARKUP);
    for (const path of [`/console/cases/${lender.code}/MARKUP-2`, "/console/audit?act=case."]) {
      const { text } = await visitor.get(path);
      expect(text).toContain("&lt;script&gt;alert(1)");
      expect(text).not.toMatch(/<script|<img/);
    }
  });
});

describe("the page Audit", () => {
  test("shows sign-ins, by act and by operator", async () => {
    const all = await visitor.get("/console/audit");
    expect(all.text).toContain("<b>operator.signed_in</b>");
    const { text } = await visitor.get("/console/audit?act=operator.signed&by=Asha");
    expect(text).toContain("Asha, by Asha");
    expect(text).not.toContain("<b>operator.link_created</b>");
    expect((await visitor.get("/console/audit?by=Nobody")).text).toContain("No entry matches.");
  });

  test("leads to older entries", async () => {
    const acts = Array.from({ length: 51 }, (_, number) => ({ name: `Many ${number}` }));
    await transaction(service.app.database.em(), async (tx) => {
      for (const { name } of acts) await createSignInLink(tx, { name, roles: ["viewer"] }, new Date());
    });
    const first = await visitor.get("/console/audit?act=operator.link");
    const [, path] = /<a href="([^"]+)">Older entries/.exec(first.text)!;
    const second = await visitor.get(path!.replaceAll("&amp;", "&"));
    expect([first.text.includes("Many 50"), second.text.includes("Many 50")]).toEqual([true, false]);
    expect([first.text.includes("Many 0,"), second.text.includes("Many 0,")]).toEqual([false, true]);
  });
});

test("an unknown page answers 404 to an operator", async () => {
  const answer = await visitor.get("/console/nothing");
  expect(answer).toMatchObject({ status: 404, text: expect.stringContaining("There is nothing at /console/nothing.") });
});

test("a broken escape and a long form are refused as pages", async () => {
  const broken = await visitor.get("/console/sign-in/%E0%A4%A");
  expect(broken).toMatchObject({ status: 400, text: expect.stringContaining("This page cannot be shown") });
  expect(await visitor.post("/console/sign-out", { formToken: "x".repeat(20_000) })).toMatchObject({ status: 413 });
});
