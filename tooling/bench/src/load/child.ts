import { fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** A part of the benchmark in a process of its own, so that its work is not on the clock of another. */
export interface Child {
  readonly pid: number;
  /** Sends a question and resolves with its answer. Rejects with what the child could not do, or when it ends. */
  ask<Answer>(question: object): Promise<Answer>;
  stop(): Promise<void>;
}

type Reply = { readonly answer: unknown } | { readonly error: string };

/** Starts a file that calls `answerQuestions`. One question is under way at a time. */
export function startChild(file: URL): Child {
  const path = fileURLToPath(file);
  const child = fork(path, { execArgv: ["--disable-warning=ExperimentalWarning"] });
  const exited = once(child, "exit");
  return {
    pid: child.pid!,
    async ask<Answer>(question: object): Promise<Answer> {
      child.send(question);
      const reply = await Promise.race([
        once(child, "message").then(([message]) => message as Reply),
        exited.then(() => ({ error: "The process has ended." })),
      ]);
      if ("error" in reply) throw new Error(`${basename(path)}: ${reply.error}`);
      return reply.answer as Answer;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** In the child: answers each question in turn, and ends when its parent is gone or has no more. */
export function answerQuestions(answer: (question: never) => Promise<unknown>): void {
  process.on("message", (question) => {
    answer(question as never).then(
      (value) => process.send!({ answer: value ?? null } satisfies Reply),
      (error: unknown) => process.send!({ error: String((error as Error).stack ?? error) } satisfies Reply),
    );
  });
  process.once("disconnect", () => process.exit());
}
