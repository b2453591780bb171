import { CONSOLE_ROLES, CONSOLE_ROUTES } from "@collections/console";
import { publicId } from "@collections/database";
import { OPERATOR_ROLES } from "@collections/operators";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aSignedInVisitor, aVisitor, formTokenIn, type Visitor } from "./fixtures/visitor.ts";

/** The sender of a request: an operator with one role, or a visitor without a session. */
const VISITORS = [...OPERATOR_ROLES, "nobody"] as const;

const ROUTES = CONSOLE_ROUTES.map((route) => ({
  ...route,
  name: `${route.method.toUpperCase()} /console${route.path}`,
}));

let service: TestService;

let lenderCode: string;
let personId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
  lenderCode = lender.code;
  personId = publicId("fp", (await aFieldPartner(service)).id);
});

/** Sends a valid request for a route. Returns its status. */
async function statusOf({ method, path }: (typeof ROUTES)[number], visitor: Visitor): Promise<number> {
  const named = path
    .replace(":token", "unknown")
    .replace(":lender", lenderCode)
    .replace(":loan", "LN-1")
    .replace(":person", personId);
  const at = `/console${named}`;
  if (method === "get") return (await visitor.get(at)).status;
  const page = await visitor.get("/console");
  const fields = page.status === 200 ? { formToken: formTokenIn(page) } : {};
  return (await visitor.post(at, fields)).status;
}

/** Returns the statuses with which a route may answer this visitor: its answer, or its refusal. */
function statusesOf({ roles }: (typeof ROUTES)[number], who: (typeof VISITORS)[number]): readonly number[] {
  if (roles === "none") return [200, 410];
  if (who === "nobody") return [401];
  return roles.includes(who) ? [200, 303] : [403];
}

test.each(ROUTES.flatMap((route) => VISITORS.map((who) => [route.name, who, route] as const)))(
  "%s answers %s as its roles say",
  async (_, who, route) => {
    const visitor = who === "nobody" ? aVisitor(service) : await aSignedInVisitor(service, [who]);
    const status = await statusOf(route, visitor);
    expect(statusesOf(route, who)).toContain(status);
  },
);

test("only the sign-in and its end need no session", () => {
  expect(ROUTES.filter(({ roles }) => roles === "none").map(({ name }) => name)).toEqual([
    "GET /console/sign-in/:token",
    "POST /console/sign-in",
    "GET /console/signed-out",
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
