import { transaction } from "@collections/database";
import { changeLender, onboardLender } from "@collections/flows";
import { resumeLender, suspendLender } from "@collections/lenders";
import { endpointOf } from "@collections/webhooks";
import { Command, InvalidArgumentError } from "commander";
import { readBank } from "./bank.ts";
import { addReadCommands, shownLender } from "./lender-read.ts";
import { addPortalLinkCommand } from "./portal-link.ts";
import { readRateLimit } from "./rate-limit.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { readSecrets, SECRET_HELP } from "../terminal/secret-options.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";

/** `lender …`: register and manage lenders. */
export function lenderCommand(): Command {
  const lender = new Command("lender").description("Register and manage lenders.");
  lender.addCommand(createCommand());
  lender.addCommand(updateCommand());
  addReadCommands(lender);
  addPortalLinkCommand(lender);
  for (const act of ["suspend", "resume"] as const) {
    lender
      .command(act)
      .argument("<code>", "the lender's code")
      .option("--reason <text>", "the reason, for the audit log", "no reason given")
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
  keepPersonalData?: number;
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
    .description("Register a lender and print its first key, whose secret is not shown again.")
    .requiredOption("--code <code>", "2 to 16 characters of A-Z and 0-9; it never changes")
    .requiredOption("--name <name>", "the organisation's name")
    .requiredOption("--currency <code>", "the default currency of imported rows, as an ISO 4217 code");
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
    .description('Change the given settings of a lender; "" removes an optional setting.')
    .option("--name <name>", "the organisation's name")
    .option("--currency <code>", "the default currency of imported rows, as an ISO 4217 code");
  return withLenderOptions(command)
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .addHelpText(
      "after",
      `
The audit log records the old and the new value of each changed setting, and of a secret only that it was changed.

Examples:
  pnpm collections lender update ACME --commission-percent 3 --reason "new contract"
  pnpm collections audit list --lender ACME --act lender.updated`,
    )
    .action((code: string, options: LenderOptions & { reason?: string }) =>
      withDatabase((operator) => update(operator, code, options)),
    );
}

function withLenderOptions(command: Command): Command {
  return command
    .option("--country <code>", "the country, as an ISO 3166-1 alpha-2 code; by default derived from the currency")
    .option("--language <tag>", "the default language of borrowers, as a BCP 47 tag")
    .option("--time-zone <name>", "the time zone, as an IANA name")
    .option(
      "--balance-cutoff <time>",
      "the time of day, such as 23:59, to use for the balances of a file that gives only a day",
    )
    .option(
      "--keep-personal-data <days>",
      "for how long borrowers' personal data are kept after the end of their case, such as 180d; by default 365d",
      readDays,
    )
    .option("--callback-url <url>", "the URL that receives signed events")
    .option("--mint-link-url <url>", "the endpoint that mints payment links")
    .option(
      "--mint-auth-header <header>",
      `"Name: value", sent with each mint call and never shown again; ${SECRET_HELP}`,
    )
    .option(
      "--payment-link-host <host>",
      "a host to which minted links may lead; may be repeated; by default any public host",
      collect,
    )
    .option("--technical-contact <email>", "an e-mail address that gets alerts; may be repeated", collect)
    .option("--fallback-upi-id <id>", "the UPI id to which a borrower pays if there is no link")
    .option(
      "--fallback-bank <account>",
      "accountNumber=…,ifsc=…,accountName=…,bankName=…, or a JSON object with these fields",
    )
    .option(
      "--fallback-instructions <text>",
      "instructions that the field partner gives to a borrower if there is no link",
    )
    .option(
      "--commission-percent <percent>",
      "the share of a collected amount that the field partner earns, such as 2.5",
    )
    .option("--whatsapp-phone-number-id <id>", "the id of the lender's own WhatsApp number in the Cloud API")
    .option("--whatsapp-token <token>", `the access token of that WhatsApp number, never shown again; ${SECRET_HELP}`)
    .option(
      "--whatsapp-template <name>",
      "the approved message template of that WhatsApp number, and Meta's codes of its languages, such as payment_link:en,hi; by default payment_link in the lender's language",
    )
    .option(
      "--whatsapp-app-secret <secret>",
      `the secret with which Meta signs its callbacks, never shown again; ${SECRET_HELP}`,
    )
    .option(
      "--whatsapp-verify-token <token>",
      `the token that Meta sends when the webhook is registered, never shown again; ${SECRET_HELP}`,
    )
    .option(
      "--rate-limit <endpoint=count>",
      "the limit of an endpoint in requests per minute and key, or endpoint=default; may be repeated",
      readRateLimit,
    );
}

/** Reads a number of days such as `180d`. The lender's own check refuses a number that is too low or too high. */
function readDays(text: string): number {
  const days = /^(\d{1,6})d$/.exec(text)?.[1];
  if (days !== undefined) return Number(days);
  throw new InvalidArgumentError("Expected a number of days such as 180d.");
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
      "Hand the id and the secret to the lender over a safe channel now: the secret is not shown again.",
    ].join("\n"),
  );
}

async function update(
  { config, vault, em }: Operator,
  code: string,
  { reason, ...options }: LenderOptions & { reason?: string },
): Promise<void> {
  const { id } = await lenderNamed(em(), code);
  const changes = changesOf(options);
  if (Object.keys(changes).length === 0) {
    throw new Refusal("REQUIRED", "Give at least one setting to change; see --help.", EXIT.notUnderstood);
  }
  const lender = await changeLender(em(), onboarding(config, vault), id, changes, { reason });
  answer(shownLender(lender, await endpointOf(em(), id)), `Lender ${lender.code} is updated.`);
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

/**
 * Returns the changes that the options request. An option that was not given is undefined; an empty option removes the
 * setting.
 */
function changesOf(options: LenderOptions) {
  const { technicalContact, paymentLinkHost, fallbackBank, callbackUrl, rateLimit, keepPersonalData, ...plainOptions } =
    options;
  const given = Object.entries(plainOptions).filter(([name, value]) => value !== undefined && FIELDS.has(name));
  return {
    ...Object.fromEntries(
      [...given, ...secretsOf(options)].map(([name, value]) => [name, value === "" ? null : value]),
    ),
    ...(technicalContact && { technicalContacts: technicalContact.filter((contact) => contact !== "") }),
    ...(paymentLinkHost && { paymentLinkHosts: paymentLinkHost.filter((host) => host !== "") }),
    ...(fallbackBank !== undefined && { fallbackBank: fallbackBank === "" ? null : readBank(fallbackBank) }),
    ...(rateLimit && { rateLimits: rateLimit }),
    ...(keepPersonalData !== undefined && { keepPersonalDataDays: keepPersonalData }),
    ...(callbackUrl !== undefined && { callbackUrl: callbackUrl === "" ? null : callbackUrl }),
  };
}

const SECRET_FIELDS = {
  mintAuthHeader: "--mint-auth-header",
  whatsappToken: "--whatsapp-token",
  whatsappAppSecret: "--whatsapp-app-secret",
  whatsappVerifyToken: "--whatsapp-verify-token",
} as const satisfies Partial<Record<keyof LenderOptions, string>>;

/** Returns the secrets that were given, as pairs of field and value. */
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
