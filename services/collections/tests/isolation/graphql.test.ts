import { transaction } from "@collections/database";
import { issueAccessToken, suspendFieldPartner } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { aFieldPartner, signOut } from "../fixtures/fixture.ts";
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
import { matrixWorld, unusedPhone, namesWithOneForeign, type World } from "./fixtures/matrix-world.ts";

let world: World;
let seen: Set<string>;

beforeAll(async () => {
  world = await matrixWorld();
  seen = await seenByOwner(world);
});

/**
 * Returns the fields that the owner can read. If even the owner cannot read a field, a stranger's request for that
 * field proves nothing.
 */
async function seenByOwner({ owner, owned }: World): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const operation of operationsOf(schema, owned)) {
    const { data, errors } = await ask(await owner.app(), operation);
    if (errors) throw new Error(`The owner's ${operation.field} fails: ${JSON.stringify(errors)}`);
    for (const field of valuesSeenIn(data)) seen.add(field);
  }
  return seen;
}

/**
 * The first answer of the subscription names no case; its own tests check who gets the later answers. `baseBefore` needs
 * the reversal of a part of a payment, and belongs to the same object as `base`.
 */
const NOT_SEEN = new Set(["CaseChange.case", "CaseChange.caseId", "EarningCalculation.baseBefore"]);

test("the owner can read every field that the authorisation matrix tries as a stranger", () => {
  // Error types are left out: their fields are covered by the comparison with ids that do not exist.
  const refusals = new Set(schema.getPossibleTypes(schema.getType("UserError") as never).map(({ name }) => name));
  const unseen = fieldsOf(schema).filter(
    (field) => !seen.has(field) && !refusals.has(field.split(".")[0]!) && !NOT_SEEN.has(field),
  );
  expect(unseen, "make something in matrix-world.ts that has a value for these fields").toEqual([]);
});

describe.each(["none", "unknown", "expired", "signed out", "suspended"])(
  "a GraphQL operation with an access token that is %s",
  (kind) => {
    test("gets UNAUTHENTICATED on every root field, and changes nothing", async () => {
      const accessToken = await badToken(kind);
      const operations = operationsOf(schema, { ...world.known, phone: unusedPhone() });
      const changes = await changesWhile(world, async () => {
        for (const operation of operations) {
          expect(await findingsWithoutToken(world, operation, accessToken), describeOperation(operation)).toEqual([]);
        }
      });
      expect(changes).toEqual([]);
    });
  },
);

test("the resolvers reject every operation without a caller, even if the earlier check of the token is left out", async () => {
  const operations = operationsOf(schema, { ...world.known, phone: unusedPhone() });
  const changes = await changesWhile(world, async () => {
    for (const operation of operations) {
      expect(await findingsWithoutCaller(world, schema, operation), describeOperation(operation)).toEqual([]);
    }
  });
  expect(changes).toEqual([]);
});

describe("a stranger in GraphQL", () => {
  const kinds = ["query", "mutation", "subscription"] as const;
  test.each(kinds)(
    "gets the same answer to a %s whether its ids are another field partner's or do not exist, and changes nothing",
    async (kind) => {
      const blanks = operationsOf(schema, world.missing);
      const changes = await changesWhile(world, async () => {
        for (const [place, operation] of operationsOf(schema, world.known).entries()) {
          if (operation.kind !== kind) continue;
          const findings = await findingsOfStranger(world, schema, operation, blanks[place]!);
          expect(findings, describeOperation(operation)).toEqual([]);
        }
      });
      expect(changes).toEqual([]);
    },
  );

  test("sees no data of another field partner in their own lists, not even on a reassigned case", async () => {
    for (const operation of operationsOf(schema, world.own)) {
      if (operation.kind !== "query") continue;
      expect(await findingsAmongOwn(world, operation), describeOperation(operation)).toEqual([]);
    }
  });

  // This test must be the last one, because its operations change the stranger's own cases and visits.
  test("gets the same answer to a request whether one of its ids is another field partner's or does not exist", async () => {
    const changes = await changesWhile(world, async () => {
      for (const { what, foreign, missing } of namesWithOneForeign(world)) {
        const blanks = operationsOf(schema, missing);
        for (const [place, operation] of operationsOf(schema, foreign).entries()) {
          const findings = await findingsOfMixed(world, operation, blanks[place]!);
          expect(findings, `${what} of ${describeOperation(operation)}`).toEqual([]);
        }
      }
    });
    expect(changes).toEqual([]);
  });
});

test("only the three mutations for signing in need no access token", () => {
  const mutations = Object.keys(schema.getMutationType()!.getFields());
  expect(mutations.filter((name) => OPEN_TO_ALL.has(name)).toSorted()).toEqual([...OPEN_TO_ALL].toSorted());
});

/** Returns an invalid token of the owner, or the token of a suspended field partner. */
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
  if (kind === "signed out") await signOut(world.service, accessToken);
  return accessToken;
}

function describeOperation({ kind, field, variables }: Operation): string {
  return `${kind} ${field} ${JSON.stringify(variables)}`;
}
