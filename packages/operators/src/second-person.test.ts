import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { actsOnOperators } from "./audit.ts";
import { deleteEndedSessions } from "./delete-ended.ts";
import { operatorsSchema } from "./schema.ts";
import {
  decideSecondPersonRequest,
  requestSecondPerson,
  secondPersonRequest,
  waitingSecondPersonRequests,
} from "./second-person.ts";

const schemas = [operatorsSchema];
const { url } = await testDatabase("second-person", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());
const em = () => database.em();

const NOW = new Date("2026-11-29T09:00:00Z");
const HOUR_MS = 3_600_000;
const CHANGE = { kind: "payout", amount: "125000.00" };

function request(requestedBy = "Asha") {
  return transaction(em(), (tx) => requestSecondPerson(tx, { requestedBy, change: CHANGE }, NOW));
}

function decide(id: string, by: string, { isConfirmed = true, afterMs = 0 } = {}) {
  const at = new Date(NOW.getTime() + afterMs);
  return transaction(em(), (tx) => decideSecondPersonRequest(tx, { id, by, isConfirmed }, at));
}

describe("a request for a second person", () => {
  test("is confirmed once, by another operator", async () => {
    const { id } = await request();
    expect((await waitingSecondPersonRequests(em(), NOW)).map((one) => one.id)).toContain(id);
    const decided = await Promise.all(["Ravi", "Lata", "Meena"].map((by) => decide(id, by)));
    expect(decided.filter(Boolean)).toHaveLength(1);
    expect(decided.find(Boolean)).toMatchObject({ change: CHANGE, requestedBy: "Asha", isConfirmed: true });
    expect(await decide(id, "Kiran", { isConfirmed: false })).toBeUndefined();
    expect((await waitingSecondPersonRequests(em(), NOW)).map((one) => one.id)).not.toContain(id);
  });

  test("is not confirmed by the operator who asked", async () => {
    const { id } = await request("Asha@bank.example via login");
    for (const by of ["Asha@bank.example via login", "asha@BANK.example via login"]) {
      expect(await decide(id, by)).toBeUndefined();
    }
    expect(await secondPersonRequest(em(), id)).toMatchObject({ decidedBy: null, isConfirmed: null });
    expect(await decide(id, "Asha@bank.example via login", { isConfirmed: false })).toMatchObject({
      isConfirmed: false,
    });
  });

  test("ends after 24 hours", async () => {
    const { id } = await request();
    expect(await decide(id, "Ravi", { afterMs: 24 * HOUR_MS })).toBeUndefined();
    expect(await decide(id, "Ravi", { afterMs: 24 * HOUR_MS - 1 })).toBeDefined();
  });

  test("is unknown with another id", async () => {
    expect(await decide(newId(), "Ravi")).toBeUndefined();
    expect(await secondPersonRequest(em(), newId())).toBeUndefined();
  });

  test("leaves both names in the audit", async () => {
    const { id } = await request("Both");
    await decide(id, "Second");
    const acts = (await actsOnOperators(em(), { act: "operator.change_", limit: 100 })).filter(
      ({ operator }) => operator === "Both",
    );
    const data = { requestId: id, change: CHANGE };
    expect(acts).toMatchObject([
      { act: "operator.change_confirmed", actor: "operator:Second", data: { ...data, requestedBy: "Both" } },
      { act: "operator.change_requested", actor: "operator:Both", data },
    ]);
  });

  test("is deleted a week after its end", async () => {
    const { id } = await request();
    const deleteAt = (days: number) =>
      transaction(em(), (tx) => deleteEndedSessions(tx, new Date(NOW.getTime() + days * 24 * HOUR_MS)));
    await deleteAt(7.9);
    expect(await secondPersonRequest(em(), id)).toBeDefined();
    await deleteAt(8);
    expect(await secondPersonRequest(em(), id)).toBeUndefined();
  });
});
