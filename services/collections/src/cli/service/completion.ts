import { Argument, Command } from "commander";
import { answer } from "../terminal/with-database.ts";

const SHELLS = ["bash", "zsh"] as const;
type Shell = (typeof SHELLS)[number];

/**
 * `completion`: prints a script with which a shell completes commands and options.
 *
 * @param allCommands creates the program with all commands
 */
export function completionCommand(allCommands: () => Promise<Command>): Command {
  return new Command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .description("Print a script with which a shell completes commands and options.")
    .addHelpText(
      "after",
      `
The script completes the command "collections". Define it in your shell as a function that runs "pnpm --silent collections" or, in a
release, of "node /path/to/cli.js". The script contains the commands and options of this version; it runs nothing of what you
have typed.

Examples:
  collections() { pnpm --silent collections "$@"; }
  source <(collections completion bash)
  pnpm collections completion zsh --json`,
    )
    .action(async (shell: Shell) => {
      const script = scriptFor(shell, await allCommands());
      answer({ shell, script }, script);
    });
}

/** The words that may follow a command: its subcommands and options. */
interface Step {
  /** The command without the program's name: "", "lender" or "lender create". */
  readonly path: string;
  readonly words: readonly string[];
}

/** Returns the script, without a line break at its end. */
export function scriptFor(shell: Shell, program: Command): string {
  const steps = stepsOf(program, []);
  const known = steps.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`]));
  // A word after a command that has no subcommand of this name is an argument or a value, and leaves `given` as it is.
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_collections() {
  local given="" offered="" word="" place=1
  while [ "$place" -lt "$COMP_CWORD" ]; do
    word="\${given:+$given }\${COMP_WORDS[place]}"
    case "$word" in
      ${known.join("|")}) given="$word" ;;
    esac
    place=$((place + 1))
  done
  case "$given" in
${steps.map(({ path, words }) => `    "${path}") offered="${words.join(" ")}" ;;`).join("\n")}
  esac
  COMPREPLY=()
  for word in $offered; do
    [[ "$word" == "\${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$word")
  done
  return 0
}
complete -o default -F _collections collections`;
}

function stepsOf(command: Command, path: readonly string[]): Step[] {
  const { commands, options } = command;
  const words = [
    ...commands.map((child) => child.name()),
    ...options.flatMap(({ long, hidden }) => (long === undefined || long === null || hidden ? [] : [long])),
    "--help",
  ];
  return [{ path: path.join(" "), words }, ...commands.flatMap((child) => stepsOf(child, [...path, child.name()]))];
}
