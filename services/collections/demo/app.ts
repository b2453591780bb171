import { once } from "node:events";
import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { setUp, type Stage } from "./stage.ts";

const PHONE = "+919810000001";
const NAME = "Asha Rao";

const CASES = [
  { loan: "LN-1001", name: "Ravi Kumar", amount: 5_000, dpd: 42, line1: "14, Lakshmi Road", latitude: 18.5153 },
  { loan: "LN-1002", name: "Meera Iyer", amount: 1_200, dpd: 12, line1: "3, Tilak Road", latitude: 18.5074 },
  {
    loan: "LN-1003",
    name: "श्री विष्णु कुलकर्णी",
    amount: 125_000.5,
    dpd: 91,
    line1: "Flat 7, Karve Nagar",
    latitude: 18.4907,
  },
] as const;
const CASES_WITHOUT_LINKS = [
  { loan: "BB-77", name: "Thomas D’Souza", amount: 3_300, dpd: 64, line1: "9, Koregaon Park", latitude: 18.5362 },
] as const;

/** Starts the demo with sample data, so that the app can be used in a browser until Ctrl-C. */
const stage = await setUp({ log: (line) => showCode(line) });
const beta = await startLenderTwin({ serviceUrl: stage.serviceUrl });
try {
  const accessToken = await createSampleData(stage, beta);
  say(`
The field partner's app is at   ${stage.serviceUrl}/app
Sign in with the phone          ${PHONE}, and the code that appears here
or with the access token        ${accessToken}

Acme Finance makes payment links: open one as the borrower would, and pay. Beta Bank's gateway is broken, so for its case the
app shows the lender's own QR code. Make the window as narrow as a phone. Ctrl-C ends the demo and deletes its data.
`);
  await interrupted();
} finally {
  await beta.close();
  await stage.close();
}

/**
 * Registers two lenders, one without a working gateway, and a field partner who has all cases of both lenders. Returns
 * the field partner's access token.
 */
async function createSampleData({ operator, twin, serviceUrl }: Stage, beta: LenderTwin): Promise<string> {
  beta.mintBehaviour = "error500";
  const [{ fieldPartnerId }] = await Promise.all([
    operator<{ fieldPartnerId: string }>(`field-partner create --phone ${PHONE}`, `--name=${NAME}`),
    register(operator, { code: "ACME", name: "Acme Finance", twin, serviceUrl }),
    register(operator, { code: "BETA", name: "Beta Bank", twin: beta, serviceUrl }),
  ]);
  await Promise.all([twin.importCases(CASES.map(rowOf)), beta.importCases(CASES_WITHOUT_LINKS.map(rowOf))]);
  const [{ accessToken }] = await Promise.all([
    operator<{ accessToken: string }>(`field-partner token ${fieldPartnerId}`),
    ...CASES.map(({ loan }) => operator(`case assign ACME ${loan} ${fieldPartnerId}`)),
    ...CASES_WITHOUT_LINKS.map(({ loan }) => operator(`case assign BETA ${loan} ${fieldPartnerId}`)),
  ]);
  return accessToken;
}

async function register(
  operator: Stage["operator"],
  { code, name, twin, serviceUrl }: { code: string; name: string; twin: LenderTwin; serviceUrl: string },
): Promise<void> {
  const { apiKeyId, hmacSecret } = await operator<{ apiKeyId: string; hmacSecret: string }>(
    `lender create --code ${code} --currency INR --commission-percent 2.5`,
    `--name=${name}`,
    `--callback-url ${twin.callbackUrl} --mint-link-url ${twin.mintUrl}`,
    `--mint-auth-header=${twin.mintAuth.name}: ${twin.mintAuth.value}`,
    `--fallback-upi-id ${code.toLowerCase()}@okbank --fallback-bank accountNumber=50100012345678,ifsc=HDFC0000123`,
  );
  twin.connect({ serviceUrl, apiKeyId, hmacSecret });
}

function rowOf({ loan, name, amount, dpd, line1, latitude }: (typeof CASES | typeof CASES_WITHOUT_LINKS)[number]) {
  return {
    sourceLoanNumber: loan,
    borrowerName: name,
    borrowerPhone: "+919800000001",
    outstandingAmount: amount,
    dpd,
    addresses: [{ line1, city: "Pune", postalCode: "411001", country: "IN", latitude, longitude: 73.8567 }],
  };
}

/** Shows only the sign-in codes from the log of the service. */
function showCode(line: string): void {
  const code = /sign-in code (\d{6})/.exec(line)?.[1];
  if (code !== undefined) say(`Code to sign in: ${code}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Resolves at SIGINT (Ctrl-C) or SIGTERM. */
async function interrupted(): Promise<void> {
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
}
