import { publicId, transaction } from "@collections/database";
import { timeIn } from "@collections/local-time";
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
let personId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service);
  code = setup.lender.code;
  personId = publicId("fp", setup.fieldPartnerId);
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

  test("shows charts of the hours, the visits and the outstanding amounts", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("CHART-1", { dpd: 45, outstandingAmount: 5_000 })]);
    const paidAt = new Date().toISOString();
    await lender.confirm("CHART-1", { amount: 1_250.5, reference: "UTR-CHART", paidAt, mode: "upi" });
    // The cases are counted in the background.
    await expect
      .poll(async () => (await visitor.get(`/console?lender=${lender.code}`)).text)
      .toMatch(/31–60<\/span>[\s\S]*?3,749.50/);
    const { text } = await visitor.get(`/console?lender=${lender.code}`);
    expect(text).toMatch(/aria-label="[^"]+: 1 payment, the most from \d\d:00: 1\./);
    expect(text).toContain("1 (1,250.50 INR)");
    expect(text).toContain("From visit to payment");
  });

  test("shows the chosen lender, and says if there is no such lender", async () => {
    const other = await aLender(service);
    const { text } = await visitor.get(`/console?lender=${other.code}`);
    expect(text).toContain(`<option selected>${other.code}</option>`);
    expect((await visitor.get("/console?lender=NONE")).text).toContain("There is no such lender.");
  });
});

describe("the page Search", () => {
  test("finds a loan and leads to its case", async () => {
    const { text } = await visitor.get(`/console/search?text=${encodeURIComponent(loan)}`);
    expect(text).toContain("1 result for");
    expect(text).toContain(`href="/console/cases/${code}/${loan}"`);
    expect(text).not.toContain("pnpm collections");
  });

  test("leads to a field partner and to the delivery of an event", async () => {
    const { pool } = service.app.database;
    const { rows } = await pool.query<{ id: string }>("select id from webhooks.delivery limit 1");
    const eventId = publicId("evt", rows[0]!.id);
    const byPath = { [`field-partners/${personId}`]: "Asha", [`deliveries/${eventId}`]: eventId };
    for (const [path, searched] of Object.entries(byPath)) {
      const { text } = await visitor.get(`/console/search?text=${searched}`);
      expect(text).toContain(`<a href="/console/${path}">`);
    }
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

describe("the page Cases", () => {
  test("shows the cases that match its filters", async () => {
    const { text } = await visitor.get(`/console/cases?lender=${code}&status=assigned`);
    expect(text).toContain(`/console/cases/${code}/${loan}`);
    expect(text).toContain(`/console/field-partners/${personId}`);
    const held = await visitor.get(`/console/cases?lender=${code}&status=on_hold`);
    expect(held.text).toContain("No case matches.");
    expect((await visitor.get("/console/cases?lender=NONE")).text).toContain("There is no such lender.");
  });

  test("leads to the next page", async () => {
    const lender = await aLender(service);
    await lender.importCases(Array.from({ length: 51 }, (_, number) => aRow(`PAGE-${number}-`)));
    const first = await visitor.get(`/console/cases?lender=${lender.code}`);
    const [, path] = /<a href="([^"]+)">Next page/.exec(first.text)!;
    const second = await visitor.get(path!.replaceAll("&amp;", "&"));
    const loansOf = (text: string) => [...text.matchAll(/data-label="Loan">(PAGE-\d+-)</g)].map(([, one]) => one);
    expect(new Set([...loansOf(first.text), ...loansOf(second.text)]).size).toBe(51);
    expect(loansOf(second.text)).toHaveLength(1);
  });

  test("ignores filters that it does not know", async () => {
    const query = "status=x&dpd=toString&holder=x&after=x&text=%00";
    expect(await visitor.get(`/console/cases?lender=${code}&${query}`)).toMatchObject({ status: 200 });
  });

  test("names the filters that are set, and can clear them", async () => {
    const query = `lender=${code}&status=assigned&dpd=31+to+60&holder=${personId}&promise=2026-12-02`;
    const { text } = await visitor.get(`/console/cases?${query}`);
    expect(text).toMatch(/<summary>Filters: <span>.*promise due on 2026-12-02, assigned, 31 to 60 days past due, /);
    expect(text).toContain(`<a href="/console/cases?lender=${code}">Clear the filters</a>`);
  });
});

describe("the pages of field partners", () => {
  test("list people with masked phones and show one", async () => {
    const { text } = await visitor.get("/console/field-partners?state=active");
    expect(text).toContain(`href="/console/field-partners/${personId}"`);
    const shown = await visitor.get(`/console/field-partners/${personId}`);
    expect(shown.text).toContain("Open promises");
    for (const page of [text, shown.text]) expect(page).not.toMatch(/\+91\d{10}/);
  });

  test("say that no field partner is found", async () => {
    expect((await visitor.get("/console/field-partners?text=Nobody%20here")).text).toContain(
      "No field partner matches.",
    );
    for (const id of ["fp_0", "%00"]) {
      expect(await visitor.get(`/console/field-partners/${id}`)).toMatchObject({ status: 404 });
    }
  });
});

describe("the pages of lenders", () => {
  test("list lenders, and show onboarding, callback and deliveries", async () => {
    expect((await visitor.get("/console/lenders")).text).toContain(`href="/console/lenders/${code}"`);
    const { text } = await visitor.get(`/console/lenders/${code}`);
    for (const part of ["of 5 steps", "Callback", "case.assigned", "Payment without a link"])
      expect(text).toContain(part);
  });

  test("answer 404 for a lender that does not exist", async () => {
    for (const lender of ["NONE", "%00"]) {
      expect(await visitor.get(`/console/lenders/${lender}`)).toMatchObject({ status: 404 });
    }
  });
});

test("the page System shows versions and the report of doctor", async () => {
  const seen = () => visitor.get("/console/system");
  await expect.poll(async () => (await seen()).text).toContain("Problems");
  const { text } = await seen();
  expect(text).toContain(process.versions.node);
  expect(text).toContain(`href="/console/lenders/${code}"`);
});

test("the page Money says that no money is owed", async () => {
  const { text } = await visitor.get("/console/money?dueAfter=x");
  expect(text).toMatch(/No money is owed\.|Next page of payouts/);
});

describe("markup in names", () => {
  test("is text on every page that lists them", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("MARKUP-3", { borrowerName: MARKUP })]);
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    const added = (await cli.json("field-partner", "create", "--name", MARKUP, "--phone", "+919812345670")) as {
      fieldPartnerId: string;
    };
    await cli.json("lender", "update", lender.code, "--name", MARKUP);
    const escaped = "&lt;script&gt;alert(1)";
    for (const path of [
      `cases?lender=${lender.code}`,
      `cases?lender=${lender.code}&text=${encodeURIComponent(MARKUP)}`,
      `field-partners?text=alert`,
      `field-partners/${added.fieldPartnerId}`,
      "lenders",
      `lenders/${lender.code}`,
    ]) {
      const { text } = await visitor.get(`/console/${path}`);
      expect({ path, isEscaped: text.includes(escaped) }).toEqual({ path, isEscaped: true });
      expect(text).not.toMatch(/<script|<img/);
    }
  });
});

