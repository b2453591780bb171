import { CONSOLE_ROLES, CONSOLE_ROUTES, type ConsoleRole } from "@collections/console";
import { publicId, transaction } from "@collections/database";
import { OPERATOR_ROLES, requestSecondPerson, revokeOperator } from "@collections/operators";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aReconciliation } from "./fixtures/a-reconciliation.ts";
import { firstKeyOf } from "./fixtures/first-key.ts";
import { anUpload } from "./fixtures/uploads.ts";
import { aLenderVisitor, aSignedInVisitor, aVisitor, formTokenIn, linkPath, type Visitor } from "./fixtures/visitor.ts";

/**
 * The sender of a request: an operator with one role; a visitor without a session, with a revoked session, or whose link
 * had expired before the sign-in; an operator with all roles whose form was forged in one of two ways; and the staff of the
 * lender whose case and event the request names, or of another lender.
 */
const VISITORS = [
  ...OPERATOR_ROLES,
  "nobody",
  "revoked session",
  "expired link",
  "form of another session",
  "form of another site",
  "the lender's staff",
  "another lender's staff",
] as const;
type Who = (typeof VISITORS)[number];

const ROUTES = CONSOLE_ROUTES.map((route) => ({
  ...route,
  name: `${route.method.toUpperCase()} /console${route.path}`,
}));
type Route = (typeof ROUTES)[number];

let service: TestService;
let visitors: Readonly<Record<Who, Visitor>>;
let params: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
  await lender.confirm("LN-1", { amount: 100, reference: "UTR1", paidAt: new Date().toISOString(), mode: "upi" });
  const { pool } = service.app.database;
  const { rows } = await pool.query<{ id: string }>("select id from webhooks.delivery limit 1");
  params = {
    ":token": "unknown",
    ":lender": lender.code,
    ":loan": "LN-1",
    ":run": await aReconciliation(lender),
    ":reference": "UTR1",
    ":request": publicId("req", await aRequest()),
    ":event": publicId("evt", rows[0]!.id),
    ":person": publicId("fp", (await aFieldPartner(service)).id),
    ":key": await firstKeyOf(service, lender.code),
    ":upload": await anUpload(service, lender.code, { hasRejected: true }),
  };
  visitors = {
    viewer: await aSignedInVisitor(service, ["viewer"]),
    operator: await aSignedInVisitor(service, ["operator"]),
    money: await aSignedInVisitor(service, ["money"]),
    nobody: aVisitor(service),
    "revoked session": await aRevokedVisitor(),
    "expired link": await aLateVisitor(),
    "form of another session": await aSignedInVisitor(service),
    "form of another site": await aSignedInVisitor(service),
    "the lender's staff": await aLenderVisitor(service, lender.code),
    "another lender's staff": await aLenderVisitor(service, (await aLender(service)).code),
  };
});

/** Makes a change of another operator wait for a second person. */
async function aRequest(): Promise<string> {
  const order = { kind: "move", lenderCode: "NONE", loan: "LN-1", reference: "UTR1", toLoan: "LN-2", note: "Asked" };
  const asked = { requestedBy: "Lata", change: order };
  const em = service.app.database.em();
  return (await transaction(em, (tx) => requestSecondPerson(tx, asked, new Date()))).id;
}

async function aRevokedVisitor(): Promise<Visitor> {
  const visitor = await aSignedInVisitor(service, OPERATOR_ROLES, "Lata");
  await transaction(service.app.database.em(), (tx) => revokeOperator(tx, { name: "Lata" }, new Date()));
  return visitor;
}

async function aLateVisitor(): Promise<Visitor> {
  const visitor = aVisitor(service);
  const { token } = await linkPath(service, "Late");
  const { pool } = service.app.database;
  await pool.query("update operators.sign_in_link set expires_at = now() where operator = 'Late'");
  expect(await visitor.post("/console/sign-in", { link: token })).toMatchObject({ status: 410 });
  return visitor;
}

/** Sends a request for a route. A form has its token, but no other field. Returns the status. */
async function statusOf({ method, path }: Route, who: Who): Promise<number> {
  const visitor = visitors[who];
  const at = `/console${path.replaceAll(/:\w+/g, (name) => encodeURIComponent(params[name]!))}`;
  if (method === "get") return (await visitor.get(at)).status;
  const page = await (who === "form of another session" ? visitors.viewer : visitor).get("/console");
  const fields = page.status === 200 ? { formToken: formTokenIn(page) } : {};
  const origin = who === "form of another site" ? "https://evil.example" : undefined;
  return (await visitor.post(at, fields, origin)).status;
}

