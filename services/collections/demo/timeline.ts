import { styleText } from "node:util";

/** Prints the steps of the demo as they happen: who does what, and the outcome. */
export interface Timeline {
  act(title: string): void;
  /** Runs a step and prints it with its outcome. A step that fails ends the demo. */
  step<T>(who: Who, what: string, work: () => Promise<T>, outcomeOf?: (result: T) => string[]): Promise<T>;
  end(): void;
}

export type Who = "operator" | "lender" | "field partner" | "borrower" | "gateway" | "service";

/** A step failed. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

const WHO_WIDTH = 13;
const COLOURS = {
  operator: "magenta",
  lender: "cyan",
  "field partner": "yellow",
  borrower: "green",
  gateway: "cyan",
  service: "blue",
} as const satisfies Record<Who, string>;

export function createTimeline(): Timeline {
  const startedAt = performance.now();
  let steps = 0;

  function line(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  return {
    act(title) {
      line();
      line(styleText("bold", title));
    },
    async step(who, what, work, outcomeOf = () => []) {
      const clock = styleText("dim", `${((performance.now() - startedAt) / 1_000).toFixed(2).padStart(6)} s`);
      const actor = styleText(COLOURS[who], who.padEnd(WHO_WIDTH));
      try {
        const result = await work();
        steps += 1;
        line(`${clock}  ${actor}  ${what}`);
        for (const detail of outcomeOf(result)) line(`${" ".repeat(10 + WHO_WIDTH + 2)}${styleText("dim", detail)}`);
        return result;
      } catch (error) {
        line(`${clock}  ${actor}  ${styleText("red", "✗")} ${what}`);
        throw new StepFailed(`Failed: ${what}. ${(error as Error).message}`, { cause: error });
      }
    },
    end() {
      line();
      line(styleText("green", `All ${steps} steps succeeded.`));
    },
  };
}

/** Throws an Error with the message of `otherwise` if the condition is false. */
export function expected(condition: boolean, otherwise: () => string): asserts condition {
  if (!condition) throw new Error(otherwise());
}
