import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLoan, aRegisteredLender, aRelay, startProcess } from "../fixtures/processes.ts";

test("a process moves to the next host of its URL", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const [first, second] = [await aRelay(url), await aRelay(url)];
  const several = new URL(url);
  const ports = [first, second].map((relay) => new URL(relay.url).port);
  several.search = `host=127.0.0.1,127.0.0.1&port=${ports.join()}&target_session_attrs=read-write`;
  const service = await startProcess({ DATABASE_URL: several.href });
  const lender = await aRegisteredLender(commandsInProcess({ DATABASE_URL: url }), service.url);
  await lender.importCases([aLoan("LN-1", 5_000)]);
  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 1);

  const ready = async () => (await fetch(`${service.url}/readyz`)).status;
  const pay = (reference: string) =>
    lender.confirm("LN-1", { amount: 100, reference, paidAt: new Date().toISOString(), mode: "upi" });
  first.cut();
  await expect.poll(ready).toBe(200);
  expect(await pay("at the second")).toMatchObject({ status: 200 });
  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 2);

  first.mend();
  second.cut();
  await expect.poll(ready).toBe(200);
  expect(await pay("at the first again")).toMatchObject({ status: 200 });
  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 3);
});
