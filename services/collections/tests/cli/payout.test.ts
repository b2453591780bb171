import { parsePublicId, publicId } from "@collections/database";
import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import type { Cli } from "../fixtures/processes.ts";

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const TODAY = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format();

let service: TestService;
let lenders: Awaited<ReturnType<typeof aLender>>[];
let cli: Cli;
let fieldPartnerId: string;
let app: AppClient;
let loans = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lenders = [await aLender(service), await aLender(service)];
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

beforeEach(async () => {
  const { id, accessToken } = await aFieldPartner(service);
  fieldPartnerId = publicId("fp", id);
  app = new AppClient(service.url, accessToken);
});

/** Credits the field partner with 125 for a payment at this lender: 2.5 % of 5,000. */
async function credit(lender = lenders[0]!): Promise<void> {
  const loan = `LN-${(loans += 1)}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, parsePublicId("fp", fieldPartnerId)!);
  await lender.confirm(loan, { amount: 5000, reference: "pay_1", paidAt: new Date().toISOString(), mode: "upi" });
}

/**
 * Returns the arguments of a command that records a payout of 125. If `more` has an `--amount`, that amount replaces
 * 125.
 */
const recordArgs = (reference: string, ...more: string[]) => [
  "payout",
  "record",
  fieldPartnerId,
  "--currency",
  "inr",
  "--reference",
  reference,
  "--paid-on",
  TODAY,
  "--amount",
  "125",
  ...more,
];

async function refusal(...args: string[]) {
  const { code, stdout, stderr } = await cli(...args, "--json");
  const { error } = JSON.parse(stdout) as { error: { code: string; detail: string } };
  expect(stderr).toBe(`${error.detail}\n`);
  return [code, error.code, error.detail];
}

test("a payout is previewed, recorded with its reference, listed and shown, and is visible in the app", async () => {
  for (const lender of [...lenders, lenders[0]!]) await credit(lender);
  const parts = [
    { lenderCode: lenders[0]!.code, amount: "250.00", lines: 2 },
    { lenderCode: lenders[1]!.code, amount: "125.00", lines: 1 },
  ];
  expect(await cli.json("payout", "preview", fieldPartnerId, "--until", TODAY)).toEqual({
    fieldPartnerId,
    until: TODAY,
    asOf: expect.stringMatching(INSTANT) as string,
    payable: [
      {
        currency: "INR",
        amount: "375.00",
        lines: 3,
        lenders: expect.arrayContaining(parts.map((part) => ({ ...part, deducted: "0.00" }))) as object[],
      },
    ],
    carried: [],
  });

  const reference = `UTR ${randomUUID()}`;
  const recorded = await cli.json(...recordArgs(reference, "--amount", "375"));
  const payout = {
    payoutId: expect.stringMatching(/^po_[0-9a-f]{32}$/) as string,
    fieldPartnerId,
    reference,
    paidOn: TODAY,
    until: null,
    currency: "INR",
    amount: "375.00",
    lines: 3,
    recordedAt: expect.stringMatching(/Z$/) as string,
    lenders: expect.arrayContaining(parts) as object[],
  };
  expect(recorded).toEqual({ outcome: "recorded", ...payout });
  expect(await cli.json(...recordArgs(reference, "--amount", "375.00"))).toEqual({ ...recorded, outcome: "repeated" });
  const { outcome: _, ...kept } = recorded;
  expect(await cli.json("payout", "list", "--field-partner", fieldPartnerId)).toEqual({
    payouts: [kept],
    nextCursor: null,
  });
  const shown = await cli.json("payout", "show", reference);
  const line = { amount: "125.00", formula: "2.5% of ₹5,000.00" };
  expect(shown).toMatchObject({ ...kept, earnings: [line, line, line] });
  expect(await cli.json("payout", "show", String(recorded["payoutId"]))).toEqual(shown);
  expect(await cli.json("payout", "preview", fieldPartnerId)).toMatchObject({ payable: [], asOf: null });
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true });

  const { data } = await app.ask(
    "{ earningLines { edges { node { status paidOutAt payout { reference paidOn amount { display } } } } } }",
  );
  const inApp = { reference, paidOn: TODAY, amount: { display: "₹375.00" } };
  expect(data!["earningLines"].edges.map(({ node }: { node: object }) => node)).toEqual(
    [1, 2, 3].map(() => ({ status: "PAID_OUT", paidOutAt: recorded["recordedAt"], payout: inApp })),
  );
});

test("--until with the time of a preview records exactly the previewed amount, even if more was credited since then", async () => {
  await credit();
  const { asOf } = await cli.json("payout", "preview", fieldPartnerId);
  await credit();
  await credit(lenders[1]);
  const reference = `UTR${randomUUID()}`;
  const args = recordArgs(reference, "--until", String(asOf));
  const recorded = await cli.json(...args);
  expect(recorded).toMatchObject({ outcome: "recorded", amount: "125.00", lines: 1, until: asOf });
  expect(await cli.json(...args)).toEqual({ ...recorded, outcome: "repeated" });
  const after = await cli.json("payout", "preview", fieldPartnerId);
  expect(after).toMatchObject({ payable: [{ amount: "250.00" }] });

  // The error message contains a time for --until. It helps an operator who no longer has the time of the preview.
  const [code, refused, detail] = await refusal(...recordArgs(`${reference}-2`));
  expect([code, refused]).toEqual([1, "AMOUNT_DIFFERS"]);
  expect(detail).toMatch(
    /^The credited earnings are 250\.00 INR, and those credited until \S+ are 125\.00\. If that amount was sent, record it with --until \S+Z\.$/,
  );
  const instant = /--until (\S+Z)/.exec(String(detail))![1]!;
  expect(await cli.json(...recordArgs(`${reference}-2`, "--until", instant))).toMatchObject({ outcome: "recorded" });
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true });
});

test("payout commands without --json print readable text", async () => {
  await credit();
  const { code } = lenders[0]!;
  const preview = await cli("payout", "preview", fieldPartnerId);
  expect(preview).toMatchObject({ code: 0, stderr: "" });
  expect(preview.stdout.split("\n").slice(1, 3)).toEqual([
    `${code}  INR       125.00  1`,
    `${"all".padEnd(code.length)}  INR       125.00  1`,
  ]);
  const asOf =
    /\nAs of .+ Asia\/Kolkata \((\S+Z)\): after sending the money, run payout record with --until \1 and the sent --amount\.\nNext: payout record fp_\w+ --currency INR --amount 125\.00 --until \1 --reference <bank-reference> --paid-on <day>\n$/;
  expect(preview.stdout).toMatch(asOf);
  const reference = `UTR${randomUUID()}`;
  const { stdout } = await cli(...recordArgs(reference, "--until", TODAY));
  expect(stdout).toMatch(/^Recorded\.\npo_[0-9a-f]{32}: 125\.00 INR to fp_/);
  expect(stdout).toContain(
    `on ${TODAY} by ${reference}, for 1 earning, credited until ${TODAY}.\n  ${code}: 125.00 for 1\n`,
  );
  expect((await cli(...recordArgs(reference, "--until", TODAY))).stdout).toMatch(
    /^This payout was already recorded; nothing was/,
  );
  expect((await cli("payout", "show", reference)).stdout).toMatch(
    /LENDER +LOAN +AMOUNT +FORMULA\n.* 2\.5% of ₹5,000\.00\n$/,
  );
  expect((await cli("payout", "list", "--field-partner", fieldPartnerId)).stdout).toMatch(/^PAYOUT +FIELD PARTNER/);
  const csv = await cli("payout", "list", "--field-partner", fieldPartnerId, "--csv");
  expect(csv.stdout).toMatch(/^\uFEFFpayoutId,fieldPartnerId,paidOn,currency,amount,lines,reference\r\npo_\w{32},fp_/);
});

test("a rejected payout changes nothing, and its error has a code and advice", async () => {
  await credit();
  const unknownId = publicId("fp", randomUUID());
  const reference = `UTR${randomUUID()}`;
  const wrongSum = [
    1,
    "AMOUNT_DIFFERS",
    expect.stringMatching(/^The credited earnings are 125\.00 INR, not 125\.01\. Check/),
  ];
  expect(await refusal(...recordArgs(reference, "--amount", "125.01"))).toEqual(wrongSum);
  const early = [
    1,
    "DATE_TOO_EARLY",
    expect.stringMatching(/^--paid-on .* was credited; the earliest possible day is 2\S+\.$/),
  ];
  expect(await refusal(...recordArgs(reference, "--paid-on", "1926-11-21"))).toEqual(early);
  expect(await refusal(...recordArgs(reference, "--paid-on", "2099-01-01"))).toEqual([
    1,
    "DATE_IN_FUTURE",
    expect.stringMatching(/^--paid-on is in the future/),
  ]);
  expect(await refusal(...recordArgs(reference, "--until", "2099-01-01"))).toEqual([
    1,
    "DATE_IN_FUTURE",
    `--until is in the future; today is ${TODAY}.`,
  ]);
  expect(await refusal(...recordArgs(reference, "--until", "2099-01-01T00:00Z"))).toEqual([
    1,
    "DATE_IN_FUTURE",
    expect.stringMatching(/^--until is in the future; the time now is \S+Z\.$/),
  ]);
  const inYen = recordArgs(reference).map((word) => (word === "inr" ? "JPY" : word));
  expect(await refusal(...inYen)).toEqual([1, "NOTHING_TO_PAY", "Nothing is credited in JPY, only in INR."]);
  const toUnknown = recordArgs(reference).map((word) => (word === fieldPartnerId ? unknownId : word));
  for (const args of [toUnknown, ["payout", "preview", unknownId]]) {
    expect(await refusal(...args)).toEqual([3, "FIELD_PARTNER_NOT_FOUND", `There is no field partner ${unknownId}.`]);
  }
  expect(await refusal("payout", "show", reference)).toEqual([
    3,
    "PAYOUT_NOT_FOUND",
    `There is no payout ${reference}.`,
  ]);
  expect(await cli.json("payout", "preview", fieldPartnerId)).toMatchObject({ payable: [{ amount: "125.00" }] });

  const { payoutId } = await cli.json(...recordArgs(reference));
  expect(await refusal(...recordArgs(reference, "--until", TODAY))).toEqual([
    1,
    "REFERENCE_TAKEN",
    `The reference ${reference} belongs to the payout ${String(payoutId)}, which differs in until; see payout show.`,
  ]);
  expect(await refusal(...recordArgs(`${reference}-2`))).toEqual([1, "NOTHING_TO_PAY", "Nothing is credited in INR."]);
});

test("`payout due` lists every person to whom money is owed, and nobody else", async () => {
  const own = await aLender(service);
  await credit(own);
  await credit(own);
  const name = (
    await service.app.database.pool.query<{ name: string }>(
      "select display_name as name from field_partners.field_partner where id = $1",
      [parsePublicId("fp", fieldPartnerId)],
    )
  ).rows[0]!.name;
  const owed = async () => {
    const seen: Record<string, unknown>[] = [];
    let cursor: string | null = null;
    do {
      const page: Record<string, unknown> = await cli.json(
        "payout",
        "due",
        "--limit",
        "1",
        ...(cursor === null ? [] : ["--cursor", cursor]),
      );
      expect((page["due"] as unknown[]).length).toBeLessThanOrEqual(1);
      seen.push(...(page["due"] as Record<string, unknown>[]));
      cursor = page["nextCursor"] as string | null;
    } while (cursor !== null);
    expect((await cli.json("payout", "due", "--limit", "1000"))["due"]).toEqual(seen);
    return seen.filter((one) => one["fieldPartnerId"] === fieldPartnerId);
  };
  const entry = { fieldPartnerId, displayName: name, state: "active", currency: "INR", amount: "250.00", lines: 2 };
  expect(await owed()).toEqual([entry]);
  const { stdout } = await cli("payout", "due", "--limit", "1000");
  expect(stdout).toMatch(new RegExp(`${fieldPartnerId} +${name} +active +250\\.00 INR +2\n`));
  await cli.json(...recordArgs(`UTR ${randomUUID()}`, "--amount", "250"));
  expect(await owed()).toEqual([]);
});

test("`doctor` warns of field partners who have owed a lender money for 30 days", async () => {
  const lender = await aLender(service);
  await credit(lender);
  await cli.json(...recordArgs(`UTR ${randomUUID()}`));
  const owed = async () => {
    const { problems } = (await cli.json("doctor", "--lender", lender.code)) as { problems: { code: string }[] };
    return problems.filter(({ code }) => code === "DEDUCTIONS_OWED");
  };
  const reversal = { reversalReference: "rev_1", reversedAt: new Date().toISOString(), reason: "bounced" };
  const answer = await lender.reverse(`LN-${loans}`, { reference: "pay_1", ...reversal });
  expect(answer).toMatchObject({ status: 200 });
  expect(await owed()).toEqual([]);
  await service.app.database.pool.query(
    "update earnings.earning set credited_at = credited_at - interval '31 days' where amount_minor < 0",
  );
  const [warning, ...more] = await owed();
  expect(more).toEqual([]);
  expect(warning).toMatchObject({ severity: "warning", lenderCode: lender.code, count: 1 });
  expect(warning).toHaveProperty(
    "detail",
    expect.stringContaining(`125.00 INR are owed by 1 field partner (${fieldPartnerId})`) as string,
  );
  await credit(lender);
  expect(await owed()).toEqual([]);
});

test("`payout list` prints pages of all field partners' payouts", async () => {
  const references = [randomUUID(), randomUUID(), randomUUID()];
  for (const reference of references) {
    await credit();
    await cli.json(...recordArgs(reference));
  }
  const first = await cli.json("payout", "list", "--limit", "2");
  const cursor = String(first["nextCursor"]);
  const second = await cli.json("payout", "list", "--limit", "1", "--cursor", cursor);
  const listed = [...(first["payouts"] as { reference: string }[]), ...(second["payouts"] as { reference: string }[])];
  expect(listed.map(({ reference }) => reference)).toEqual(references.toReversed());
  expect((await cli("payout", "list", "--limit", "2")).stdout).toContain(`More: add --cursor ${cursor}`);
});
