import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, signOut, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, type GraphqlAnswer } from "../fixtures/graphql-client.ts";

const VIEWER_QUERY = "{ viewer { displayName } }";
const REFRESH = `mutation ($input: RefreshSessionInput!) { refreshSession(input: $input) { __typename } }`;

/** Two instances of the service on one database, each with a low limit on operations per minute. */
let one: TestService;
let other: TestService;

beforeAll(async () => {
  const settings = { RATE_LIMITS: "app=12,failed-authentication=6", TRUST_PROXY: "loopback" };
  one = await startTestService({ hasWorker: false, settings });
  other = await startTestService({ hasWorker: false, settings: { ...settings, DATABASE_URL: one.databaseUrl } });
});

/** Sends `count` concurrent operations, alternately to the two instances. */
async function atOnce(count: number, accessToken: string | undefined, query = VIEWER_QUERY): Promise<GraphqlAnswer[]> {
  const clients = [one, other].map(({ url }) => new AppClient(url, accessToken));
  return Promise.all(Array.from({ length: count }, (_, place) => clients[place % 2]!.ask(query)));
}

function codesOf(answers: readonly GraphqlAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { errors } of answers) {
    const code = errors?.[0]?.extensions.code ?? "answered";
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

async function pass(subject: string, ms: number): Promise<void> {
  const shifted = "array(select at - $2 from unnest(at_ms) with ordinality as u (at, place) order by place)";
  await one.app.database.pool.query(`update rate_limits.permit_window set at_ms = ${shifted} where subject = $1`, [
    subject,
    ms,
  ]);
}

describe("the rate limit on a field partner's operations", () => {
  test("admits an exact number over all processes, and does not affect other field partners", async () => {
    const { id, accessToken } = await aFieldPartner(one);
    expect(codesOf(await atOnce(40, accessToken))).toEqual({ answered: 12, RATE_LIMITED: 28 });
    const neighbour = await aFieldPartner(one);
    expect(codesOf(await atOnce(2, neighbour.accessToken))).toEqual({ answered: 2 });
    await pass(id, 60_000);
    await expect.poll(async () => codesOf(await atOnce(1, accessToken))).toEqual({ answered: 1 });
  });

  test("rejects an operation before it is executed, and states when to retry", async () => {
    const { accessToken } = await aFieldPartner(one);
    await atOnce(12, accessToken);
    const app = new AppClient(one.url, accessToken);
    const ending = `mutation { signOut(input: { idempotencyKey: "${randomUUID()}" }) { __typename } }`;
    const { status, headers, data, errors } = await app.ask(ending);
    const retryAfterS = Number(headers.get("retry-after"));
    expect(retryAfterS).toBeGreaterThan(30);
    expect(retryAfterS).toBeLessThanOrEqual(60);
    expect({ status, data, errors }).toEqual({
      status: 429,
      data: undefined,
      errors: [
        {
          message: `You may send 12 operations a minute; try again in ${retryAfterS} s.`,
          extensions: { code: "RATE_LIMITED", requestId: headers.get("x-request-id"), retryAfterS },
        },
      ],
    });
    const { rows } = await one.app.database.pool.query<{ revoked: string }>(
      `select count(*) filter (where revoked_at is not null) as revoked from field_partners.session
       where id = (select session_id from field_partners.token_pair order by id desc limit 1)`,
    );
    expect(rows).toEqual([{ revoked: "0" }]);
  });

  test("counts each operation and each subscription once", async () => {
    const { accessToken } = await aFieldPartner(one);
    const many = Array.from({ length: 30 }, (_, place) => `a${place}: viewer { displayName }`).join(" ");
    expect(codesOf(await atOnce(12, accessToken, `{ ${many} }`))).toEqual({ answered: 12 });
    const SOME_LINK = Buffer.from(`PaymentLink:${randomUUID()}`).toString("base64url");
    const watching = new AppClient(one.url, accessToken).watch(
      `subscription { paymentLinkUpdated(id: "${SOME_LINK}") { status } }`,
    );
    expect((await watching.next()).value).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED" } }] });
  });

  test("does not count operations with a revoked token", async () => {
    const { id, accessToken } = await aFieldPartner(one);
    await atOnce(4, accessToken);
    await signOut(one, accessToken);
    await atOnce(2, accessToken);
    const { rows } = await one.app.database.pool.query(
      "select (select sum(n) from unnest(counts) n)::int as uses from rate_limits.permit_window where subject = $1",
      [id],
    );
    // Each of the two processes may have counted one operation before it found out that the token was revoked.
    expect((rows as [{ uses: number }])[0].uses).toBeLessThanOrEqual(6);
    await atOnce(4, accessToken);
    const later = await one.app.database.pool.query(
      "select (select sum(n) from unnest(counts) n)::int as uses from rate_limits.permit_window where subject = $1",
      [id],
    );
    expect(later.rows).toEqual(rows);
  });
});

describe("the rate limit on operations without a valid token", () => {
  function from(address: string, accessToken?: string) {
    const headers = { "content-type": "application/json", "x-forwarded-for": address };
    return async (query: string, variables: object = {}) => {
      const response = await fetch(`${one.url}/graphql`, {
        method: "POST",
        headers: { ...headers, ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }) },
        body: JSON.stringify({ query, variables }),
      });
      return { status: response.status, headers: response.headers, ...((await response.json()) as object) };
    };
  }

  test("counts by address, and does not affect valid tokens and sign-ins from that address", async () => {
    const { accessToken } = await aFieldPartner(one);
    const stranger = from("203.0.113.7", `fpt_${"A".repeat(43)}`);
    const answers = await Promise.all(Array.from({ length: 20 }, () => stranger(VIEWER_QUERY)));
    // The code stays UNAUTHENTICATED, so that an app with an expired token refreshes the token instead of waiting.
    expect(codesOf(answers as unknown as GraphqlAnswer[])).toEqual({ UNAUTHENTICATED: 20 });
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(14);
    const refused = await stranger(VIEWER_QUERY);
    expect(refused).toMatchObject({ status: 429, errors: [{ extensions: { retryAfterS: expect.any(Number) } }] });
    expect(refused).not.toHaveProperty("data");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(30);

    expect(await from("203.0.113.7", accessToken)(VIEWER_QUERY)).toMatchObject({ data: { viewer: {} } });
    const input = { idempotencyKey: randomUUID(), refreshToken: `fpr_${"A".repeat(43)}` };
    for (const someone of [stranger, from("203.0.113.7")]) {
      expect(await someone(REFRESH, { input })).toMatchObject({
        data: { refreshSession: { __typename: "SessionEnded" } },
      });
    }
    expect(await from("203.0.113.8")(VIEWER_QUERY)).toMatchObject({
      errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
    });
  });
});

test("with RATE_LIMITS=off there is no limit on operations", async () => {
  const settings = { DATABASE_URL: one.databaseUrl, RATE_LIMITS: "off" };
  const unlimited = await startTestService({ hasWorker: false, settings });
  const { accessToken } = await aFieldPartner(one);
  const app = new AppClient(unlimited.url, accessToken);
  const answers = await Promise.all(Array.from({ length: 130 }, () => app.ask(VIEWER_QUERY)));
  expect(codesOf(answers)).toEqual({ answered: 130 });
});
