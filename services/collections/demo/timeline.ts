import { styleText } from "node:util";

/** Prints a story as it happens: who does what, and what came of it. */
export interface Timeline {
  act(title: string): void;
  /** Does a step and prints it with its outcome; a step that fails ends the story. */
  step<T>(who: Who, what: string, work: () => Promise<T>, told?: (result: T) => string[]): Promise<T>;
  end(): void;
}

export type Who = "operator" | "lender" | "field partner" | "borrower" | "gateway" | "service";

/** A step that was not seen. */
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
    async step(who, what, work, told = () => []) {
      const clock = styleText("dim", `${((performance.now() - startedAt) / 1_000).toFixed(2).padStart(6)} s`);
      const actor = styleText(COLOURS[who], who.padEnd(WHO_WIDTH));
      try {
        const result = await work();
        steps += 1;
        line(`${clock}  ${actor}  ${what}`);
        for (const detail of told(result)) line(`${" ".repeat(10 + WHO_WIDTH + 2)}${styleText("dim", detail)}`);
        return result;
      } catch (error) {
        line(`${clock}  ${actor}  ${styleText("red", "✗")} ${what}`);
        throw new StepFailed(`Not seen: ${what}. ${(error as Error).message}`, { cause: error });
      }
    },
    end() {
      line();
      line(styleText("green", `All ${steps} steps were seen.`));
    },
  };
}

/** Throws unless the story goes on as told. */
export function expected(condition: boolean, otherwise: () => string): asserts condition {
  if (!condition) throw new Error(otherwise());
}
