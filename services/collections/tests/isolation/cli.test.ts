import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { EXIT } from "../../src/cli/terminal/refusal.ts";
import {
  changesAtB,
  isolationWorld,
  leaksIn,
  REFERENCE,
  REFERENCE_OF_A,
  REVERSAL_REFERENCE,
  type World,
} from "./fixtures/isolation-world.ts";

/**
 * A command line with lender A's code and something that belongs to lender B, such as a loan number or an event id. The
 * command must answer as if lender B's loan or event did not exist.
 */
interface Trial {
  readonly args: (world: World) => readonly string[];
  /** The expected exit code. The default is "not found". */
  readonly code?: number;
  /** Text that the output must contain. */
  readonly says?: string;
}

/**
 * The reason why a command is not tried with another lender's id: its arguments cannot combine one lender's code with
 * an id of another lender.
 */
interface NothingToName {
  readonly because: string;
}

const ONE_LENDER: NothingToName = {
  because: "it names only a lender, and nothing that could belong to another lender",
};
const NO_LENDER: NothingToName = {
  because: "it takes an id without a lender's code, because operators act for every lender",
};
const PEOPLE: NothingToName = { because: "field partners work for every lender" };
const REASON = ["--reason", "tried by a test"];

/**
 * For each command: `names` has its arguments and options that identify something stored. `trial` has a command line
 * with another lender's id, or the reason why there is none.
 */
