import { sessionsWaitingForLocks } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const CASES = "{ cases(first: 5) { edges { node { id } } } }";
/** Half of the connections that belong to no other share. */
const HALF = 3;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

test("twelve operations of one field partner use half of the connections", async () => {
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
  const [slow, other] = [await aFieldPartner(service), await aFieldPartner(service)];
  await assign(service, lender.code, "LN-1", slow.id);
  const [slowApp, otherApp] = [slow, other].map(({ accessToken }) => new AppClient(service.url, accessToken));

  const { pool } = service.app.database;
  const locking = await pool.connect();
  await locking.query("begin; lock table cases.collection_case in access exclusive mode");
  const waiting = Array.from({ length: 12 }, () => slowApp!.ask(CASES));
  await expect.poll(() => sessionsWaitingForLocks(pool)).toBe(HALF);
  // It reads no case, and gets a connection although nine operations wait.
  expect((await otherApp!.ask("{ viewer { displayName } }")).errors).toBeUndefined();
  expect(await sessionsWaitingForLocks(pool)).toBe(HALF);

  await locking.query("rollback");
  locking.release();
  for (const { errors } of await Promise.all(waiting)) expect(errors).toBeUndefined();
});
