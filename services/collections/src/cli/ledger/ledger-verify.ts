import { collectionsLedger } from "@collections/bookings";
import { type BooksProblem, type BooksVerification, verifyBooks } from "@collections/flows";
import {
  type AnchorProblem,
  type AnchorPublicKey,
  type AnchorVerification,
  InvalidAnchorKeyError,
  type ProvenBook,
  readAnchorPublicKey,
} from "@collections/ledger";
import { listLenders } from "@collections/lenders";
import { Command, InvalidArgumentError } from "commander";
import type { Config } from "../../settings/config.ts";
import { machineTimeZone, momentText } from "../terminal/local-time.ts";
import { ANCHOR_LATE_MS, problemsOfAnchors } from "../../desk/doctor-words.ts";
import { anchorLines } from "./anchor-lines.ts";
import { EXIT } from "../terminal/refusal.ts";
import { endProgress, showProgress } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";
import { counted } from "../../desk/counted.ts";

/** `ledger verify`: checks the books, and shows which part of them the given anchors prove. */
export function verifyCommand(): Command {
  return new Command("verify")
    .option("--lender <code>", "verify only this lender")
    .option(
      "--anchor <places...>",
      "compare the hash chains with anchors: files, folders, URLs, or - for standard input",
    )
    .option("--anchor-key <keys...>", "trust these public keys too, as `ledger anchor-keys` prints them", publicKeys)
    .description("Compute every balance, digest, sequence and total again, and report what differs.")
    .addHelpText(
      "after",
      `
Without --anchor, the command cannot detect that a superuser of the database changed rows and computed the hash chain again.
Exits with 1 if anything differs, and with 3 if a file or folder of --anchor does not exist.

Examples:
  pnpm collections ledger verify --json
  pnpm collections ledger verify --anchor /var/lib/anchors.jsonl
  pnpm collections ledger verify --anchor ./old-anchors.jsonl ./anchors --anchor-key "cWG2geX7QU9lPr7SR3FZ55DH2zCR64yNlI72Gxa3ckc="`,
    )
    .action((options: VerifyOptions) => withDatabase((operator) => verify(operator, options)));
}

/** `ledger anchor-keys`: prints the public keys that verify anchors. */
export function anchorKeysCommand(): Command {
  return new Command("anchor-keys")
    .description("Print the public keys that verify anchors, for MASTER_KEY and MASTER_KEY_PREVIOUS.")
    .addHelpText(
      "after",
      `
These keys are not secret. Keep them: when a master key is gone, only its public key can verify its anchors.

Example:
  pnpm collections ledger anchor-keys`,
    )
    .action(() => withDatabase((operator) => Promise.resolve(showKeys(operator))));
}

interface VerifyOptions {
  readonly lender?: string;
  readonly anchor?: readonly string[];
  readonly anchorKey?: readonly AnchorPublicKey[];
}

