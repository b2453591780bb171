import type { Command } from "commander";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { EXIT } from "../../src/cli/terminal/refusal.ts";
import { changesAtB, isolationWorld, leaksIn, type World } from "./fixtures/isolation-world.ts";

// It takes seconds, and much longer on a machine that does much else.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** What a command is tried with: it names lender A by its code, and something of B's. */
interface Trial {
  readonly args: (world: World) => readonly string[];
  /** How it ends: not found, unless the command finds nothing among A's, or leaves alone what it names beside a code. */
  readonly code?: number;
  /** A part of what it says then. */
  readonly says?: string;
}

/** Why nothing of another lender's can be named: no code of a lender is said, or nothing else. */
interface NothingToName {
  readonly because: string;
}

const ONE_LENDER: NothingToName = { because: "it names a lender, and nothing else that is a lender's" };
const NO_LENDER: NothingToName = { because: "what it names says itself whose it is: operators act for every lender" };
const PEOPLE: NothingToName = { because: "field partners work for every lender" };
const REASON = ["--reason", "tried by a test"];

/** By command and, behind it, what of it names something: each argument and option that the program has. */
const COMMANDS: Readonly<Record<string, { readonly names: string; readonly trial: Trial | NothingToName }>> = {
  "lender create": {
    names: "",
    trial: { because: "what it makes is new; a code that is taken is refused, see cli/lender.test.ts" },
  },
  "lender update": { names: "<code>", trial: ONE_LENDER },
  "lender list": { names: "", trial: { because: "it names nothing" } },
  "lender show": { names: "<code>", trial: ONE_LENDER },
  "lender suspend": { names: "<code>", trial: ONE_LENDER },
  "lender resume": { names: "<code>", trial: ONE_LENDER },
  "key create": { names: "<lender>", trial: ONE_LENDER },
  "key list": { names: "<lender>", trial: ONE_LENDER },
  "key retire": { names: "<key-id>", trial: NO_LENDER },
  "key revoke": { names: "<key-id>", trial: NO_LENDER },
  "key use-for-signing": { names: "<key-id>", trial: NO_LENDER },
  "key debug": { names: "<key-id>", trial: NO_LENDER },
  "field-partner create": { names: "", trial: PEOPLE },
  "field-partner token": { names: "<id>", trial: PEOPLE },
  "field-partner suspend": { names: "<id>", trial: PEOPLE },
  "field-partner resume": { names: "<id>", trial: PEOPLE },
  "field-partner clear-code-limit": { names: "<id>", trial: PEOPLE },
  "case import": {
    names: "<file> --lender",
    trial: {
      because: "a file has loan numbers alone, which mean the lender's own: as POST import, see isolation/rest.test.ts",
    },
  },
  "case assign": {
    names: "<lender> <loan> <field-partner-id>",
    trial: { args: ({ a, b, loanOfB }) => [a.twin.code, loanOfB(), `fp_${b.fieldPartnerId.replaceAll("-", "")}`] },
  },
  "case unassign": { names: "<lender> <loan>", trial: { args: aLoan } },
  "case hold": { names: "<lender> <loan>", trial: { args: (world) => [...aLoan(world), ...REASON] } },
  "case release": { names: "<lender> <loan>", trial: { args: aLoan } },
  "case close": { names: "<lender> <loan>", trial: { args: (world) => [...aLoan(world), ...REASON] } },
  "endpoint show": { names: "<lender>", trial: ONE_LENDER },
  "endpoint probe": { names: "<lender>", trial: ONE_LENDER },
  "endpoint resume": { names: "<lender>", trial: ONE_LENDER },
  "delivery list": {
    names: "--lender --loan --cursor",
    trial: { args: ({ a, loanOfB }) => ["--lender", a.twin.code, "--loan", loanOfB()], code: EXIT.done, says: "No" },
  },
  "delivery show": { names: "<event-id>", trial: NO_LENDER },
  "delivery replay": {
    names: "[event-id] --lender --loan",
    trial: {
      args: ({ a, b }) => [b.eventIds[0]!, "--lender", a.twin.code, ...REASON],
      code: EXIT.notUnderstood,
      says: "An event is replayed by itself",
    },
  },
  "delivery replays": { names: "--lender", trial: ONE_LENDER },
  "delivery cancel-replay": { names: "<replay-id>", trial: NO_LENDER },
  doctor: { names: "--lender", trial: ONE_LENDER },
  "ledger statement": { names: "<lender> <loan>", trial: { args: aLoan } },
  "ledger verify": { names: "--lender", trial: ONE_LENDER },
  "ledger anchor-keys": { names: "", trial: { because: "it is about the master key, and reads no row" } },
  "payout preview": { names: "<field-partner-id>", trial: PEOPLE },
  "payout record": { names: "<field-partner-id> --reference", trial: PEOPLE },
  "payout list": { names: "--field-partner --cursor", trial: PEOPLE },
  "payout show": { names: "<payout>", trial: PEOPLE },
  "master-key rotate": { names: "", trial: { because: "it is about all secrets at once" } },
  "master-key replace-lost": { names: "", trial: { because: "it is about all secrets at once" } },
  migrate: { names: "", trial: { because: "it is about tables, and reads no row" } },
  "persisted-operations make": { names: "<paths>", trial: { because: "it reads files, and no database" } },
};

