import { once } from "node:events";
import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { setUp, type Stage } from "./stage.ts";

const PHONE = "+919810000001";
const NAME = "Asha Rao";

const DOORS = [
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
const DOORS_WITHOUT_LINKS = [
  { loan: "BB-77", name: "Thomas D’Souza", amount: 3_300, dpd: 64, line1: "9, Koregaon Park", latitude: 18.5362 },
] as const;

/** Sets the stage of the demo and leaves it to whoever opens the app in a browser, until Ctrl-C. */
const stage = await setUp({ log: (line) => tellCode(line) });
const beta = await startLenderTwin({ serviceUrl: stage.serviceUrl });
try {
  const accessToken = await cast(stage, beta);
  say(`
The field partner's app is at   ${stage.serviceUrl}/app
Sign in with the phone          ${PHONE}, and the code that appears here
or with the access token        ${accessToken}

Acme Finance makes payment links: open one as the borrower would, and pay. Beta Bank's gateway is broken: there the app
shows the lender's own QR code. Best looked at as wide as a phone. Ctrl-C ends it all, and nothing of it is kept.
`);
  await interrupted();
} finally {
  await beta.close();
  await stage.close();
}

/** Two lenders, one of them without a working gateway, and a field partner who holds all their cases: her token. */
async function cast({ operator, twin, serviceUrl }: Stage, beta: LenderTwin): Promise<string> {
  beta.mintBehaviour = "error500";
  const [{ fieldPartnerId }] = await Promise.all([
    operator<{ fieldPartnerId: string }>(`field-partner create --phone ${PHONE}`, `--name=${NAME}`),
    register(operator, { code: "ACME", name: "Acme Finance", twin, serviceUrl }),
    register(operator, { code: "BETA", name: "Beta Bank", twin: beta, serviceUrl }),
  ]);
  await Promise.all([twin.importCases(DOORS.map(rowOf)), beta.importCases(DOORS_WITHOUT_LINKS.map(rowOf))]);
  const [{ accessToken }] = await Promise.all([
    operator<{ accessToken: string }>(`field-partner token ${fieldPartnerId}`),
    ...DOORS.map(({ loan }) => operator(`case assign ACME ${loan} ${fieldPartnerId}`)),
    ...DOORS_WITHOUT_LINKS.map(({ loan }) => operator(`case assign BETA ${loan} ${fieldPartnerId}`)),
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

function rowOf({ loan, name, amount, dpd, line1, latitude }: (typeof DOORS | typeof DOORS_WITHOUT_LINKS)[number]) {
  return {
    sourceLoanNumber: loan,
    borrowerName: name,
    borrowerPhone: "+919800000001",
    outstandingAmount: amount,
    dpd,
    addresses: [{ line1, city: "Pune", postalCode: "411001", country: "IN", latitude, longitude: 73.8567 }],
  };
}

/** Only that of the service's log which a person waits for. */
function tellCode(line: string): void {
  const code = /sign-in code (\d{6})/.exec(line)?.[1];
  if (code !== undefined) say(`Code to sign in: ${code}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Resolves at Ctrl-C, or when the process is asked to end. */
async function interrupted(): Promise<void> {
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
}