function publicKeys(text: string, others: readonly AnchorPublicKey[] = []): readonly AnchorPublicKey[] {
  try {
    return [...others, readAnchorPublicKey(text)];
  } catch (error) {
    if (error instanceof InvalidAnchorKeyError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function showKeys({ anchorKeys }: Operator): void {
  const keys = [...anchorKeys.publicKeys.values()].map(({ keyId, text: publicKey }) => ({
    keyId,
    publicKey,
    signs: keyId === anchorKeys.keyId,
  }));
  const rows = keys.map(({ keyId, publicKey, signs }) => [keyId, publicKey, signs ? "yes" : "no"]);
  answer({ keys }, table([["KEY ID", "PUBLIC KEY (ED25519)", "SIGNS"], ...rows]));
}

async function verify(
  operator: Operator,
  { lender: code, anchor: places, anchorKey = [] }: VerifyOptions,
): Promise<void> {
  const { em, config, anchorKeys } = operator;
  const keys = new Map([...anchorKeys.publicKeys, ...anchorKey.map((key) => [key.keyId, key] as const)]);
  const lender = code === undefined ? undefined : await lenderNamed(em(), code);
  const only = lender && { lenderId: lender.id };
  const verdict = await verifyBooks(em(), {
    now: new Date(),
    ...only,
    onProgress: ({ lendersDone, lenders, check }) => {
      showProgress(`lender ${lendersDone + 1} of ${lenders}: ${check}`);
    },
  });
  endProgress();
  const ofLender = lender && { book: lender.id };
  const recordedAfterMs = config.ledgerAnchorIntervalMs + ANCHOR_LATE_MS;
  const anchors =
    places &&
    (await collectionsLedger.verifyAnchors(em(), anchorLines(places, config), { keys, ...ofLender, recordedAfterMs }));
  const codes = new Map((await listLenders(em())).map((one) => [one.id, one.code]));
  const notProven = anchors
    ? []
    : [withoutAnchors(config), ...(await overdueAnchors(operator, lender ? [lender.id] : [...codes.keys()]))];
  const report = reportOf(verdict, anchors, codes, notProven);
  answer(report.json, report.text);
  if (!report.json.ok) process.exitCode = EXIT.refused;
}

/**
 * Reports the results of verifying the books and, if anchors were given, of verifying the anchors. `codes` maps lender
 * ids to lender codes. `withoutAnchor` says what is not proven if no anchors were given.
 */
function reportOf(
  books: BooksVerification,
  anchors: AnchorVerification | undefined,
  codes: ReadonlyMap<string, string>,
  withoutAnchor: readonly string[],
) {
  const problems: readonly ShownProblem[] = [...books.problems, ...(anchors?.problems ?? []).map(shownProblem)];
  const totalProblems = books.totalProblems + (anchors?.totalProblems ?? 0n);
  const proven = anchors?.proven.map((one) => shownBook(one, codes));
  const notProven = proven === undefined ? withoutAnchor : proven.flatMap(notProvenOf);
  const { counts } = books;
  const checked = [
    counted(counts.transfers, "transfer"),
    counted(counts.bookings, "booking"),
    counted(counts.events, "event"),
  ].join(", ");
  const found = problems.map(({ code: problem, table: name, id, detail }) => `${problem} ${name} ${id}: ${detail}`);
  const json = {
    ...books,
    ok: totalProblems === 0n,
    problems,
    totalProblems,
    anchors: anchors ? { anchors: anchors.anchors, tornLines: anchors.tornLines, proven } : null,
    notProven,
    next: nextSteps(problems, codes),
  };
  const verdict = json.ok
    ? [`The books are correct: ${checked}.`]
    : [`${counted(totalProblems, "problem")} in ${checked}:`, ...found];
  const lines = [
    ...verdict,
    ...anchorText(anchors, proven),
    ...notProven.map((what) => `Not proven: ${what}`),
    ...json.next,
  ];
  return { json, text: lines.join("\n") };
}

/** Returns the commands to run next, as sentences. */
function nextSteps(problems: readonly ShownProblem[], codes: ReadonlyMap<string, string>): string[] {
  const outside = problems.filter(({ code }) => code === "ROW_OUTSIDE_CHAIN");
  const lenders = new Set(outside.map(({ lenderId }) => codes.get(lenderId ?? "")));
  return [...lenders].map((code) => {
    const option = code === undefined ? "" : ` --lender ${code}`;
    return `Next: find out where the rows of ROW_OUTSIDE_CHAIN come from. Then add them: ledger extend${option} --reason "<why>".`;
  });
}

/**
 * A problem as the command prints it: with the id of the lender, which is also the id of the lender's book in the
 * ledger.
 */
type ShownProblem = Omit<BooksProblem, "lenderId"> & { readonly lenderId: string | null };

function shownProblem({ code, table, id, book: lenderId, detail }: AnchorProblem): ShownProblem {
  return { code, table, id, lenderId, detail };
}

type ShownBook = Omit<ProvenBook, "book"> & { readonly lenderId: string; readonly lenderCode: string | null };

function shownBook({ book: lenderId, ...proven }: ProvenBook, codes: ReadonlyMap<string, string>): ShownBook {
  return { lenderId, ...proven, lenderCode: codes.get(lenderId) ?? null };
}

function anchorText(anchors: AnchorVerification | undefined, proven: readonly ShownBook[] = []): string[] {
  if (anchors === undefined) return [];
  const torn = anchors.tornLines === 0 ? "" : ` Skipped ${counted(anchors.tornLines, "half-written line")}.`;
  const rows = proven.map(({ lenderId, lenderCode, block, chainedAt, anchoredAt }) => [
    lenderCode ?? lenderId,
    block === null ? "-" : String(block),
    ...[chainedAt, anchoredAt].map((at) => (at ? momentText(at, machineTimeZone()) : "-")),
  ]);
  return [
    `Compared ${counted(anchors.anchors, "anchor")} with a valid signature.${torn} Proven:`,
    table([["LENDER", "UP TO BLOCK", "OF", "ANCHORED"], ...rows]),
  ];
}

function notProvenOf({ lenderId, lenderCode, block, chainedAt, unprovenRows }: ShownBook): string[] {
  if (unprovenRows === 0n) return [];
  const rows = `${unprovenRows} ${unprovenRows === 1n ? "row" : "rows"} of ${lenderCode ?? lenderId}`;
  return [
    block === null
      ? `${rows}: no anchor covers them.`
      : `${rows}: not in the anchored blocks, the last of which is block ${block} of ${chainedAt?.toISOString()}.`,
  ];
}

function withoutAnchors({ ledgerAnchor }: Config): string {
  const what =
    "without --anchor, this command cannot detect that a superuser of the database changed rows and computed the hash chain again.";
  const remedy =
    ledgerAnchor === undefined
      ? "Set LEDGER_ANCHOR (file:/path/anchors.jsonl or https://…) for the workers, then run ledger verify --anchor <place>."
      : "Run ledger verify --anchor with a copy of the anchors that LEDGER_ANCHOR keeps.";
  return `${what} ${remedy}`;
}

/**
 * Says which blocks should have been anchored, by the record of the anchors in the database. Every block of a lender is
 * among them if somebody has emptied this record.
 */
async function overdueAnchors({ em, config }: Operator, lenderIds: readonly string[]): Promise<string[]> {
  const state = await collectionsLedger.anchorState(em(), lenderIds);
  const overdue = problemsOfAnchors(state, config, new Date()).filter(({ code }) => code === "ANCHORS_OVERDUE");
  return overdue.map(({ detail, remedy }) => `${detail} ${remedy}`);
}
