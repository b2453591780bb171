import { changeLender } from "@collections/flows";
import { actsOn, type AuditEntry, keysOf, lenderByCode, mintRegistration } from "@collections/lenders";
import { endpointOf } from "@collections/webhooks";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { firstKeyOf } from "./fixtures/first-key.ts";
import { aLenderVisitor, aSignedInVisitor, fieldsIn, fieldsOfForm, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let staff: Visitor;
let path: string;

const SECRET = "X-Mint-Token: a-secret-of-the-lender";

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service, { technicalContacts: ["dev@acme.example"] });
  staff = await aLenderVisitor(service, lender.code);
  path = `/console/connection/${lender.code}/settings`;
});

const em = () => service.app.database.em();

async function idOfLender(): Promise<string> {
  return (await lenderByCode(em(), lender.code))!.id;
}

/** Sends the form of the settings with other values. */
async function save(values: Record<string, string>, visitor = staff) {
  const page = await visitor.get(path);
  return visitor.post(path, { ...fieldsIn(page), ...valuesIn(page.text), ...values });
}

/** Returns the values of the fields as a browser would send them. */
function valuesIn(text: string): Record<string, string> {
  const value = (name: string) => new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(text)?.[1] ?? "";
  return {
    callbackUrl: value("callbackUrl"),
    mintLinkUrl: value("mintLinkUrl"),
    technicalContacts: value("shown_technicalContacts").replaceAll("\n", "\r\n"),
  };
}

async function lastAct(): Promise<AuditEntry> {
  return (await actsOn(em(), await idOfLender(), 1))[0]!;
}

