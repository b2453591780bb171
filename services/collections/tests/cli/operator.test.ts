import { userInfo } from "node:os";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli, Settings } from "../fixtures/processes.ts";

let service: TestService;
let cli: Cli;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = cliWith({ PUBLIC_URL: service.url });
});

function cliWith(settings: Settings): Cli {
  return commandsInProcess({ DATABASE_URL: service.databaseUrl, ...settings });
}

/** Signs in by a link, as the button does. */
function signIn(url: string): Promise<Response> {
  const body = new URLSearchParams({ link: new URL(url).pathname.split("/").at(-1)! });
  const headers = { Origin: service.url };
  return fetch(`${service.url}/console/sign-in`, { method: "POST", body, headers, redirect: "manual" });
}

describe("`operator link`", () => {
  test("prints a link that signs in once", async () => {
    const { url, expiresAt } = (await cli.json("operator", "link", "--name", "Asha")) as Record<string, string>;
    expect(url).toMatch(new RegExp(`^${service.url}/console/sign-in/opl_[\\w-]{43}$`));
    expect(Date.parse(expiresAt!)).toBeGreaterThan(Date.now());
    expect(await fetch(url!)).toMatchObject({ status: 200 });
    expect([(await signIn(url!)).status, (await signIn(url!)).status]).toEqual([303, 410]);
    const { stdout } = await cli("operator", "link", "--name", "Ravi", "--role", "viewer");
    expect(stdout).toMatch(/^http.*\nThe link signs Ravi in once, until /);
  });

  test("needs --role in production, and PUBLIC_URL for its origin", async () => {
    const settings = { ENVIRONMENT: "live", CONSOLE: "on", PUBLIC_URL: "https://desk.example", PUBLIC_BASE_PATH: "/d" };
    const live = cliWith(settings);
    expect(await live("operator", "link", "--name", "Asha")).toMatchObject({
      code: 2,
      stderr: "Give --role: ENVIRONMENT is live, and only in a sandbox a link has all roles.\n",
    });
    const { url } = await live.json("operator", "link", "--name", "Asha", "--role", "viewer", "money");
    expect(url).toMatch(/^https:\/\/desk\.example\/d\/console\/sign-in\/opl_/);
  });

  test("is refused without a console, and for a wrong name or role", async () => {
    const off = cliWith({ ENVIRONMENT: "live" });
    expect(await off("operator", "link", "--name", "Asha", "--role", "viewer")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("set CONSOLE=on") as string,
    });
    expect(await cli("operator", "link", "--name", " ")).toMatchObject({ code: 1 });
    expect(await cli("operator", "link", "--name", "Asha", "--role", "admin")).toMatchObject({ code: 2 });
  });
});

describe("`operator list` and `operator revoke`", () => {
  test("list sessions and end them", async () => {
    for (const _ of [1, 2]) {
      const { url } = await cli.json("operator", "link", "--name", "Lata", "--role", "viewer");
      await signIn(String(url));
    }
    const { operators } = (await cli.json("operator", "list")) as { operators: { id: string; name: string }[] };
    const [newest] = operators;
    expect(newest).toMatchObject({ id: expect.stringMatching(/^ses_/) as string, name: "Lata", roles: ["viewer"] });
    const one = await cli.json("operator", "revoke", "Lata", "--session", newest!.id, "--reason", "Lost laptop");
    expect(one).toEqual({ name: "Lata", sessions: 1, links: 0 });
    await cli.json("operator", "link", "--name", "Lata");
    expect(await cli.json("operator", "revoke", "Lata")).toEqual({ name: "Lata", sessions: 1, links: 1 });
    expect(await cli("operator", "revoke", "Lata")).toMatchObject({
      code: 3,
      stderr: "There is no open session and no unused link of the operator Lata.\n",
    });
    expect((await cli("operator", "list")).stdout).not.toContain("Lata");
  });
});

test("`audit list` shows who created links, signed in and revoked", async () => {
  const { entries } = (await cli.json("audit", "list", "--act", "operator.")) as { entries: object[] };
  const by = `operator:${userInfo().username}`;
  expect(entries).toContainEqual(
    expect.objectContaining({ operator: "Lata", act: "operator.revoked", by, reason: "Lost laptop" }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ act: "operator.signed_in", by: "operator:Lata" }));
  expect(entries).toContainEqual(expect.objectContaining({ operator: "Asha", act: "operator.link_created", by }));
  expect(JSON.stringify(entries)).not.toMatch(/op[ls]_[\w-]{43}/);
  const ofAsha = (await cli.json("audit", "list", "--by", "Asha")) as { entries: object[] };
  expect(ofAsha.entries).toEqual([expect.objectContaining({ act: "operator.signed_in", operator: "Asha" })]);
});
