import { readFileSync } from "node:fs";
import { EXIT, Refusal } from "./refusal.ts";
import { tell } from "./terminal.ts";

/** How to give the value of an option that takes a secret, for help texts. */
export const SECRET_HELP = "give it as @file, or give - to read it from standard input";

/**
 * Reads the values of options that take a secret. The keys of `given` are the names of the options, such as
 * `--whatsapp-token`. `@file` means the content of a file, and `-` means standard input, both without the line break at
 * the end. Any other value is used as it is, with a warning, because everybody on the machine can read the command line
 * of a process.
 */
export function readSecrets(given: Readonly<Record<string, string>>): Record<string, string> {
  const fromInput = Object.keys(given).filter((option) => given[option] === "-");
  if (fromInput.length > 1) throw unusable(`${fromInput.join(" and ")}: only one option can read standard input.`);
  return Object.fromEntries(Object.entries(given).map(([option, value]) => [option, readSecret(option, value)]));
}

function readSecret(option: string, value: string): string {
  if (value === "-") return contentOf(option, 0, "standard input");
  if (value.startsWith("@")) return contentOf(option, value.slice(1), value.slice(1));
  // An empty value removes the setting, so it is no secret.
  if (value !== "") {
    tell(
      `Warning: the value of ${option} can be read by everybody on this machine (ps), and your shell may keep it. ` +
        `Write it to a file that only you can read and give ${option} @file, or give ${option} - and send it to standard input.`,
    );
  }
  return value;
}

function contentOf(option: string, source: string | 0, name: string): string {
  let content: string;
  try {
    content = readFileSync(source, "utf8");
  } catch (error) {
    throw unusable(`${option}: ${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const secret = content.replace(/^\uFEFF/, "").replace(/\r?\n$/, "");
  // Reject an empty file. An empty value would remove the setting, and a person who names a file does not intend this.
  if (secret === "") throw unusable(`${option}: ${name} is empty.`);
  return secret;
}

function unusable(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}
