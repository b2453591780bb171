import { randomUUID } from "node:crypto";
import { dayIn } from "@collections/local-time";
import { expect, test } from "vitest";
import { aCaseHolder } from "../fixtures/case-holder.ts";
import { aLender, startTestService } from "../fixtures/fixture.ts";

const TIME_ZONE = "Asia/Kolkata";
const DAY_MS = 24 * 3_600_000;

test("a lender gets promise.kept and promise.broken, and the app shows no open promise afterwards", async () => {
  const service = await startTestService({ hasWorker: false });
  const lender = await aLender(service, { timeZone: TIME_ZONE });
  const holder = await aCaseHolder(service);
  const caseIds = await holder.cases(lender, { sourceLoanNumber: "LN-kept" }, {}, {});
  const visitedAt = new Date(Date.now() - 4 * DAY_MS);
  const dueOn = dayIn(TIME_ZONE, new Date(Date.now() - 2 * DAY_MS));
  const later = dayIn(TIME_ZONE, new Date(Date.now() + 2 * DAY_MS));
  const visitIds: string[] = [];
  for (const [index, caseId] of caseIds.entries()) {
    const visitId = randomUUID();
    visitIds.push(`vis_${visitId.replaceAll("-", "")}`);
    await holder.app.mutate("startVisit", { visitId, caseId, occurredAt: visitedAt }, "visit { visitId }");
    const promise = { amount: { minor: "150000", currency: "INR" }, dueOn: index === 2 ? later : dueOn };
    const end = { visitId, disposition: "PROMISE_TO_PAY", promise, occurredAt: visitedAt };
    await holder.app.mutate("completeVisit", end, "visit { visitId }");
  }
  const paid = { amount: 1500, reference: "pay_1", paidAt: visitedAt.toISOString(), mode: "upi" };
  expect(await lender.confirm("LN-kept", paid)).toMatchObject({ status: 200 });

  await startTestService({ settings: { DATABASE_URL: service.databaseUrl } });
  const promiseEvents = () => lender.events.filter(({ kind }) => kind.startsWith("promise."));
  await lender.waitForEvents(() => promiseEvents().length === 2);
  const promise = { amount: 1500, currency: "INR", date: dueOn };
  expect(promiseEvents().find(({ kind }) => kind === "promise.kept")).toMatchObject({
    data: { visitId: visitIds[0], promise, paidAmount: 1500 },
  });
  expect(promiseEvents().find(({ kind }) => kind === "promise.broken")).toMatchObject({
    data: { visitId: visitIds[1], promise, paidAmount: 0 },
  });

  const open = async (id: string) => {
    const answer = await holder.app.ask("query ($id: ID!) { case(id: $id) { openPromise { dueOn } } }", { id });
    return answer.data!["case"].openPromise as unknown;
  };
  expect(await Promise.all(caseIds.map(open))).toEqual([null, null, { dueOn: later }]);
});