const COMMANDS: Readonly<Record<string, { readonly names: string; readonly trial: Trial | NothingToName }>> = {
  completion: { names: "<shell>", trial: { because: "it uses no database" } },
  "lender create": {
    names: "",
    trial: { because: "it makes something new; an existing code is rejected, see cli/lender.test.ts" },
  },
  "lender update": { names: "<code>", trial: ONE_LENDER },
  "lender list": { names: "--cursor", trial: { because: "it lists all lenders" } },
  "lender show": { names: "<code>", trial: ONE_LENDER },
  "lender portal-link": { names: "<code>", trial: ONE_LENDER },
  "lender suspend": { names: "<code>", trial: ONE_LENDER },
  "lender resume": { names: "<code>", trial: ONE_LENDER },
  "key create": { names: "<lender>", trial: ONE_LENDER },
  "key list": { names: "<lender> --cursor", trial: ONE_LENDER },
  "key retire": { names: "<key-id>", trial: NO_LENDER },
  "key revoke": { names: "<key-id>", trial: NO_LENDER },
  "key use-for-signing": { names: "<key-id>", trial: NO_LENDER },
  "key debug": { names: "<key-id>", trial: NO_LENDER },
  "field-partner create": { names: "", trial: PEOPLE },
  "field-partner list": { names: "--cursor --search", trial: PEOPLE },
  "field-partner show": { names: "<id>", trial: PEOPLE },
  "field-partner update": { names: "<id>", trial: PEOPLE },
  "field-partner token": { names: "<id>", trial: PEOPLE },
  "field-partner suspend": { names: "<id>", trial: PEOPLE },
  "field-partner resume": { names: "<id>", trial: PEOPLE },
  "field-partner clear-code-limit": { names: "<id>", trial: PEOPLE },
  "case import": {
    names: "<file> --lender",
    trial: {
      because:
        "the loan numbers in a file always belong to the given lender, as in POST import, see isolation/rest.test.ts",
    },
  },
  "case list": {
    names: "--lender --holder --search --cursor",
    trial: {
      args: ({ a, loanOfB }) => ["--lender", a.twin.code, "--search", loanOfB()],
      code: 0,
      says: "No case matches.",
    },
  },
  "audit list": {
    names: "--cursor --lender --field-partner --act",
    trial: { args: ({ a }) => ["--lender", a.twin.code, "--act", "nothing."], code: 0, says: "No entry matches." },
  },
  "operator link": { names: "--role", trial: { because: "operators belong to no lender" } },
  "operator list": { names: "--cursor", trial: { because: "operators belong to no lender" } },
  "operator revoke": { names: "<name> --session", trial: { because: "operators belong to no lender" } },
  find: {
    names: "<text> --lender",
    trial: { args: ({ a, loanOfB }) => [loanOfB(), "--lender", a.twin.code] },
  },
  "case show": { names: "<lender> <loan>", trial: { args: aLoan } },
  "case assign": {
    names: "<lender> [loan] [field-partner-id] --file --to --spread --holder --search",
    trial: { args: ({ a, b, loanOfB }) => [a.twin.code, loanOfB(), `fp_${b.fieldPartnerId.replaceAll("-", "")}`] },
  },
  "case erase": { names: "<lender> <loan>", trial: { args: (world) => [...aLoan(world), ...REASON, "--yes"] } },
  "case unassign": { names: "<lender> <loan>", trial: { args: aLoan } },
  "case hold": { names: "<lender> <loan>", trial: { args: (world) => [...aLoan(world), ...REASON] } },
  "case release": { names: "<lender> <loan>", trial: { args: aLoan } },
  "case close": { names: "<lender> <loan>", trial: { args: (world) => [...aLoan(world), ...REASON] } },
  "endpoint show": { names: "<lender>", trial: ONE_LENDER },
  "endpoint probe": { names: "<lender>", trial: ONE_LENDER },
  "endpoint mint": { names: "<lender> <loan>", trial: { args: aLoan } },
  "endpoint resume": { names: "<lender>", trial: ONE_LENDER },
  "delivery list": {
    names: "--cursor --lender --loan",
    trial: { args: ({ a, loanOfB }) => ["--lender", a.twin.code, "--loan", loanOfB()], code: EXIT.done, says: "No" },
  },
  "delivery show": { names: "<event-id>", trial: NO_LENDER },
  "delivery replay": {
    names: "[event-id] --lender --loan",
    trial: {
      args: ({ a, b }) => [b.eventIds[0]!, "--lender", a.twin.code, ...REASON],
      code: EXIT.notUnderstood,
      says: "An event id cannot be combined",
    },
  },
  "delivery replays": { names: "--lender --cursor", trial: ONE_LENDER },
  "delivery cancel-replay": { names: "<replay-id>", trial: NO_LENDER },
  today: { names: "--lender --cursor", trial: ONE_LENDER },
  doctor: { names: "--lender", trial: ONE_LENDER },
  "ledger statement": { names: "<lender> <loan>", trial: { args: aLoan } },
  "ledger fees": { names: "<lender> --month", trial: ONE_LENDER },
  "ledger verify": { names: "--lender", trial: ONE_LENDER },
  "ledger extend": { names: "--lender", trial: ONE_LENDER },
  "ledger anchor-keys": { names: "", trial: { because: "it is about the master key, and reads no row" } },
  "payment show": { names: "<lender> <loan> <reference>", trial: { args: aPayment } },
  "payment reverse": {
    names: "<lender> <loan> <reference> --reversal-reference",
    trial: {
      args: (world) => [
        ...aPayment(world),
        "--reversal-reference",
        REVERSAL_REFERENCE,
        "--reversed-at",
        "2026-11-20T10:00:00Z",
        "--reason",
        "other",
        "--yes",
      ],
    },
  },
  "payment move": {
    names: "<lender> <loan> <reference> --to --reversal-reference",
    trial: {
      args: (world) => [
        world.a.twin.code,
        world.sharedLoan(),
        REFERENCE_OF_A,
        "--to",
        world.loanOfB(),
        "--reversal-reference",
        REVERSAL_REFERENCE,
        "--yes",
        ...REASON,
      ],
    },
  },
  "payment reconcile": {
    names: "<file> --lender --to",
    trial: {
      because:
        "the loan numbers and references in a file always belong to the given lender, as in POST reconcile, see isolation/rest.test.ts",
    },
  },
  "payment reconciliations": {
    names: "<lender> --cursor",
    trial: { args: ({ a, b }) => [a.twin.code, "--cursor", b.runId], code: 0, says: "No reconciliations." },
  },
  "payment reconciliation": { names: "<lender> <run-id>", trial: { args: ({ a, b }) => [a.twin.code, b.runId] } },
  "payout due": { names: "--cursor", trial: PEOPLE },
  "payout preview": { names: "<field-partner-id>", trial: PEOPLE },
  "payout record": { names: "<field-partner-id> --reference", trial: PEOPLE },
  "payout list": { names: "--cursor --field-partner", trial: PEOPLE },
  "payout show": { names: "<payout>", trial: PEOPLE },
  "master-key rotate": { names: "", trial: { because: "it is about all secrets at once" } },
  "master-key replace-lost": { names: "", trial: { because: "it is about all secrets at once" } },
  migrate: { names: "", trial: { because: "it is about tables, and reads no row" } },
  "sandbox play": {
    names: "<lender> <loan> <scene>",
    trial: { args: (world) => [...aLoan(world), "visit"] },
  },
  "persisted-operations make": { names: "<paths>", trial: { because: "it reads files, and no database" } },
};

/** Options that do not identify anything stored. */
const OTHER_OPTIONS =
  /^--(json|reason|force|dry-run|yes|resume|wait|limit|state|since|until|rate|kind|on|minutes|map|encoding|separator|header-line|sheet|allow-similar-loans|date-order|decimal|as-of|day|from|paid-time|parts|confirm-missing|amount-is-major-units|out|name|phone|time-zone|currency|paid-on|amount|reversed-at|note|distribute|anchor|anchor-key|csv|with-contact|status|branch|postal-code|dpd|promise-due|not-visited-since|by)$/;
