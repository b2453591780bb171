import { transaction } from "@collections/database";
import { changeLender, onboardLender } from "@collections/flows";
import { type Lender, listLenders, resumeLender, suspendLender } from "@collections/lenders";
import { percentText } from "@collections/money";
import { type EndpointStatus, endpointOf } from "@collections/webhooks";
import { Command } from "commander";
import { momentText } from "../terminal/local-time.ts";
import { readBank } from "./bank.ts";
import { readRateLimit } from "./rate-limit.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { readSecrets, SECRET_HELP } from "../terminal/secret-options.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

/** `lender …`: who places cases with us. */
export function lenderCommand(): Command {
  const lender = new Command("lender").description("Register lenders and look after them.");
  lender.addCommand(createCommand());
  lender.addCommand(updateCommand());
  lender
    .command("list")
    .description("All lenders.")
    .addHelpText("after", "\nExample:\n  pnpm collections lender list")
    .action(() => withDatabase(list));
  lender
    .command("show")
    .argument("<code>", "the lender's code")
    .description("One lender, without its secrets.")
    .addHelpText("after", "\nExample:\n  pnpm collections lender show ACME --json")
    .action((code: string) => withDatabase((operator) => show(operator, code)));
  for (const act of ["suspend", "resume"] as const) {
    lender
      .command(act)
      .argument("<code>", "the lender's code")
      .option("--reason <text>", "why; it is kept in the audit", "no reason given")
      .description(act === "suspend" ? "Stop a lender's field work and imports." : "End a lender's suspension.")
      .addHelpText(
        "after",
        `${act === "suspend" ? SUSPENSION : ""}\nExample:\n  pnpm collections lender ${act} ACME --reason "asked by their CTO"`,
      )
      .action((code: string, { reason }: { reason: string }) =>
        withDatabase((operator) => setState(operator, act, code, reason)),
      );
  }
  return lender;
}

const SUSPENSION = `
Within a second, visits, payment links, messages to borrowers and imports are refused. Confirmations, reads and webhook
deliveries continue, because captured money must be recorded. To stop a leaked key, revoke the key instead:
  pnpm collections key revoke <key-id> --reason "leaked"
`;

interface LenderOptions {
  name?: string;
  country?: string;
  currency?: string;
  language?: string;
  timeZone?: string;
  balanceCutoff?: string;
  callbackUrl?: string;
  mintLinkUrl?: string;
  mintAuthHeader?: string;
  paymentLinkHost?: string[];
  technicalContact?: string[];
  fallbackUpiId?: string;
  fallbackBank?: string;
  fallbackInstructions?: string;
  commissionPercent?: string;
  whatsappPhoneNumberId?: string;
  whatsappToken?: string;
  whatsappTemplate?: string;
  whatsappAppSecret?: string;
  whatsappVerifyToken?: string;
  rateLimit?: Record<string, number | null>;
}

function createCommand(): Command {
  const command = new Command("create")
    .description("Register a lender; prints its first key, whose secret is shown this once.")
    .requiredOption("--code <code>", "2 to 16 of A-Z and 0-9; it never changes")
    .requiredOption("--name <name>", "the organisation's name")
    .requiredOption("--currency <code>", "ISO 4217, the default of imported rows");
  return withLenderOptions(command)
    .addHelpText(
      "after",
      `
Example:
  pnpm collections lender create --code ACME --name "Acme Finance" --currency INR \\
    --callback-url https://acme.example/hooks/collections --mint-link-url https://acme.example/mint-link \\
    --mint-auth-header @mint-auth-header.txt --technical-contact dev@acme.example \\
    --fallback-upi-id acme@okbank --commission-percent 2.5`,
    )
    .action((options: LenderOptions & { code: string; name: string; currency: string }) =>
      withDatabase((operator) => create(operator, options)),
    );
}

function updateCommand(): Command {
  const command = new Command("update")
    .argument("<code>", "the lender's code")
    .description('Change what is given and leave the rest; "" takes an optional setting away.')
    .option("--name <name>", "the organisation's name")
    .option("--currency <code>", "ISO 4217, the default of imported rows");
  return withLenderOptions(command)
    .addHelpText("after", "\nExample:\n  pnpm collections lender update ACME --commission-percent 3")
    .action((code: string, options: LenderOptions) => withDatabase((operator) => update(operator, code, options)));
}

