import { execute, type ExecutionResult, type GraphQLSchema, isObjectType, parse, subscribe } from "graphql";
import { codeOf } from "../src/graphql/answer-errors.ts";
import { createContext } from "../src/graphql/context.ts";
import { encodeId, NODE_TYPES } from "../src/graphql/global-id.ts";
import { createLinkLooks } from "../src/graphql/link-looks.ts";
import { createWatchPlaces } from "../src/graphql/watch-places.ts";
import { AppClient, type GraphqlAnswer } from "./graphql-client.ts";
import type { Operation } from "./matrix-operations.ts";
import type { World } from "./matrix-world.ts";
import { allRows } from "./table-rows.ts";

/** They need no token: who asks is not known yet. */
export const OPEN_TO_ALL: ReadonlySet<string> = new Set(["requestOtp", "verifyOtp", "refreshSession"]);

/** Codes are asked for and tried by whoever says to have a phone, for it is the code that tells. */
const ANYBODYS_TABLE = "field_partners.otp";
/** What somebody wanted, with what they named, as it was: theirs. */
const MEMORIES: ReadonlySet<string> = new Set(["field_partners.mutation_result", "cases.held_request"]);

const VISIT_ID_TAKEN = asText({
  data: {
    startVisit: {
      __typename: "VisitIdTaken",
      VisitIdTaken__code: "VISIT_ID_TAKEN",
      VisitIdTaken__message: "The visitId is in use; make a new one.",
    },
  },
});

/** Asks once; of a subscription the first answer counts. */
export async function ask(app: AppClient, { kind, text, variables }: Operation): Promise<GraphqlAnswer> {
  if (kind !== "subscription") return app.ask(text, variables);
  for await (const answer of app.watch(text, variables)) return answer;
  throw new Error("A subscription ended without an answer.");
}

/** What is wrong with how an operation without a right token is answered; nothing when it is refused. */
export async function findingsWithoutToken(
  world: World,
  operation: Operation,
  accessToken?: string,
): Promise<string[]> {
  return findingsUnlessRefused(world, operation, await ask(new AppClient(world.service.url, accessToken), operation));
}

/**
 * The same for the schema alone, which is asked past the check of access tokens: nothing when the resolvers refuse an
 * operation by themselves.
 */
export async function findingsWithoutCaller(
  world: World,
  schema: GraphQLSchema,
  operation: Operation,
): Promise<string[]> {
  const { app } = world.service;
  const contextValue = createContext({
    app,
    caller: undefined,
    requestId: "req_matrix",
    address: "127.0.0.1",
    closing: new AbortController().signal,
    linkLooks: createLinkLooks(app.database),
    watchPlaces: createWatchPlaces(),
  });
  const { kind, text, variables } = operation;
  const asked = { schema, document: parse(text), contextValue, variableValues: variables as Record<string, unknown> };
  const result = await (kind === "subscription" ? firstOf(subscribe(asked)) : execute(asked));
  const errors = result.errors?.map((error) => ({ message: error.message, extensions: { code: codeOf(error) } }));
  return findingsUnlessRefused(world, operation, { data: result.data, errors });
}

async function firstOf(stream: ReturnType<typeof subscribe>): Promise<ExecutionResult> {
  const result = await stream;
  if (!(Symbol.asyncIterator in result)) return result;
  for await (const first of result) return first;
  throw new Error("A subscription ended without an answer.");
}

async function findingsUnlessRefused(
  world: World,
  operation: Operation,
  answer: Pick<GraphqlAnswer, "data"> & { errors: { extensions: { code: string } }[] | undefined },
): Promise<string[]> {
  const findings = await leaksIn(world, answer);
  if (OPEN_TO_ALL.has(operation.field)) return findings;
  const codes = new Set(answer.errors?.map(({ extensions }) => extensions.code));
  if (codes.size !== 1 || !codes.has("UNAUTHENTICATED")) findings.push("is not UNAUTHENTICATED");
  if (Object.values(answer.data ?? {}).some((value) => value !== null)) findings.push("has data");
  return findings;
}

/**
 * What is wrong with how a stranger is answered who names what is another's: nothing when it is the answer to what does
 * not exist, `blank` being the same operation with ids of nothing.
 */
export async function findingsOfStranger(
  world: World,
  schema: GraphQLSchema,
  operation: Operation,
  blank: Operation,
): Promise<string[]> {
  const answer = await ask(await world.stranger.app(), operation);
  const findings = await leaksIn(world, answer);
  if (said(operation) === said(blank)) return findings;
  const other = await ask(await world.stranger.app(), blank);
  if (asText(answer) !== asText(other)) findings.push(`tells it from nothing: ${asText(answer)} ≠ ${asText(other)}`);
  if (!OPEN_TO_ALL.has(operation.field) && !isRefused(schema, answer.data?.[operation.field])) {
    findings.push("does or shows something");
  }
  return findings;
}

/**
 * What is wrong with how a stranger is answered who names one thing that is another's among what is their own: nothing
 * when it is as if nobody had it. The rest may be done, so only the two answers are compared.
 */
