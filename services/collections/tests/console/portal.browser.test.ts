import { type Browser, startBrowser } from "@collections/browser";
import { publicId, transaction } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { createPortalLink } from "@collections/operators";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { runUpload } from "../../src/worker/run-upload.ts";
import { recordRequests } from "../../src/worker/worker.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { pageFaults } from "./fixtures/page-faults.ts";
import { aComparison, anUpload } from "./fixtures/uploads.ts";

let service: TestService;
let browser: Browser;
let code: string;
/** The pages of a lender's staff, by the names of their pictures. */
let pages: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service);
  ({ code } = setup.lender);
  await setup.lender.importCases(["LN-1", "LN-2"].map((loan, index) => aRow(loan, { dpd: index * 40 })));
  const { loan } = await setup.assignedCase();
  const paidAt = new Date(Date.now() - 60_000).toISOString();
  await setup.lender.confirm(loan, { amount: 2_000, reference: "UTR-1", paidAt, mode: "upi" });
  await setup.lender.call("GET", "/api/v1/partner/cases/LN-NONE");
  await recordRequests(service.app).stop();
  const em = service.app.database.em();
  const { id: lenderId } = (await lenderByCode(em, code))!;
  const uploadId = await anUpload(service, code);
  await runUpload(service.app, { data: { lenderId, uploadId }, attempt: 1 });
  const lines = [{ loan, reference: "UTR-9", amount: 50, paidAt }];
  const comparedId = await aComparison(service, code, lines);
  const { rows } = await service.app.database.pool.query<{ id: string }>("select id from webhooks.delivery limit 1");
  pages = {
    today: "",
    search: "/search?text=LN-1",
    cases: "/cases",
    case: `/cases/${code}/${loan}`,
    payments: "/payments",
    fees: "/fees",
    reconciliations: "/reconciliations",
    deliveries: "/deliveries",
    delivery: `/deliveries/${publicId("evt", rows[0]!.id)}`,
    import: "/uploads",
    compare: "/uploads?kind=payments",
    upload: `/uploads/${code}/${uploadId}`,
    compared: `/uploads/${code}/${comparedId}`,
    connection: "/connection",
    settings: `/connection/${code}/settings`,
    "new-key": `/connection/${code}/keys`,
    requests: "/requests",
    sandbox: "/sandbox",
  };
  browser = await startBrowser();
  afterFile(() => browser.close());
});

test.each(["desktop", "phone"] as const)("the portal works in Chromium: %s, light and dark", async (screen) => {
  const em = service.app.database.em();
  const { id: lenderId } = (await lenderByCode(em, code))!;
  const { token } = await transaction(em, (tx) =>
    createPortalLink(tx, { lenderId, name: `Ravi of ${code}` }, new Date()),
  );
  const open = await browser.open(`${service.url}/console/sign-in/${token}`, { screen });
  await open.page.getByRole("button", { name: "Sign in" }).click();
  await open.page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
  for (const [name, path] of Object.entries(pages)) {
    await open.page.goto(`${service.url}/console${path}`);
    const faults = await pageFaults(open, `portal-${name}`);
    const hasCommand = /pnpm collections|(?<!\S)--[a-z]/.test(await open.page.locator("main").innerText());
    expect.soft({ name, faults, hasCommand }).toEqual({ name, faults: [], hasCommand: false });
  }
  expect(open.requestsElsewhere()).toEqual([]);
  expect(open.errors).toEqual([]);
  await open.close();
});