function withLenderOptions(command: Command): Command {
  return command
    .option("--country <code>", "ISO 3166-1 alpha-2; follows from the currency otherwise")
    .option("--language <tag>", "BCP 47, the default of borrowers")
    .option("--time-zone <name>", "IANA name")
    .option("--balance-cutoff <time>", "what a date without a time means for a balance in a file, such as 23:59")
    .option("--callback-url <url>", "where signed events go")
    .option("--mint-link-url <url>", "the endpoint that mints payment links")
    .option(
      "--mint-auth-header <header>",
      `"Name: value", sent with each mint call and never shown again; ${SECRET_HELP}`,
    )
    .option(
      "--payment-link-host <host>",
      "where minted links may lead; may be several; any public host otherwise",
      collect,
    )
    .option("--technical-contact <email>", "who hears of trouble; may be given several times", collect)
    .option("--fallback-upi-id <id>", "where a borrower pays when there is no link")
    .option("--fallback-bank <account>", "accountNumber=…,ifsc=…,accountName=…,bankName=… or the same as JSON")
    .option("--fallback-instructions <text>", "what the field partner tells the borrower")
    .option("--commission-percent <percent>", "what field partners earn of what they collect, such as 2.5")
    .option("--whatsapp-phone-number-id <id>", "the lender's own WhatsApp Cloud API number")
    .option("--whatsapp-token <token>", `its access token, never shown again; ${SECRET_HELP}`)
    .option("--whatsapp-template <name>", "its approved template; payment_link unless told")
    .option("--whatsapp-app-secret <secret>", `by which Meta signs its callbacks, never shown again; ${SECRET_HELP}`)
    .option(
      "--whatsapp-verify-token <token>",
      `what Meta shows when our webhook is registered, never shown again; ${SECRET_HELP}`,
    )
    .option("--rate-limit <endpoint=count>", "requests a minute and key, or =default; may be several", readRateLimit);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

async function create(
  { config, vault, em }: Operator,
  options: LenderOptions & { code: string; name: string; currency: string },
): Promise<void> {
  const { lender, apiKeyId, hmacSecret } = await onboardLender(em(), onboarding(config, vault), {
    ...changesOf(options),
    code: options.code,
    name: options.name,
    currency: options.currency,
  });
  answer(
    { lenderCode: lender.code, apiKeyId, hmacSecret },
    [
      `Lender ${lender.code} is registered.`,
      `  API key id   ${apiKeyId}`,
      `  HMAC secret  ${hmacSecret}`,
      "Hand both to the lender over a safe channel now: the secret is not shown again.",
    ].join("\n"),
  );
}

async function update({ config, vault, em }: Operator, code: string, options: LenderOptions): Promise<void> {
  const { id } = await lenderNamed(em(), code);
  const changes = changesOf(options);
  if (Object.keys(changes).length === 0) {
    throw new Refusal("REQUIRED", "Say what to change; see --help.", EXIT.notUnderstood);
  }
  const lender = await changeLender(em(), onboarding(config, vault), id, changes);
  answer(shown(lender, await endpointOf(em(), id)), `Lender ${lender.code} is updated.`);
}

async function list({ em }: Operator): Promise<void> {
  const lenders = await listLenders(em());
  const rows = lenders.map(({ code, name, currency, state }) => [code, name, currency, state]);
  answer(
    { lenders: lenders.map((lender) => shown(lender)) },
    rows.length === 0 ? "No lender is registered." : table([["CODE", "NAME", "CURRENCY", "STATE"], ...rows]),
  );
}

async function show({ em }: Operator, code: string): Promise<void> {
  const lender = await lenderNamed(em(), code);
  const json = shown(lender, await endpointOf(em(), lender.id));
  answer(json, table(Object.entries(json).map(([name, value]) => [name, plain(value, lender.timeZone)])));
}

async function setState({ em }: Operator, act: "suspend" | "resume", code: string, reason: string): Promise<void> {
  const { id } = await lenderNamed(em(), code);
  const verb = act === "suspend" ? suspendLender : resumeLender;
  const lender = await transaction(em(), (tx) => verb(tx, id, reason));
  const text = `Lender ${lender.code} is ${lender.state}.`;
  answer({ lenderCode: lender.code, state: lender.state }, act === "suspend" ? `${text}${SUSPENSION.trimEnd()}` : text);
}

function onboarding(config: Operator["config"], vault: Operator["vault"]) {
  return { vault, allow: config.outboundAllow, environment: config.environment };
}

/** Commander leaves an option that was not given undefined; an empty one takes the setting away. */
function changesOf(options: LenderOptions) {
  const { technicalContact, paymentLinkHost, fallbackBank, callbackUrl, rateLimit, ...plainOptions } = options;
  const given = Object.entries(plainOptions).filter(([name, value]) => value !== undefined && FIELDS.has(name));
  return {
    ...Object.fromEntries(
      [...given, ...secretsOf(options)].map(([name, value]) => [name, value === "" ? null : value]),
    ),
    ...(technicalContact && { technicalContacts: technicalContact.filter((contact) => contact !== "") }),
    ...(paymentLinkHost && { paymentLinkHosts: paymentLinkHost.filter((host) => host !== "") }),
    ...(fallbackBank !== undefined && { fallbackBank: fallbackBank === "" ? null : readBank(fallbackBank) }),
    ...(rateLimit && { rateLimits: rateLimit }),
    ...(callbackUrl !== undefined && { callbackUrl: callbackUrl === "" ? null : callbackUrl }),
  };
}

const SECRET_FIELDS = {
  mintAuthHeader: "--mint-auth-header",
  whatsappToken: "--whatsapp-token",
  whatsappAppSecret: "--whatsapp-app-secret",
  whatsappVerifyToken: "--whatsapp-verify-token",
} as const satisfies Partial<Record<keyof LenderOptions, string>>;

/** The secrets that were given, by their fields. */
function secretsOf(options: LenderOptions): [string, string][] {
  const fields = Object.entries(SECRET_FIELDS) as [keyof typeof SECRET_FIELDS, string][];
  const given = fields.filter(([field]) => options[field] !== undefined);
  const secrets = readSecrets(Object.fromEntries(given.map(([field, option]) => [option, options[field]!])));
  return given.map(([field, option]) => [field, secrets[option]!]);
}

const FIELDS: ReadonlySet<string> = new Set<keyof LenderOptions>([
  "name",
  "country",
  "currency",
  "language",
  "timeZone",
  "balanceCutoff",
  "mintLinkUrl",
  "fallbackUpiId",
  "fallbackInstructions",
  "commissionPercent",
  "whatsappPhoneNumberId",
  "whatsappTemplate",
]);

function shown(lender: Lender, endpoint?: EndpointStatus): Record<string, unknown> {
  const { code, id: _, commission, ...others } = lender;
  return {
    lenderCode: code,
    ...others,
    commissionPercent: percentText(commission),
    ...(endpoint && { callbackUrl: endpoint.url }),
  };
}

function plain(value: unknown, timeZone: string): string {
  if (value instanceof Date) return momentText(value, timeZone);
  return typeof value === "string" ? value : JSON.stringify(value);
}
