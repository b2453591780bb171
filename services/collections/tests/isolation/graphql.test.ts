import { transaction } from "@collections/database";
import { issueAccessToken, revokeAccessToken, suspendFieldPartner } from "@collections/field-partners";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { aFieldPartner } from "../fixtures/fixture.ts";
import {
  ask,
  changesWhile,
  findingsAmongOwn,
  findingsOfMixed,
  findingsOfStranger,
  findingsWithoutCaller,
  findingsWithoutToken,
  OPEN_TO_ALL,
} from "./fixtures/matrix-findings.ts";
import { fieldsOf, type Operation, operationsOf, valuesSeenIn } from "./fixtures/matrix-operations.ts";
import { matrixWorld, nobodysPhone, oneByOne, type World } from "./fixtures/matrix-world.ts";

// It takes seconds, and much longer on a machine that does much else.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let seen: Set<string>;

beforeAll(async () => {
  world = await matrixWorld();
  seen = await seenByOwner(world);
});

/** What the owner reads of everything: what nobody can read proves nothing when a stranger cannot. */
async function seenByOwner({ owner, owned }: World): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const operation of operationsOf(schema, owned)) {
    const { data, errors } = await ask(await owner.app(), operation);
    if (errors) throw new Error(`The owner's ${operation.field} fails: ${JSON.stringify(errors)}`);
    for (const field of valuesSeenIn(data)) seen.add(field);
  }
  return seen;
}

test("the owner reads every field of every type that the matrix tries on others", () => {
  // What a mutation says when it does nothing is compared with what it says of ids of nothing.
  const refusals = new Set(schema.getPossibleTypes(schema.getType("UserError") as never).map(({ name }) => name));
  const unseen = fieldsOf(schema).filter((field) => !seen.has(field) && !refusals.has(field.split(".")[0]!));
  expect(unseen, "give the world in matrix-world.ts something that has a value there").toEqual([]);
});

describe.each(["none", "unknown", "expired", "signed out", "suspended"])("with a token that is %s", (kind) => {
  test("nothing is answered but that one is to sign in", async () => {
    const accessToken = await badToken(kind);
    const operations = operationsOf(schema, { ...world.known, phone: nobodysPhone() });
    const changes = await changesWhile(world, async () => {
      for (const operation of operations) {
        expect(await findingsWithoutToken(world, operation, accessToken), described(operation)).toEqual([]);
      }
    });
    expect(changes).toEqual([]);
  });
});

test("without a caller the schema refuses every operation by itself, whatever checked the token before it", async () => {
  const operations = operationsOf(schema, { ...world.known, phone: nobodysPhone() });
  const changes = await changesWhile(world, async () => {
    for (const operation of operations) {
      expect(await findingsWithoutCaller(world, schema, operation), described(operation)).toEqual([]);
    }
  });
  expect(changes).toEqual([]);
});

describe("a stranger", () => {
  const kinds = ["query", "mutation", "subscription"] as const;
  test.each(kinds)("by a %s gets for another's ids what ids of nothing get, and changes nothing", async (kind) => {
    const blanks = operationsOf(schema, world.nobodys);
    const changes = await changesWhile(world, async () => {
      for (const [place, operation] of operationsOf(schema, world.known).entries()) {
        if (operation.kind !== kind) continue;
        const findings = await findingsOfStranger(world, schema, operation, blanks[place]!);
        expect(findings, described(operation)).toEqual([]);
      }
    });
    expect(changes).toEqual([]);
  });

  test("finds nothing of another's among their own, not even on a case that both have had", async () => {
    for (const operation of operationsOf(schema, world.own)) {
      if (operation.kind !== "query") continue;
      expect(await findingsAmongOwn(world, operation), described(operation)).toEqual([]);
    }
  });

  // The last one: what is one's own is done.
  test("by one thing of another's among their own gets what one of nobody's gets, and changes nothing", async () => {
    const changes = await changesWhile(world, async () => {
      for (const { what, theirs, nobodys } of oneByOne(world)) {
        const blanks = operationsOf(schema, nobodys);
        for (const [place, operation] of operationsOf(schema, theirs).entries()) {
          const findings = await findingsOfMixed(world, operation, blanks[place]!);
          expect(findings, `${what} of ${described(operation)}`).toEqual([]);
        }
      }
    });
    expect(changes).toEqual([]);
  });
});

test("what needs no token are the three steps of signing in", () => {
  const mutations = Object.keys(schema.getMutationType()!.getFields());
  expect(mutations.filter((name) => OPEN_TO_ALL.has(name)).toSorted()).toEqual([...OPEN_TO_ALL].toSorted());
});

/** A token of the owner's that counts no more, or of somebody who may not come in. */
async function badToken(kind: string): Promise<string | undefined> {
  if (kind === "none") return undefined;
  if (kind === "unknown") return `fpt_${"A".repeat(43)}`;
  const em = () => world.service.app.database.em();
  const guest = await aFieldPartner(world.service);
  if (kind === "suspended") {
    await transaction(em(), (tx) => suspendFieldPartner(tx, guest.id));
    return guest.accessToken;
  }
  const past = { ttlMs: 1_000, now: new Date(Date.now() - 60_000) };
  const { accessToken } = await transaction(em(), (tx) =>
    issueAccessToken(tx, world.owner.id, kind === "expired" ? past : {}),
  );
  if (kind === "signed out") await transaction(em(), (tx) => revokeAccessToken(tx, accessToken));
  return accessToken;
}

function described({ kind, field, variables }: Operation): string {
  return `${kind} ${field} ${JSON.stringify(variables)}`;
}
