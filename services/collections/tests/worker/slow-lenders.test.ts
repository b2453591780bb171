import { expect, test, vi } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

// Importing takes a moment for so many lenders; nothing here is about speed.
vi.setConfig({ testTimeout: 60_000 });

const HANGING_LENDERS = 12;
const WARM_UP_LOANS = 60;
const BACKLOG = 100;
/** What one process has under way to one endpoint at most. */
const MOST_PER_ENDPOINT = 32;

test("twelve lenders that hang on everything hold up nothing of a thirteenth", async () => {
  // Hanging is all that they do here: no attempt of theirs ends before the test.
  const service = await startTestService({ settings: { WEBHOOK_TIMEOUT: "10m", RATE_LIMITS: "off" } });
  const healthy = await aLender(service);
  const hanging = await Promise.all(Array.from({ length: HANGING_LENDERS }, () => aLender(service)));

  // Receivers that have kept up get all the slots that an endpoint can have; then they begin to hang.
  await Promise.all(
    hanging.map(async (lender) => {
      await lender.importCases(loans("WARM", WARM_UP_LOANS));
      await lender.waitForEvents((events) => events.length === WARM_UP_LOANS);
      lender.receiverBehaviour = "hang";
      await lender.importCases(loans("LN", BACKLOG));
      await lender.waitFor(() => lender.underWay.size === MOST_PER_ENDPOINT);
    }),
  );

  await healthy.importCases(loans("LN", BACKLOG));
  await healthy.waitForEvents((events) => events.length === BACKLOG);
  for (const lender of hanging) {
    expect(lender.underWay.size).toBe(MOST_PER_ENDPOINT);
    expect(lender.unanswered).toEqual([]);
    expect(lender.events).toHaveLength(WARM_UP_LOANS);
  }
});

function loans(prefix: string, count: number): object[] {
  return Array.from({ length: count }, (_, index) => aRow(`${prefix}-${index}`));
}
