import { publicId } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aSignedInVisitor, fieldsOfForm, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  visitor = await aSignedInVisitor(service, ["operator"]);
});

/** Opens a page with a form, and sends the form with some more values. */
async function sendForm(page: string, values: Record<string, string>) {
  const [path] = page.split("?") as [string];
  return visitor.post(path, { ...fieldsOfForm(await visitor.get(page), path), ...values });
}

async function aPerson(): Promise<string> {
  return publicId("fp", (await aFieldPartner(service)).id);
}

async function aLenderWith(cases: number): Promise<string> {
  const lender = await aLender(service);
  await lender.importCases(Array.from({ length: cases }, (_, place) => aRow(`S-${place}`)));
  return lender.code;
}

const json = (...args: string[]) => commandsInProcess({ DATABASE_URL: service.databaseUrl }).json(...args);

describe("the forms that suspend and resume a field partner", () => {
  test("do what the commands do, and the audit names the operator", async () => {
    const person = await aPerson();
    const path = `/console/field-partners/${person}`;
    const suspended = await sendForm(`${path}/suspend`, { reason: "Has left" });
    expect(suspended.headers.get("location")).toBe(`${path}/suspend?done=suspend`);
    expect((await visitor.get(`${path}/suspend?done=suspend`)).text).toContain("is suspended.");
    expect((await visitor.get(path)).text).toContain(`${path}/resume"`);
    expect(await json("field-partner", "show", person)).toMatchObject({ state: "suspended" });
    await sendForm(`${path}/resume`, { reason: "Is back" });
    expect(await json("field-partner", "show", person)).toMatchObject({ state: "active" });
    const { entries } = await json("audit", "list", "--act", "field_partner.");
    expect((entries as { by: string; reason: string }[]).slice(0, 2)).toMatchObject([
      { by: "operator:Asha", reason: "Is back" },
      { by: "operator:Asha", reason: "Has left" },
    ]);
  });

  test("name the open cases of a suspended person", async () => {
    const code = await aLenderWith(1);
    const { id } = await aFieldPartner(service);
    await assign(service, code, "S-0", id);
    const path = `/console/field-partners/${publicId("fp", id)}/suspend`;
    const { headers } = await sendForm(path, { reason: "Has left" });
    expect((await visitor.get(headers.get("location")!)).text).toContain("still has 1 open case");
  });

  test("need a reason, and a person who exists", async () => {
    const person = await aPerson();
    const answer = await sendForm(`/console/field-partners/${person}/suspend`, { reason: " " });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("Give a reason.") });
    expect(await json("field-partner", "show", person)).toMatchObject({ state: "active" });
    expect(await visitor.get(`/console/field-partners/fp_${"0".repeat(32)}/suspend`)).toMatchObject({ status: 404 });
  });
});

describe("the form that spreads unassigned cases", () => {
  const spreadPath = (code: string, people: readonly string[], by = "amount") =>
    `/console/cases/spread?${new URLSearchParams({ lender: code, by, people: people.join("\r\n") }).toString()}`;

  test("does what its dry run and the command show", async () => {
    const code = await aLenderWith(5);
    const people = [await aPerson(), await aPerson()];
    const planned = await json("case", "assign", code, "--spread", people.join(","), "--by", "amount", "--dry-run");
    const page = spreadPath(code, people);
    expect((await visitor.get(page)).text).toContain("Assign 5 cases</button>");
    const answer = await sendForm(page, { reason: "New people" });
    expect(answer.headers.get("location")).toBe(`/console/cases/spread?done=spread&lender=${code}`);
    expect((await visitor.get(answer.headers.get("location")!)).text).toContain("The cases are assigned.");
    for (const { fieldPartnerId, cases } of planned["fieldPartners"] as { fieldPartnerId: string; cases: number }[])
      expect((await json("case", "list", "--lender", code, "--holder", fieldPartnerId))["cases"]).toHaveLength(cases);
    const { entries } = await json("audit", "list", "--lender", code, "--act", "case.");
    expect((entries as object[])[0]).toMatchObject({ by: "operator:Asha", reason: "New people" });
  });

  test("assigns nothing if the cases have changed since the dry run", async () => {
    const code = await aLenderWith(2);
    const [one, other] = [await aPerson(), await aFieldPartner(service)];
    const page = spreadPath(code, [one]);
    const fields = fieldsOfForm(await visitor.get(page), "/console/cases/spread");
    await assign(service, code, "S-0", other.id);
    const answer = await visitor.post("/console/cases/spread", { ...fields, reason: "New people" });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("The cases have changed") });
    expect(answer.text).toContain("Assign 1 case</button>");
    expect((await json("case", "list", "--lender", code, "--holder", "none"))["cases"]).toHaveLength(1);
  });

  test("spreads once if the form is sent twice at the same time", async () => {
    const code = await aLenderWith(2);
    const fields = fieldsOfForm(await visitor.get(spreadPath(code, [await aPerson()])), "/console/cases/spread");
    const answers = await Promise.all(
      [1, 2].map(() => visitor.post("/console/cases/spread", { ...fields, reason: "" })),
    );
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    const { entries } = await json("audit", "list", "--lender", code, "--act", "case.assign");
    expect(entries).toHaveLength(2);
  });

  test.each([
    ["a name that nobody has", ["Nobody at all"], "No field partner matches “Nobody at all”."],
    ["a name that several people have", ["Asha"], "Several field partners match “Asha”."],
    ["an id that nobody has", [`fp_${"0".repeat(32)}`], "No field partner matches “fp_"],
    ["too many names", Array.from({ length: 51 }, () => "Asha"), "Name at most 50 field partners."],
  ])("refuses %s", async (_, people, problem) => {
    const code = await aLenderWith(1);
    await Promise.all([aPerson(), aPerson()]);
    const { text } = await visitor.get(spreadPath(code, people));
    expect(text).toContain(problem);
    expect(text).not.toContain("Assign 1 case");
  });

  test("refuses a person twice, a suspended person and an unknown rule", async () => {
    const code = await aLenderWith(1);
    const person = await aPerson();
    expect((await visitor.get(spreadPath(code, [person, person]))).text).toContain("A field partner is named twice.");
    expect((await visitor.get(spreadPath(code, [person], "name"))).text).toContain("Choose what is evened out");
    await json("field-partner", "suspend", person, "--reason", "Has left");
    expect((await visitor.get(spreadPath(code, [person]))).text).toContain("is suspended: choose another");
    expect((await visitor.get(spreadPath("NONE", [await aPerson()]))).text).toContain("There is no such lender.");
  });
});
