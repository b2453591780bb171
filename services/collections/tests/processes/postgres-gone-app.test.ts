/** @module-tag own-server */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, testApp } from "../fixtures/fixture.ts";
import { PARTIAL_EFFECTS } from "./fixtures/partial-effects.ts";
import { RetryingPhone, phoneRequest } from "./fixtures/retrying-phone.ts";
import { startProcess } from "../fixtures/processes.ts";

const PEOPLE = 4;
const AWAY_MS = 5_000;
const ROUNDS = 3;

interface Person {
  readonly phone: RetryingPhone;
  readonly caseId: string;
  rounds: number;
}

test("mutations during five seconds without PostgreSQL get clear errors, have no partial effects, and succeed when repeated", async () => {
  const postgres = await aDurablePostgres();
  const settings = { DATABASE_URL: postgres.url, RATE_LIMITS: "off" };
  const service = await startProcess(settings);
  const app = await testApp(postgres.url);
  afterFile(() => app.close());
  const lender = await aLender({ app, url: service.url });
  let noAnswers = 0;
  const people = await Promise.all(Array.from({ length: PEOPLE }, (_, index) => aPerson(index)));

  let isOver = false;
  const working = Promise.all(people.map((person) => keepVisiting(person, () => isOver)));
  await roundsOf(ROUNDS);
  await postgres.restart("SIGQUIT", AWAY_MS);
  await roundsOf(ROUNDS);
  isOver = true;
  await working;

  // Every person got errors, and every request got some answer.
  const faults = people.flatMap(({ phone }) => phone.faults);
  expect(people.filter(({ phone }) => phone.faults.length === 0)).toEqual([]);
  expect(noAnswers).toBe(0);
  for (const { status, headers, data, errors } of faults) {
    expect(errors).toMatchObject([{ extensions: { code: "INTERNAL", retryAfterS: 2, requestId: expect.any(String) } }]);
    const httpAnswer = { status, retryAfter: headers.get("retry-after") };
    // If the lookup of the token failed, there is no data and the status is 503. Otherwise only the field failed.
    expect(httpAnswer).toEqual(data ? { status: 200, retryAfter: null } : { status: 503, retryAfter: "2" });
  }

  for (const { phone } of people) {
    for (const { mutation, input, answer } of phone.done) {
      expect(await phone.attempt({ mutation, input }), mutation).toEqual({ result: answer });
    }
  }
  expect((await app.database.pool.query(PARTIAL_EFFECTS)).rows).toEqual([]);
  const { rows } = await app.database.pool.query("select count(*)::int as visits from cases.visit");
  expect(rows).toEqual([{ visits: people.flatMap(({ phone }) => phone.done.filter(isStart)).length }]);
  expect(await commandsInProcess(settings).json("ledger", "verify")).toMatchObject({ ok: true, totalProblems: 0 });

  async function aPerson(index: number): Promise<Person> {
    const { id, accessToken } = await aFieldPartner({ app });
    await lender.importCases([aRow(`LN-${index}`)]);
    await assign({ app }, lender.code, `LN-${index}`, id);
    const phone = new RetryingPhone(
      () => Promise.resolve(service.url),
      async () => void (noAnswers += 1),
    );
    phone.accessToken = accessToken;
    const { cases } = await phone.read("{ cases { edges { node { id } } } }");
    return { phone, caseId: cases.edges[0].node.id, rounds: 0 };
  }

  /** Waits until each person has made `more` more rounds. */
  async function roundsOf(more: number): Promise<void> {
    const enough = people.map(({ rounds }) => rounds + more);
    while (people.some(({ rounds }, index) => rounds < enough[index]!)) await pause(5);
  }
});

async function keepVisiting(person: Person, isOver: () => boolean): Promise<void> {
  const { phone, caseId } = person;
  while (!isOver()) {
    const [visitId, occurredAt] = [randomUUID(), new Date().toISOString()];
    const amount = { minor: "1000", currency: "INR" };
    expect(await phone.send(phoneRequest("startVisit", { visitId, caseId, occurredAt }))).toHaveProperty("visit");
    const requested = await phone.send(phoneRequest("requestPaymentLink", { visitId, amount, channels: [] }));
    expect(requested).toHaveProperty("paymentLink");
    const end = phoneRequest("completeVisit", { visitId, disposition: "NOT_AT_HOME", occurredAt });
    expect(await phone.send(end)).toHaveProperty("visit");
    expect(await phone.send(phoneRequest("revealContact", { caseId }))).toHaveProperty("contact");
    person.rounds += 1;
  }
}

function isStart({ mutation }: { mutation: string }): boolean {
  return mutation === "startVisit";
}
