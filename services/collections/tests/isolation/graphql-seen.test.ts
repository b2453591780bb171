import { extendSchema, type GraphQLField, type GraphQLFieldResolver, parse } from "graphql";
import { fieldPartnerById } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import type { Context } from "../../src/graphql/plumbing/context.ts";
import { createReads } from "../../src/graphql/plumbing/reads.ts";
import { schema } from "../../src/graphql/schema.ts";
import {
  changesWhile,
  findingsAmongOwn,
  findingsOfStranger,
  findingsWithoutCaller,
  OPEN_TO_ALL,
} from "./fixtures/matrix-findings.ts";
import { NoValueError, operationsOf } from "./fixtures/matrix-operations.ts";
import { matrixWorld, type World } from "./fixtures/matrix-world.ts";

type Field = GraphQLField<unknown, Context>;

const roots = [schema.getQueryType()!, schema.getSubscriptionType()!, schema.getMutationType()!].flatMap((type) =>
  Object.values(type.getFields() as Record<string, Field>).filter(({ name }) => !OPEN_TO_ALL.has(name)),
);

/**
 * Root fields whose first answer is the same for every field partner, so that it cannot show a leak to a stranger. The
 * tests of caseChanged check that a stranger gets no event.
 */
const ANSWERS_ALL_ALIKE = new Set(["caseChanged"]);

let world: World;
let owner: Context["fieldPartner"];

beforeAll(async () => {
  world = await matrixWorld();
  owner = await fieldPartnerById(world.service.app.database.em(), world.owner.id);
});

/**
 * Runs `work` while one field lacks its authorisation. Until then, the field resolves for every caller as if the caller
 * were the owner.
 */
async function withoutAuthorisation<Done>(field: Field, work: () => Promise<Done>): Promise<Done> {
  const { resolve, subscribe } = field;
  const opened = (resolver: GraphQLFieldResolver<unknown, Context> | undefined) =>
    resolver &&
    (((source, args, context, info) => {
      const reads = createReads(context.app.database, owner!.id);
      const asOwner = { fieldPartner: owner, reads, isStillSignedIn: () => Promise.resolve(true) };
      return resolver(source, args, { ...context, ...asOwner }, info);
    }) satisfies GraphQLFieldResolver<unknown, Context>);
  Object.assign(field, { resolve: opened(resolve), subscribe: opened(subscribe) });
  try {
    return await work();
  } finally {
    Object.assign(field, { resolve, subscribe });
  }
}

describe("the authorisation matrix finds a missing authorisation", () => {
  test.each(roots.map((field) => [field.name, field] as const))("in the root field %s", async (name, field) => {
    const blanks = operationsOf(schema, world.missing);
    const [withoutCaller, ofStranger] = await withoutAuthorisation(field, async () => {
      const withoutCaller: string[] = [];
      const ofStranger: string[] = [];
      const changes = await changesWhile(world, async () => {
        for (const [place, operation] of operationsOf(schema, world.known).entries()) {
          if (operation.field !== name) continue;
          ofStranger.push(...(await findingsOfStranger(world, schema, operation, blanks[place]!)));
          withoutCaller.push(...(await findingsWithoutCaller(world, schema, operation)));
          if (withoutCaller.length > 0 && ofStranger.length > 0) break;
        }
      });
      return [withoutCaller, [...ofStranger, ...changes]];
    });
    expect(withoutCaller).not.toEqual([]);
    expect(ofStranger.length > 0).toBe(!ANSWERS_ALL_ALIKE.has(name));
  });

  test.each(["activeLink", "earnings"])("in the field Case.%s, for a reassigned case", async (name) => {
    const type = schema.getType("Case") as unknown as { getFields(): Record<string, Field> };
    const shown = async () => {
      const findings: string[] = [];
      for (const operation of operationsOf(schema, world.own)) {
        if (operation.field === "case") findings.push(...(await findingsAmongOwn(world, operation)));
      }
      return findings;
    };
    expect(await shown()).toEqual([]);
    expect(await withoutAuthorisation(type.getFields()[name]!, shown)).not.toEqual([]);
  });
});

test("an argument without values makes the authorisation matrix fail with advice", () => {
  const grown = extendSchema(schema, parse("extend type Query { casesOf(colleagueId: ID!): Case }"));
  expect(() => operationsOf(grown, world.known)).toThrow(NoValueError);
  expect(() => operationsOf(grown, world.known)).toThrow('Add "Query.casesOf.colleagueId" to VALUES in tests/');
});
