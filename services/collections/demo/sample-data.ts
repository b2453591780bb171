import { databaseTime, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { createFieldPartner, issueAccessToken } from "@collections/field-partners";
import { assignCases, onboardLender, recordPayout, settlePromises } from "@collections/flows";
import type { LenderTwin } from "@collections/lender-twin";
import { createVault } from "@collections/lenders";
import { dayIn, instantOf } from "@collections/local-time";
import { currency } from "@collections/money";
import { jobsSchema, schemas } from "../src/schemas.ts";
import { readConfig } from "../src/settings/config.ts";
import { EARLIER_WEEKS } from "./earlier-weeks.ts";
import { Phone } from "./phone.ts";
import { importRow, type LenderCode, PHONE, SAMPLE_CASES } from "./sample-cases.ts";
import { type HistoryDeps, LAST_WEEK, PAID_OUT, playHistory, requireStatus } from "./sample-history.ts";
import { type Stage, WHATSAPP_ACCOUNT } from "./stage.ts";
import { TEMPLATES } from "./templates.ts";

const NAME = "Asha Rao";
/** The field partner without cases, to whom the visitor of the console can move cases. */
const COLLEAGUE = { displayName: "Kiran Shinde", phone: "+919810000002" };
const TIME_ZONE = "Asia/Kolkata";

/** `payment_link:en,hi,mr`. Borrowers with other languages get the first one. */
const TEMPLATE_WITH_LANGUAGES = `payment_link:${Object.keys(TEMPLATES["payment_link"]!).join(",")}`;

interface SampleLender {
  readonly code: LenderCode;
  readonly name: string;
  /** The field partner's commission. */
  readonly percent: number;
}

const LENDERS: readonly SampleLender[] = [
  { code: "ACME", name: "Acme Finance", percent: 2.5 },
  { code: "SHAKTI", name: "Shakti Microfinance", percent: 4 },
  { code: "BETA", name: "Beta Bank", percent: 2 },
];

/**
 * Creates three lenders, a field partner who has their thirty cases, one who has none, and the work of the last month.
 * Lenders and phones use the public APIs. What operators do is done by the flows behind their commands, because nine
 * commands would take longer than all the rest. Returns the access token of the field partner who has the cases.
 */
export async function createSampleData(stage: Stage): Promise<string> {
  const database = await createDatabase({
    url: stage.databaseUrl,
    schemas,
    jobsSchema,
    poolMax: 4,
    applicationName: "collections-demo",
  });
  try {
    return await createWith(stage, database);
  } finally {
    await database.close();
  }
}

async function createWith(stage: Stage, database: Database): Promise<string> {
  const em = database.em();
  const time = clockOf(TIME_ZONE, new Date());
  const twins = { ACME: stage.twin, SHAKTI: await stage.startLender(), BETA: await stage.startLender() };
  // Beta Bank's gateway is broken, so that the app has to show the bank's own QR code.
  twins.BETA.mintBehaviour = "error500";
  const { fieldPartnerId, accessToken } = await transaction(em, async (tx) => {
    const { id } = await createFieldPartner(tx, { displayName: NAME, phone: PHONE });
    await createFieldPartner(tx, COLLEAGUE);
    return { fieldPartnerId: id, ...(await issueAccessToken(tx, id)) };
  });
  const caseIds = await Promise.all(
    LENDERS.map((lender) => placeCases(stage, database, { lender, twin: twins[lender.code], fieldPartnerId, time })),
  );
  await stage.connectWhatsApp("ACME");
  const phone = new Phone(stage.serviceUrl, accessToken);
  const deps: HistoryDeps = { phone, twins, cases: await casesOnPhone(phone, new Map(caseIds.flat())), ...time };
  await playHistory(deps, [...EARLIER_WEEKS, ...PAID_OUT]);
  await payOut(database, fieldPartnerId, time.dayFromToday(0));
  await playHistory(deps, LAST_WEEK);
  await endCases(twins);
  // Decide the promises whose day is over. The service would decide them within a minute.
  await settlePromises({ database, environment: stage.environment }, await databaseTime(em));
  return accessToken;
}

type Clock = Pick<HistoryDeps, "timeOf" | "dayFromToday">;

/** Counts days from today in a time zone. */
function clockOf(timeZone: string, now: Date): Clock {
  const noon = new Date(`${dayIn(timeZone, now)}T12:00:00Z`);
  const dayFromToday = (days: number) => {
    const day = new Date(noon);
    day.setUTCDate(day.getUTCDate() + days);
    return day.toISOString().slice(0, 10);
  };
  return {
    dayFromToday,
    timeOf: (days, hour) => instantOf(dayFromToday(days), `${String(hour).padStart(2, "0")}:00`, timeZone),
  };
}

/**
 * Registers a lender, imports its cases and assigns them to the field partner. Returns the case id of each loan number.
 */
async function placeCases(
  stage: Stage,
  database: Database,
  {
    lender: { code, name, percent },
    twin,
    fieldPartnerId,
    time: { timeOf, dayFromToday },
  }: { lender: SampleLender; twin: LenderTwin; fieldPartnerId: string; time: Clock },
): Promise<[loan: string, caseId: string][]> {
  const { serviceUrl, settings, environment } = stage;
  const { masterKey, outboundAllow: allow } = readConfig(settings);
  const onboarding = { vault: createVault({ masterKey: masterKey! }), allow, environment };
  const { lender, apiKeyId, hmacSecret } = await onboardLender(database.em(), onboarding, {
    code,
    name,
    currency: "INR",
    commissionPercent: String(percent),
    callbackUrl: twin.callbackUrl,
    mintLinkUrl: twin.mintUrl,
    mintAuthHeader: `${twin.mintAuth.name}: ${twin.mintAuth.value}`,
    fallbackUpiId: `${code.toLowerCase()}@okbank`,
    fallbackBank: { accountNumber: "50100012345678", ifsc: "HDFC0000123" },
    ...(code === "ACME" && { ...WHATSAPP_ACCOUNT, whatsappTemplate: TEMPLATE_WITH_LANGUAGES }),
  });
  twin.connect({ serviceUrl, apiKeyId, hmacSecret });
  const firstPhone = LENDERS.findIndex((each) => each.code === code) * 100;
  const rows = SAMPLE_CASES[code].map((sample, index) =>
    importRow(sample, firstPhone + index, timeOf(-30, 20), dayFromToday),
  );
  const answer = await twin.importCases(rows, { atomic: true });
  requireStatus(200, answer, `the cases of ${code}`);
  const moves = rows.map(({ sourceLoanNumber: loan }) => ({ loan, fieldPartnerId }));
  const outcomes = await assignCases(database.em(), { lender, moves, reason: null, dryRun: false }, environment);
  const refused = outcomes.find(({ kind }) => kind === "refused");
  if (refused) throw new Error(`A case of ${code} was not assigned: ${JSON.stringify(refused)}`);
  const results = answer.body["results"] as { sourceLoanNumber: string; caseId: string }[];
  return results.map(({ sourceLoanNumber, caseId }) => [sourceLoanNumber, caseId]);
}

/** Reads the field partner's cases, and returns them by loan number with the ids that the app's API uses. */
async function casesOnPhone(phone: Phone, caseIdOf: ReadonlyMap<string, string>): Promise<HistoryDeps["cases"]> {
  const { cases } = await phone.ask<{ cases: { edges: { node: { id: string; caseId: string } }[] } }>(
    "{ cases(first: 100) { edges { node { id caseId } } } }",
  );
  const idOf = new Map(cases.edges.map(({ node }) => [node.caseId, node.id]));
  const all = Object.values(SAMPLE_CASES).flat();
  return new Map(all.map((sample) => [sample.loan, { sample, id: idOf.get(caseIdOf.get(sample.loan)!)! }]));
}

/** Records that the commission of the visits in PAID_OUT was paid. */
async function payOut(database: Database, fieldPartnerId: string, paidOn: string): Promise<void> {
  const commission = PAID_OUT.map(({ lender, payment }) => {
    const { percent } = LENDERS.find(({ code }) => code === lender)!;
    return Math.round(payment!.amount * percent);
  });
  const amountMinor = BigInt(commission.reduce((sum, earned) => sum + earned, 0));
  const sent = { fieldPartnerId, currency: currency("INR"), amountMinor, until: null };
  const outcome = await recordPayout(database.em(), { ...sent, reference: "UTR506134218", paidOn });
  if (outcome.kind !== "recorded") throw new Error(`The payout was not recorded: ${outcome.kind}.`);
}

/** Lets the lenders end two cases: one was settled, and one is withdrawn. */
async function endCases({ ACME, SHAKTI }: Readonly<Record<LenderCode, LenderTwin>>): Promise<void> {
  const [withdrawn, settled] = await Promise.all([
    ACME.importCases([{ sourceLoanNumber: "LN-1011", action: "withdraw", reason: "Sold to another lender" }]),
    SHAKTI.importCases([
      {
        sourceLoanNumber: "SH-2007",
        borrowerName: SAMPLE_CASES.SHAKTI.find(({ loan }) => loan === "SH-2007")!.name,
        borrowerPhone: "+919800010107",
        outstandingAmount: 0,
        outstandingAsOf: new Date().toISOString(),
      },
    ]),
  ]);
  requireStatus(200, withdrawn, "the withdrawal of LN-1011");
  requireStatus(200, settled, "the settlement of SH-2007");
}
