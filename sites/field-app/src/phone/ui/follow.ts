import { element, fill } from "@collections/web-pages/browser";
import { keepAnswer, keptAnswer, type Question } from "../data/kept-answers.ts";
import { onOutboxChange, outbox } from "../data/outbox.ts";
import { button, notice, nothing, skeleton } from "./parts.ts";
import type { Place } from "./screen.ts";
import { ask, SignedOutError } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { momentOf } from "../language/formats.ts";
import { errorWords } from "./error-words.ts";

/**
 * Draws the stored answer to a query, and then the service's answer. Repeats the query and draws its answer again
 * whenever the answer may have changed. Without a network, shows how old the stored answer is.
 */
export function follow<Data>({ main, signal }: Place, question: Question<Data>, draw: (data: Data) => Node[]): void {
  const { operation, variables = {} } = question;
  const kept = keptAnswer(question);
  const about = element("div");
  const content = element("div");
  let shown = "";
  let atMs = kept?.atMs;
  fill(main, about, content);

  function drawNew(data: Data): void {
    const text = JSON.stringify(data);
    if (text === shown) return;
    shown = text;
    fill(content, ...draw(data));
  }

  async function load(): Promise<void> {
    try {
      const data = await ask(operation, variables);
      if (signal.aborted) return;
      keepAnswer(question, data);
      atMs = Date.now();
      fill(about);
      drawNew(data);
    } catch (error) {
      if (error instanceof SignedOutError || signal.aborted) return;
      showFault(errorWords(error));
    }
  }

  function showFault(words: string): void {
    if (shown === "") {
      fill(content, nothing("offline", words, button(texts().tryAgain, load, "secondary")));
      return;
    }
    const asOf = texts().stateAt(momentOf(new Date(atMs ?? Date.now())));
    // Without a network, shows only the time: the status line already says that there is no network.
    fill(
      about,
      navigator.onLine ? notice("quiet", "offline", `${words} ${asOf}`) : element("p", { class: "hint" }, asOf),
    );
  }

  if (kept) drawNew(kept.data);
  else fill(content, skeleton());
  void load();
  reloadWhenever(() => void load(), signal);
}

/**
 * Calls `reload` when an action from the outbox has reached the service, when the network is back, and when the user
 * returns to the app.
 */
export function reloadWhenever(reload: () => void, signal: AbortSignal): void {
  let open = stillOpen();
  onOutboxChange(() => {
    const now = stillOpen();
    if (now < open) reload();
    open = now;
  }, signal);
  globalThis.addEventListener("online", reload, { signal });
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && reload(), { signal });
}

function stillOpen(): number {
  return outbox().filter(({ state }) => state === "waiting").length;
}
