import { expect, test } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

const HANGING_LENDERS = 12;
const WARM_UP_LOANS = 60;
const BACKLOG = 100;
/** The maximum number of deliveries that one process has in flight to one endpoint. */
const MOST_PER_ENDPOINT = 32;

test("twelve lenders whose callbacks hang do not delay the events of a thirteenth", async () => {
  // The timeout is so long that no hanging attempt ends before the test does.
  const service = await startTestService({ settings: { WEBHOOK_TIMEOUT: "10m", RATE_LIMITS: "off" } });
  const healthy = await aLender(service);
  const hanging = await Promise.all(Array.from({ length: HANGING_LENDERS }, () => aLender(service)));

  // First let each endpoint answer quickly, so that it gets the maximum number of slots. Then let it hang.
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
