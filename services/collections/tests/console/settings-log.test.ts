import { expect, test } from "vitest";
import { aLender, startTestService } from "../fixtures/fixture.ts";
import { startProcess } from "../fixtures/processes.ts";
import { aLenderVisitor, fieldsIn } from "./fixtures/visitor.ts";

test("the log has no secret of a form or key", async () => {
  const service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  const process = await startProcess({ DATABASE_URL: service.databaseUrl, LOG_LEVEL: "trace", ROLE: "server" });
  const staff = await aLenderVisitor({ ...service, url: process.url }, lender.code);
  const settings = `/console/connection/${lender.code}/settings`;
  const values = { callbackUrl: lender.callbackUrl, mintLinkUrl: lender.mintUrl };
  const header = { mintAuthHeader: "X-Mint-Token: the-token-of-acme" };
  const changes = { ...fieldsIn(await staff.get(settings)), ...values, ...header };
  expect(await staff.post(settings, changes)).toMatchObject({ status: 303 });
  const wrong = { ...fieldsIn(await staff.get(settings)), ...values, mintAuthHeader: "the-token-of-acme" };
  expect(await staff.post(settings, wrong)).toMatchObject({ status: 422 });
  const keys = `/console/connection/${lender.code}/keys`;
  const { text } = await staff.post(keys, fieldsIn(await staff.get(keys)));
  const [, secret] = /<pre aria-labelledby="secret">([^<]+)</.exec(text)!;
  process.send("SIGTERM");
  await process.ended;
  expect(process.log()).toContain("console is served");
  expect(process.log()).not.toContain("the-token-of-acme");
  expect(process.log()).not.toContain(secret);
});
