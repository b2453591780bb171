import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { beforeAll, expect, test } from "vitest";
import { callsStage } from "../fixtures/calls-stage.ts";
import { startTestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

interface Call {
  readonly title: string;
  /** The arguments of each command. */
  readonly commands: readonly string[][];
}

/**
 * For each call of docs/operations.md: what each of its commands prints, and its exit code unless that is 0. The calls
 * are made in this order, on one stage.
 */
const ANSWERS: Readonly<Record<string, readonly (RegExp | { readonly code: number; readonly says: RegExp })[]>> = {
  "The borrower has paid": [/payment +ACME.*LN-1001[^]*payment show ACME LN-1001 UTR4711/, /UTR4711[^]*1,000\.00/],
  "no webhooks since nine": [/1 failure in a row[^]*500/, /retrying/, { code: 1, says: /500/ }],
  "Asha has left": [
    /Asha Rao +98•••••091 +active +4/,
    /open cases +4[^]*to pay out +ACME: 125\.00 INR/,
    /Ravi Iyer +4 +17,000\.00/,
    /Ravi Iyer +4 /,
    /Every session has ended/,
  ],
  "on the wrong loan": [/LN-1003[^]*nothing was changed/, /LN-1003/],
  "cheque has bounced": [/nothing was changed/, /Reversed +0\.00 → 1,000\.00/, /RET-1[^]*bounced/],
  "214 payments, and yours 213": [
    { code: 6, says: /UTR4799/ },
    { code: 6, says: /UTR4799/ },
  ],
  "door at 21:30": [/case +ACME/, /visit +Asha Rao .*promise to pay[^]*m from the address/],
  "which share": [/EARNING[^]*Asha Rao[^]*125\.00/],
  "today going": [/payments +6: 9,250\.00 INR[^]*reversals +2: 2,000\.00 INR[^]*2 unassigned open cases/],
  "promises are due": [/LN-1001/],
  "assigned to nobody": [/LN-1005[^]*LN-1006|LN-1006[^]*LN-1005/, /Meera Nair +1 .*\n.*Ravi Iyer +1 /],
  "looked at this borrower": [/LN-1001/, /contact seen +by Asha Rao/, /contact\.revealed +Asha Rao/],
  "settings of this lender": [
    new RegExp(`lender\\.updated +${userInfo().username} +commissionPercent 2\\.5 → 3$`, "m"),
  ],
  "owe to whom": [/Asha Rao.*125\.00/, /all +INR +125\.00/],
  "new SIM": [/Ravi Iyer +98•••••092 +active +4/, /Ravi Iyer now has the phone 98•••••099/],
};

const calls = callsOf(readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8"));
/** The values of this test by what the page has in their place. */
const values = new Map<string, string>();

let cli: Cli;

beforeAll(async () => {
  const service = await startTestService({ settings: { WEBHOOK_LADDER: "0s,1h" } });
  const stage = await callsStage(service);
  cli = stage.cli;
  const { asha, ravi, meera } = stage.people;
  for (const [written, value] of [
    ["2026-11-26", stage.yesterday],
    ["2026-12-03", stage.promisedDay],
    ["fp_0192…", asha],
    ["fp_0193…", ravi],
    ["fp_0194…", meera],
    ["payments.csv", stage.paymentsFile],
  ] as const)
    values.set(written, value);
});

test("docs/operations.md has fifteen calls, and this test knows the answers to each", () => {
  expect(calls).toHaveLength(15);
  const known = Object.entries(ANSWERS);
  expect(calls.map(({ title }, place) => title.includes(known[place]?.[0] ?? "?"))).toEqual(calls.map(() => true));
  expect(known.map(([, answers]) => answers.length)).toEqual(calls.map(({ commands }) => commands.length));
});

test.each(Object.entries(ANSWERS))(
  "the commands of the call '%s' in docs/operations.md print the expected answers",
  async (words, answers) => {
    const { commands } = calls.find(({ title }) => title.includes(words))!;
    for (const [place, given] of commands.entries()) {
      const answer = answers[place]!;
      const { code, says } = answer instanceof RegExp ? { code: 0, says: answer } : answer;
      const ran = await cli(...given.map(filledIn));
      const text = `${given.join(" ")}\n${ran.stdout}\n${ran.stderr}`;
      expect(ran.code, text).toBe(code);
      expect(ran.stdout + ran.stderr, text).toMatch(says);
    }
  },
);

/** Returns the sections under "Fifteen calls", with the commands in their code blocks. */
function callsOf(page: string): Call[] {
  const section = page.split("\n## Fifteen calls\n")[1]!.split("\n## ")[0]!;
  const sections = section.split(/^### /m).slice(1);
  return sections.map((text) => {
    const [title = ""] = text.split("\n");
    const block = /```bash\n([^]*?)```/.exec(text)?.[1] ?? "";
    const lines = block.split("\n").filter((line) => line.startsWith("pnpm collections "));
    return { title, commands: lines.map((line) => argumentsOf(line).slice(2)) };
  });
}

/** Splits a command line at blanks, except inside double quotes. */
function argumentsOf(line: string): string[] {
  return [...line.replace("--since 09:00", "--since 1h").matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain!,
  );
}

function filledIn(argument: string): string {
  return [...values].reduce((text, [name, value]) => text.replaceAll(name, value), argument);
}