/** Commands whose options are fields of the lender itself, so the options do not identify anything else. */
const OF_LENDER = /^lender (create|update)$/;

const allCommands = commandsOf(await createProgram());

let world: World;

beforeAll(async () => {
  world = await isolationWorld();
});

describe("COMMANDS in isolation/cli.test.ts", () => {
  test.each(allCommands.map((command) => [pathOf(command), command] as const))(
    "has every argument and option of %s",
    (path, command) => {
      expect(namesOf(path, command), adviceFor(path)).toBe(COMMANDS[path]?.names);
    },
  );

  test("has no command that no longer exists", () => {
    expect(Object.keys(COMMANDS).toSorted()).toEqual(allCommands.map(pathOf).toSorted());
  });

  test("names the arguments of a command without an entry", async () => {
    const program = await createProgram();
    program.commands
      .find((command) => command.name() === "case")!
      .command("gift")
      .argument("<lender>")
      .argument("<case-id>");
    const gift = commandsOf(program).find((command) => command.name() === "gift")!;
    expect(COMMANDS[pathOf(gift)]).toBeUndefined();
    expect(namesOf(pathOf(gift), gift)).toBe("<lender> <case-id>");
  });
});

describe("a command with one lender's code and another's id", () => {
  const trials = Object.entries(COMMANDS).flatMap(([path, { trial }]) =>
    "args" in trial ? [[path, trial] as const] : [],
  );

  test.each(trials)(
    "%s answers as if the id did not exist, and changes nothing",
    async (path, { args, code, says }) => {
      const given = [...path.split(" "), ...args(world)];
      const changes = await changesAtB(world, async () => {
        const result = await world.cli(...given);
        expect(result, result.stderr).toMatchObject({ code: code ?? EXIT.notFound });
        expect(result.stdout + result.stderr).toContain(says ?? "There is no");
        expect(leaksIn(world, result.stdout + result.stderr, given)).toEqual([]);
      });
      expect(changes).toEqual([]);
    },
  );

  test("succeeds with the code of the id's own lender", async () => {
    const { b, loanOfB } = world;
    expect(await world.cli("ledger", "statement", b.twin.code, loanOfB())).toMatchObject({ code: EXIT.done });
    const held = await world.cli("case", "hold", b.twin.code, loanOfB(), ...REASON);
    expect(held).toMatchObject({ code: EXIT.done });
    const listed = await world.cli("delivery", "list", "--lender", b.twin.code, "--loan", loanOfB());
    expect(leaksIn(world, listed.stdout)).not.toEqual([]);
  });

  test.each([
    "delivery list --lender",
    "delivery replays --lender",
    "key list",
    "endpoint show",
    "lender show",
    "doctor --lender",
    "today --lender",
  ])("%s shows no data of another lender", async (command) => {
    const show = async (code: string) => (await world.cli(...command.split(" "), code, "--json")).stdout;
    expect(leaksIn(world, await show(world.a.twin.code))).toEqual([]);
    expect(leaksIn(world, await show(world.b.twin.code))).not.toEqual([]);
  });

  test("delivery replay with another lender's loan sends nothing", async () => {
    const { a, cli, loanOfB } = world;
    const changes = await changesAtB(world, async () => {
      const options = ["--lender", a.twin.code, "--loan", loanOfB(), "--state", "delivered", ...REASON];
      expect(await cli.json("delivery", "replay", ...options)).toMatchObject({ count: 0 });
    });
    expect(changes).toEqual([]);
  });

  test("delivery list with another lender's cursor shows no other deliveries", async () => {
    const { a, b, cli } = world;
    const cursor = b.eventIds[1]!.replace("evt_", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    const { code, stdout, stderr } = await cli("delivery", "list", "--lender", a.twin.code, "--cursor", cursor);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: "" });
    expect(stdout).toContain(a.eventIds[1]);
    expect(leaksIn(world, stdout)).toEqual([]);
  });
});

function aLoan({ a, loanOfB }: World): readonly string[] {
  return [a.twin.code, loanOfB()];
}

function aPayment(world: World): readonly string[] {
  return [...aLoan(world), REFERENCE];
}

/** Returns all commands that are not groups of commands. */
function commandsOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(commandsOf);
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}

function namesOf(path: string, command: Command): string {
  const named = command.registeredArguments.map((arg) => (arg.required ? `<${arg.name()}>` : `[${arg.name()}]`));
  const options = OF_LENDER.test(path)
    ? []
    : command.options.map(({ long }) => long!).filter((long) => !OTHER_OPTIONS.test(long));
  return [...named, ...options].join(" ");
}

function adviceFor(path: string): string {
  return `update "${path}" in COMMANDS of isolation/cli.test.ts: list these arguments and options, and add a trial that names something of another lender`;
}