/** Options that say how, and name nothing that is stored. */
const SAY_HOW =
  /^--(json|reason|force|dry-run|yes|resume|wait|limit|state|since|until|rate|kind|on|minutes|map|encoding|separator|date-order|as-of|out|name|phone|time-zone|currency|paid-on|amount|distribute|anchor|anchor-key)$/;
/** What is a lender's own: given together with its code, they change that lender. */
const OF_LENDER = /^lender (create|update)$/;

let world: World;

beforeAll(async () => {
  world = await isolationWorld();
});

describe("every command of the program is known, and each argument and option of it,", () => {
  test.each(commandsOf(createProgram()).map((command) => [pathOf(command), command] as const))(
    "of %s",
    (path, command) => {
      expect(namesOf(path, command), unknownWords(path)).toBe(COMMANDS[path]?.names);
    },
  );

  test("and none is told of that is gone", () => {
    expect(Object.keys(COMMANDS).toSorted()).toEqual(commandsOf(createProgram()).map(pathOf).toSorted());
  });

  test("and one that is new is found out", () => {
    const program = createProgram();
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

describe("with one lender's code and what is another's", () => {
  const trials = Object.entries(COMMANDS).flatMap(([path, { trial }]) =>
    "args" in trial ? [[path, trial] as const] : [],
  );

  test.each(trials)("%s says what it says of nothing, and changes nothing", async (path, { args, code, says }) => {
    const given = [...path.split(" "), ...args(world)];
    const changes = await changesAtB(world, async () => {
      const result = await world.cli(...given);
      expect(result, result.stderr).toMatchObject({ code: code ?? EXIT.notFound });
      expect(result.stdout + result.stderr).toContain(says ?? "There is no");
      expect(leaksIn(world, result.stdout + result.stderr, given)).toEqual([]);
    });
    expect(changes).toEqual([]);
  });

  test("its owner's code finds it: there was something to find", async () => {
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
  ])("%s shows nothing of another lender's", async (command) => {
    const show = async (code: string) => (await world.cli(...command.split(" "), code, "--json")).stdout;
    expect(leaksIn(world, await show(world.a.twin.code))).toEqual([]);
    expect(leaksIn(world, await show(world.b.twin.code))).not.toEqual([]);
  });

  test("a replay of one lender's events by another's loan sends nothing", async () => {
    const { a, cli, loanOfB } = world;
    const changes = await changesAtB(world, async () => {
      const options = ["--lender", a.twin.code, "--loan", loanOfB(), "--state", "delivered", ...REASON];
      expect(await cli.json("delivery", "replay", ...options)).toMatchObject({ count: 0 });
    });
    expect(changes).toEqual([]);
  });

  test("a page that goes on where another lender's ended shows one's own", async () => {
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

/** The commands that do something: groups only lead to them. */
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
    : command.options.map(({ long }) => long!).filter((long) => !SAY_HOW.test(long));
  return [...named, ...options].join(" ");
}

function unknownWords(path: string): string {
  return `say in COMMANDS of isolation/cli.test.ts what "${path}" names of a lender's, and try it with another lender's`;
}
