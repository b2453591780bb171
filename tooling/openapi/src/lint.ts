import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type Ended, ProgramError, runProgram } from "./program.ts";

/** A rule that an OpenAPI document breaks. */
export interface Finding {
  readonly rule: string;
  /** The place in the document, such as `#/components/schemas/Booking`. */
  readonly place: string;
  readonly message: string;
}

const REDOCLY_RULES = fileURLToPath(new URL("../rules/redocly.yaml", import.meta.url));
const SPECTRAL_RULES = fileURLToPath(new URL("../rules/spectral.yaml", import.meta.url));

/** Returns the rules of `rules/redocly.yaml` that the document in this file breaks, warnings included. */
export async function lintWithRedocly(file: string): Promise<Finding[]> {
  const args = ["lint", "--config", REDOCLY_RULES, "--format", "json", "--max-problems", "1000", file];
  const ended = await runProgram("@redocly/cli", "redocly", args, dirname(file));
  const { problems } = parsed("redocly", ended) as { problems: RedoclyProblem[] };
  return problems.map(({ ruleId, message, location: [first] }) => ({
    rule: ruleId,
    place: first?.pointer ?? "",
    message,
  }));
}

interface RedoclyProblem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** Returns the rules of `rules/spectral.yaml` that the document in this file breaks, hints included. */
export async function lintWithSpectral(file: string): Promise<Finding[]> {
  const args = ["lint", "--ruleset", SPECTRAL_RULES, "--fail-severity", "hint", "--quiet", "--format", "json", file];
  const ended = await runProgram("@stoplight/spectral-cli", "spectral", args, dirname(file));
  const problems = parsed("spectral", ended) as SpectralProblem[];
  return problems.map(({ code, message, path }) => ({ rule: code, place: `#/${path.join("/")}`, message }));
}

interface SpectralProblem {
  readonly code: string;
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** Returns the JSON that a linter wrote. A linter exits with 1 if it found something, and with more if it failed. */
function parsed(program: string, ended: Ended): unknown {
  if (ended.exitCode > 1) throw new ProgramError(program, ended);
  try {
    return JSON.parse(ended.stdout);
  } catch {
    throw new ProgramError(program, ended);
  }
}