export async function findingsOfMixed(world: World, operation: Operation, blank: Operation): Promise<string[]> {
  if (said(operation) === said(blank)) return [];
  const answer = await ask(await world.stranger.app(), operation);
  // A phone makes these ids, of which two are never the same by chance; on one's own case there is no other answer.
  if (asText(answer) === VISIT_ID_TAKEN && operation.field === "startVisit") return [];
  const other = await ask(await world.stranger.app(), blank);
  const differs = asText(answer) !== asText(other);
  const findings = await leaksIn(world, answer);
  return differs ? [...findings, `tells it from nothing: ${asText(answer)} ≠ ${asText(other)}`] : findings;
}

/** What is wrong with how a stranger is answered who names only what is their own. */
export async function findingsAmongOwn(world: World, operation: Operation): Promise<string[]> {
  const answer = await ask(await world.stranger.app(), operation);
  const findings = await leaksIn(world, answer);
  if (answer.errors) findings.push(`fails: ${JSON.stringify(answer.errors)}`);
  return findings;
}

/** What of the owner's rows is different after some work. */
export async function changesWhile(world: World, work: () => Promise<unknown>): Promise<string[]> {
  const before = await rowsOfOwner(world);
  await work();
  const after = await rowsOfOwner(world);
  const changed = [...new Set([...before, ...after])].filter((row) => before.has(row) !== after.has(row));
  return changed.map((row) => `changes ${row}`);
}

async function leaksIn(world: World, { data, errors }: { data?: unknown; errors?: unknown }): Promise<string[]> {
  const text = JSON.stringify([data, errors]);
  const { marks } = await ownersOf(world);
  return marks.filter((mark) => text.includes(mark)).map((mark) => `shows ${mark}`);
}

/** Null, nothing but nulls, or the member of a result union that says no. */
function isRefused(schema: GraphQLSchema, value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => one === null);
  const { __typename } = (value ?? {}) as { __typename?: string };
  if (__typename === undefined) return value === null || value === undefined;
  const type = schema.getType(__typename);
  return isObjectType(type) && type.getInterfaces().some(({ name }) => name === "UserError");
}

/** What an operation names: not the key and the time that each has of its own. */
function said({ variables }: Operation): string {
  return JSON.stringify(variables).replaceAll(/"(idempotencyKey|occurredAt)":"[^"]+"/g, "");
}

/** Without what is new in each answer: ids, times, and cursors, which have times. */
function asText({ data, errors }: Partial<GraphqlAnswer>): string {
  return JSON.stringify([data, errors])
    .replaceAll(/"\w+__(c|startC|endC)ursor":"[^"]+"/g, "CURSOR")
    .replaceAll(/req_[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}

const IDS = `
  select id from field_partners.field_partner where id = $1
  union select id from cases.collection_case where assigned_field_partner_id = $1
  union select id from payment_links.payment_link where field_partner_id = $1
  union select id from earnings.earning where field_partner_id = $1
  union select id from cases.visit where field_partner_id = $1
  union select id from field_partners.session where field_partner_id = $1`;

/** What they have earned, by what has become of it and together. */
const SUMS = `
  select amount_minor::text as minor from earnings.earning where field_partner_id = $1
  union select sum(amount_minor)::text from earnings.earning where field_partner_id = $1 group by status
  union select sum(amount_minor)::text from earnings.earning where field_partner_id = $1`;

interface Owned {
  readonly ids: readonly string[];
  /** Texts that are in answers about the owner's things, and in no others. */
  readonly marks: readonly string[];
}

const owners = new WeakMap<World, Promise<Owned>>();

/** What is the owner's: the background rests, so it is what it was. */
function ownersOf(world: World): Promise<Owned> {
  const known = owners.get(world) ?? readOwned(world);
  owners.set(world, known);
  return known;
}

async function readOwned({ service, owner, stranger }: World): Promise<Owned> {
  const { pool } = service.app.database;
  const ids = (await pool.query<{ id: string }>(IDS, [owner.id])).rows.map(({ id }) => id);
  const sums = (await pool.query<{ minor: string }>(SUMS, [owner.id])).rows.map(({ minor }) => `"${minor}"`);
  // Visits on a case that was handed over are shown to whoever has it now.
  const shown = await pool.query<{ id: string }>(
    `select v.id from cases.visit v join cases.collection_case c on c.lender_id = v.lender_id and c.id = v.case_id
     where c.assigned_field_partner_id = $1`,
    [stranger.id],
  );
  const secret = ids.filter((id) => !shown.rows.some((visit) => visit.id === id));
  const globalIds = NODE_TYPES.flatMap((type) => secret.map((id) => encodeId(type, id)));
  const hexIds = secret.map((id) => id.replaceAll("-", ""));
  return { ids, marks: ["leak-", "Leak-", "QX7", "888777", ...sums, ...secret, ...hexIds, ...globalIds] };
}

async function rowsOfOwner(world: World): Promise<Set<string>> {
  const { ids } = await ownersOf(world);
  const named = new RegExp(ids.flatMap((id) => [id, id.replaceAll("-", "")]).join("|"));
  const { [ANYBODYS_TABLE]: _, ...tables } = await allRows(world.service.app);
  const rows = Object.entries(tables).flatMap(([table, rows]) =>
    rows
      .filter((row) => named.test(row) && !(MEMORIES.has(table) && row.includes(world.stranger.id)))
      .map((row) => `${table} ${row}`),
  );
  return new Set(rows);
}