describe("the page Audit", () => {
  test("shows sign-ins, by act and by operator", async () => {
    const all = await visitor.get("/console/audit");
    expect(all.text).toContain("<b>Signed in</b> <small>operator.signed_in</small>");
    const { text } = await visitor.get("/console/audit?act=operator.signed&by=Asha");
    expect(text).toContain("Asha, by Asha");
    expect(text).not.toContain("<small>operator.link_created</small>");
    expect((await visitor.get("/console/audit?by=Nobody")).text).toContain("No entry matches.");
  });

  test("shows acts in words and local times, with a link to the loan", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("AUDIT-1")]);
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    await cli.json("case", "hold", lender.code, "AUDIT-1", "--reason", "Dispute");
    const { entries } = (await cli.json("audit", "list", "--lender", lender.code)) as { entries: { at: string }[] };
    const { text } = await visitor.get("/console/audit?act=case.hold");
    expect(text).toContain("<b>Case put on hold</b> <small>case.hold</small>");
    expect(text).toContain(timeIn("Asia/Kolkata", new Date(entries[0]!.at)));
    expect(text).toContain(`<a href="/console/cases/${lender.code}/AUDIT-1">AUDIT-1</a> · Dispute`);
    expect(text).toContain('<option value="case.hold" selected>Case put on hold</option>');
    expect(text).not.toMatch(/\dT\d\d:\d\d/);
  });

  test("offers an act that it does not know as its code", async () => {
    const { text } = await visitor.get("/console/audit?act=lender.u");
    expect(text).toContain('<option value="lender.u" selected>lender.u…</option>');
    expect(text).toContain("<summary>Filters: <span>lender.u</span></summary>");
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