describe("the settings of a lender", () => {
  test("are changed by the lender's staff, and audited", async () => {
    const callbackUrl = lender.callbackUrl.replace("/hooks", "/hooks/v2");
    const contacts = "dev@acme.example\r\nops@acme.example";
    const answer = await save({
      callbackUrl: `${callbackUrl}?v=2`,
      technicalContacts: contacts,
      reason: "New gateway",
    });
    expect(answer.headers.get("location")).toBe(`/console/connection?lender=${lender.code}&done=settings`);
    expect((await endpointOf(em(), await idOfLender()))?.url).toBe(`${callbackUrl}?v=2`);
    expect(await lastAct()).toMatchObject({
      act: "lender.updated",
      actor: `operator:Ravi of ${lender.code}`,
      reason: "New gateway",
      data: {
        changes: {
          callbackUrl: { from: lender.callbackUrl, to: `${callbackUrl}?v=2` },
          technicalContacts: { from: ["dev@acme.example"], to: ["dev@acme.example", "ops@acme.example"] },
        },
      },
    });
    const shown = await staff.get(answer.headers.get("location")!);
    expect(shown.text).toContain("The settings are saved.");
    expect(shown.text).toContain("ops@acme.example");
  });

  test("never show the header of mint calls", async () => {
    expect(await save({ mintAuthHeader: SECRET })).toMatchObject({ status: 303 });
    expect((await lastAct()).data).toEqual({ fields: ["mintAuthHeader"], changes: { mintAuthHeader: "changed" } });
    const registered = await mintRegistration(em(), service.app.vault, await idOfLender());
    expect(registered?.authHeader).toEqual({ name: "X-Mint-Token", value: "a-secret-of-the-lender" });
    const refused = await save({ mintAuthHeader: SECRET, callbackUrl: "ftp://acme.example" });
    expect(refused.status).toBe(422);
    for (const { text } of [refused, await staff.get(path), await staff.get("/console/connection")]) {
      expect(text).not.toContain("a-secret-of-the-lender");
    }
  });

  test("keep the header unless it is removed", async () => {
    await save({ mintAuthHeader: SECRET });
    await save({ reason: "Nothing" });
    expect((await lenderByCode(em(), lender.code))?.hasMintAuthHeader).toBe(true);
    await save({ removeMintAuthHeader: "on" });
    expect((await lenderByCode(em(), lender.code))?.hasMintAuthHeader).toBe(false);
  });

  test.each([
    ["callbackUrl", "http://acme.example/hooks", "Callback URL: "],
    ["callbackUrl", "https://10.0.0.1/hooks", "Callback URL: "],
    ["mintLinkUrl", "javascript:alert(1)", "Mint URL: "],
    ["technicalContacts", "nobody", "Technical contacts: "],
  ])("refuse %s %s, and keep what was typed", async (field, value, problem) => {
    const before = await lenderByCode(em(), lender.code);
    const answer = await save({ [field]: value, reason: "My reason" });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(problem);
    expect(answer.text).toContain(value);
    expect(answer.text).toContain('value="My reason"');
    expect(await lenderByCode(em(), lender.code)).toEqual(before);
  });

  test("are refused when nothing is changed", async () => {
    const answer = await save({});
    expect(answer).toMatchObject({
      status: 422,
      text: expect.stringContaining("Change at least one setting.") as string,
    });
  });

  test("do not overwrite the change of another person", async () => {
    const page = await staff.get(path);
    const { vault, config } = service.app;
    const onboarding = { vault, allow: config.outboundAllow, environment: config.environment };
    const mintLinkUrl = "https://acme.example/mint/v2";
    await changeLender(em(), onboarding, await idOfLender(), { mintLinkUrl, technicalContacts: ["new@acme.example"] });
    const typed = { ...fieldsIn(page), ...valuesIn(page.text), mintLinkUrl: "https://acme.example/mint/v3" };
    const answer = await staff.post(path, typed);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(`Mint URL was changed while you edited it, and is now ${mintLinkUrl}.`);
    expect((await lenderByCode(em(), lender.code))?.mintLinkUrl).toBe(mintLinkUrl);
    const again = { ...fieldsIn(answer), ...valuesIn(answer.text) };
    expect(again).toMatchObject({ mintLinkUrl: "https://acme.example/mint/v3", technicalContacts: "new@acme.example" });
    expect(await staff.post(path, again)).toMatchObject({ status: 303 });
    expect(await lenderByCode(em(), lender.code)).toMatchObject({
      mintLinkUrl: "https://acme.example/mint/v3",
      technicalContacts: ["new@acme.example"],
    });
  });

  test("are changed once by two concurrent people", async () => {
    const page = await staff.get(path);
    const operator = await aSignedInVisitor(service, ["operator"]);
    const other = await operator.get(path);
    const forms = [
      [staff, page, "https://acme.example/mint/a"],
      [operator, other, "https://acme.example/mint/b"],
    ] as const;
    const answers = await Promise.all(
      forms.map(([who, from, mintLinkUrl]) =>
        who.post(path, { ...fieldsIn(from), ...valuesIn(from.text), mintLinkUrl }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 422]);
  });

  test("have no forms for a viewer", async () => {
    const viewer = await aSignedInVisitor(service, ["viewer"]);
    const { text } = await viewer.get(`/console/connection?lender=${lender.code}`);
    expect(text).toContain("API keys");
    expect(text).not.toMatch(/Change the settings|Send a test call|Create a key|Retire/);
  });
});

describe("a test call", () => {
  /** Sends the form that makes a test call, as the staff of a lender with endpoints of its own. */
  async function callAs(own: Awaited<ReturnType<typeof aLender>>) {
    const visitor = await aLenderVisitor(service, own.code);
    const at = `/console/connection/${own.code}/callback-test`;
    const form = fieldsOfForm(await visitor.get("/console/connection"), at);
    return { visitor, at, form, answer: await visitor.post(at, form) };
  }

  test("to the callback shows its answer once", async () => {
    const own = await aLender(service);
    const { visitor, at, form, answer } = await callAs(own);
    expect(answer.text).toContain("The callback has acknowledged the ping");
    expect(answer.text).toContain("X-Service-Signature");
    expect(await actsOn(em(), (await lenderByCode(em(), own.code))!.id, 2)).toMatchObject([
      { act: "endpoint.probed", data: { delivered: true }, actor: `operator:Ravi of ${own.code}` },
      { act: "endpoint.probe_started" },
    ]);
    const repeat = await visitor.post(at, form);
    expect(repeat.headers.get("location")).toBe(`/console/connection?lender=${own.code}`);
    expect(own.deliveries).toHaveLength(1);
  });

  test("to the callback names the cause of a failure", async () => {
    const own = await aLender(service);
    own.receiverBehaviour = "reset";
    const { answer } = await callAs(own);
    expect(answer.text).toContain("The callback has not acknowledged the ping");
    expect(answer.text).toMatch(/Cause:[^]*Remedy:/);
  });

  test("to the mint endpoint masks the borrower's phone", async () => {
    const own = await aLender(service);
    await own.importCases([aRow("LN-1", { borrowerPhone: "+919811112222" })]);
    const visitor = await aLenderVisitor(service, own.code);
    const at = `/console/connection/${own.code}/mint-test`;
    const sent = { ...fieldsIn(await visitor.get(at)), loan: " LN-1 ", amount: "12.50" };
    const answer = await visitor.post(at, sent);
    expect(answer.text).toContain("A link was minted");
    expect(answer.text).not.toContain("9811112222");
    expect(answer.text).not.toContain(own.mintAuth.value);
    expect(own.mints).toHaveLength(1);
    expect((await actsOn(em(), (await lenderByCode(em(), own.code))!.id, 1))[0]).toMatchObject({
      act: "endpoint.mint_tested",
      data: { loan: "LN-1", amount: "12.50" },
    });
  });

  test.each([
    ["LN-404", "1", "There is no case of the loan LN-404."],
    ["LN-1", "1.005", "Amount: "],
    ["LN-1", "<b>", "Amount: "],
    ["", "1", "Give the loan"],
  ])("to the mint endpoint refuses loan %j with amount %j", async (loan, amount, problem) => {
    const own = await aLender(service);
    await own.importCases([aRow("LN-1")]);
    const visitor = await aLenderVisitor(service, own.code);
    const at = `/console/connection/${own.code}/mint-test`;
    const answer = await visitor.post(at, { ...fieldsIn(await visitor.get(at)), loan, amount });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(problem);
    expect(answer.text).toContain(`value="${amount.replace("<b>", "&lt;b&gt;")}"`);
    expect(own.mints).toHaveLength(0);
  });

  test("is refused above the limit of the lender", async () => {
    const settings = { DATABASE_URL: service.databaseUrl, RATE_LIMITS: "webhooks-test=1" };
    const limited = await startTestService({ hasWorker: false, settings });
    const own = await aLender(service);
    const visitor = await aLenderVisitor(limited, own.code);
    const at = `/console/connection/${own.code}/callback-test`;
    const send = async () => visitor.post(at, fieldsOfForm(await visitor.get("/console/connection"), at));
    const answers = [await send(), await send()];
    expect(answers.map(({ status }) => status)).toEqual([200, 422]);
    expect(answers[1]!.text).toContain("The limit is 1 calls a minute for a lender.");
  });
});

describe("an API key", () => {
  const at = () => `/console/connection/${lender.code}/keys`;

  test("shows its secret once", async () => {
    const form = fieldsIn(await staff.get(at()));
    const { status, text, headers } = await staff.post(at(), form);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    const [, keyId] = /(lk_[0-9a-z]+)<\/pre>/.exec(text)!;
    const [, secret] = /<pre aria-labelledby="secret">([^<]+)</.exec(text)!;
    expect(await lastAct()).toMatchObject({ act: "key.created", data: { keyId } });
    expect(JSON.stringify(await lastAct())).not.toContain(secret);
    const repeat = await staff.post(at(), form);
    expect(repeat).toMatchObject({ status: 303 });
    expect(repeat.headers.get("location")).toBe(`/console/connection?lender=${lender.code}`);
    const shown = await staff.get(repeat.headers.get("location")!);
    expect(shown.text).toContain(keyId);
    expect(shown.text).not.toContain(secret);
  });

  test("is created once by concurrent repeats of a form", async () => {
    const form = fieldsIn(await staff.get(at()));
    const before = await keysOf(em(), await idOfLender());
    const answers = await Promise.all([1, 2, 3].map(() => staff.post(at(), form)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 303, 303]);
    expect(await keysOf(em(), await idOfLender())).toHaveLength(before.length + 1);
  });

  test("is retired at a local time of the lender", async () => {
    const [key] = await keysOf(em(), await idOfLender());
    const form = `${at()}/${key!.id}/retire`;
    const fields = { ...fieldsIn(await staff.get(form)), at: "2126-12-24T15:30", reason: "Yearly change" };
    expect(await staff.post(form, fields)).toMatchObject({ status: 303 });
    const [retired] = await keysOf(em(), await idOfLender());
    expect(retired).toMatchObject({ state: "retiring", retiresAt: new Date("2126-12-24T10:00:00Z") });
    expect(await lastAct()).toMatchObject({ act: "key.retiring", reason: "Yearly change" });
  });

  test.each([
    ["", "Expected a local time"],
    ["2020-01-01T00:00", "Expected a time in the future"],
  ])("is not retired at %j", async (time, problem) => {
    const [key] = await keysOf(em(), await idOfLender());
    const form = `${at()}/${key!.id}/retire`;
    const answer = await staff.post(form, { ...fieldsIn(await staff.get(form)), at: time, reason: "Typed" });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(problem) as string });
    expect(answer.text).toContain('value="Typed"');
  });

  test("signs webhooks when a person chooses it", async () => {
    const keys = await keysOf(em(), await idOfLender());
    const { id } = keys.find(({ state, signing }) => state === "active" && !signing)!;
    const form = `${at()}/${id}/sign`;
    expect(await staff.post(form, fieldsIn(await staff.get(form)))).toMatchObject({ status: 303 });
    const after = await keysOf(em(), await idOfLender());
    expect(after.find(({ signing }) => signing)).toMatchObject({ id });
  });

  test("is revoked, but not the last one", async () => {
    const own = await aLender(service);
    const visitor = await aLenderVisitor(service, own.code);
    const keys = `/console/connection/${own.code}/keys`;
    const form = `${keys}/${await firstKeyOf(service, own.code)}/revoke`;
    const revoke = async () => visitor.post(form, { ...fieldsIn(await visitor.get(form)), reason: "Leaked" });
    const last = await revoke();
    expect(last).toMatchObject({ status: 422, text: expect.stringContaining("last valid key") as string });
    await visitor.post(keys, fieldsIn(await visitor.get(keys)));
    expect(await revoke()).toMatchObject({ status: 303 });
    const { id } = (await lenderByCode(em(), own.code))!;
    expect((await keysOf(em(), id)).map(({ state }) => state).toSorted()).toEqual(["active", "revoked"]);
  });

  test("of another lender is not found", async () => {
    const other = await aLender(service);
    const keyId = await firstKeyOf(service, other.code);
    const form = `${at()}/${keyId}/revoke`;
    const fields = fieldsIn(await staff.get(at()));
    expect(await staff.get(form)).toMatchObject({ status: 404 });
    expect(await staff.post(form, { ...fields, reason: "Tried" })).toMatchObject({ status: 404 });
    const { id } = (await lenderByCode(em(), other.code))!;
    expect((await keysOf(em(), id))[0]).toMatchObject({ state: "active" });
  });
});
