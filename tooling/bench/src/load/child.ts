import { fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** A part of the benchmark in its own process, so that its work does not count as the work of another part. */
export interface Child {
  readonly pid: number;
  /** Sends a question and resolves with its answer. Rejects if the child fails or ends. */
  ask<Answer>(question: object): Promise<Answer>;
  stop(): Promise<void>;
}

type Reply = { readonly answer: unknown } | { readonly error: string };

/** Starts a file that calls `answerQuestions`. Only one question may be under way at a time. */
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

/** Call this in the child process. Answers each question in turn. The child ends when its parent disconnects. */
export function answerQuestions(answer: (question: never) => Promise<unknown>): void {
  process.on("message", (question) => {
    answer(question as never).then(
      (value) => process.send!({ answer: value ?? null } satisfies Reply),
      (error: unknown) => process.send!({ error: String((error as Error).stack ?? error) } satisfies Reply),
    );
  });
  process.once("disconnect", () => process.exit());
}