/** Returns the statuses with which a route may answer: as the visitor is permitted, or the refusal. */
function statusesOf({ roles, method, path, isForLenders }: Route, who: Who): readonly number[] {
  if (method === "post" && who === "form of another site") return [403];
  // The service of this test has no sign-in by a provider.
  if (path.startsWith("/oidc")) return [404];
  if (roles === "none") return [200, 410];
  if (who === "nobody" || who === "revoked session" || who === "expired link") return [401];
  if (method === "post" && who === "form of another session") return [403];
  if (who === "the lender's staff") return isForLenders ? [200, 303, 422] : [404];
  if (who === "another lender's staff")
    return isForLenders && !/:(?:lender|loan|event|run|upload)/.test(path) ? [200, 303, 422] : [404];
  const has: readonly ConsoleRole[] = OPERATOR_ROLES.some((role) => role === who)
    ? [who as ConsoleRole]
    : CONSOLE_ROLES;
  // A form without its id and its values is shown again, with 422.
  return roles.some((role) => has.includes(role)) ? [200, 303, 422] : [403];
}

const CELLS = ROUTES.flatMap((route) => VISITORS.map((who) => [route.name, who, route] as const)).toSorted(
  // The sign-out ends a session, so it comes last.
  ([one], [other]) => Number(one.endsWith("/sign-out")) - Number(other.endsWith("/sign-out")),
);

test.each(CELLS)("%s answers %s as its roles say", async (_, who, route) => {
  expect(statusesOf(route, who)).toContain(await statusOf(route, who));
});

test("only the sign-in and its end need no session", () => {
  expect(ROUTES.filter(({ roles }) => roles === "none").map(({ name }) => name)).toEqual([
    "GET /console/sign-in/:token",
    "POST /console/sign-in",
    "GET /console/signed-out",
    "GET /console/oidc",
    "GET /console/oidc/callback",
    "GET /console/oidc/sign-out",
    "GET /console/oidc/end-session",
    "GET /console/oidc/signed-out",
  ]);
});

test("each form that changes something needs the role operator or money", () => {
  const forms = ROUTES.filter(({ method, path }) => method === "post" && !/^\/sign-(in|out)$/.test(path));
  expect(forms.length).toBeGreaterThan(0);
  for (const { name, roles } of forms)
    expect({ name, isForViewers: roles.includes("viewer") }).toEqual({ name, isForViewers: false });
});

test("a lender's staff reaches these pages and forms, and no other", () => {
  expect(ROUTES.filter(({ isForLenders }) => isForLenders).map(({ name }) => name)).toEqual([
    "POST /console/sign-out",
    "GET /console",
    "GET /console/search",
    "GET /console/cases",
    "GET /console/cases/:lender/:loan",
    "GET /console/payments",
    "GET /console/reconciliations",
    "GET /console/reconciliations/:lender/:run",
    "GET /console/fees",
    "GET /console/fees.csv",
    "GET /console/connection",
    "POST /console/connection/:lender/callback-test",
    "GET /console/connection/:lender/mint-test",
    "POST /console/connection/:lender/mint-test",
    "GET /console/connection/:lender/settings",
    "POST /console/connection/:lender/settings",
    "GET /console/connection/:lender/keys",
    "POST /console/connection/:lender/keys",
    "GET /console/connection/:lender/keys/:key/sign",
    "POST /console/connection/:lender/keys/:key/sign",
    "GET /console/connection/:lender/keys/:key/retire",
    "POST /console/connection/:lender/keys/:key/retire",
    "GET /console/connection/:lender/keys/:key/revoke",
    "POST /console/connection/:lender/keys/:key/revoke",
    "GET /console/sandbox",
    "POST /console/sandbox",
    "GET /console/requests",
    "GET /console/requests/debugger",
    "GET /console/deliveries",
    "GET /console/deliveries/:event",
    "POST /console/deliveries/:event/replay",
    "GET /console/uploads",
    "POST /console/uploads",
    "GET /console/uploads/:lender/:upload",
    "GET /console/uploads/:lender/:upload/rejected.csv",
    "POST /console/uploads/:lender/:upload/check",
    "POST /console/uploads/:lender/:upload/apply",
  ]);
});

test.each(["/console/unknown", "/console/today", "/console/sign-in", "/console/search/x"])(
  "%s answers 401 without a session",
  async (path) => {
    expect(await aVisitor(service).get(path)).toMatchObject({ status: 401 });
  },
);

test("the console and the operators have the same roles", () => {
  expect(CONSOLE_ROLES).toEqual(OPERATOR_ROLES);
});
