import type { Invariant } from "./evidence.ts";

export const ledgerVerifies: Invariant = {
  name: "`ledger verify` finds no problem",
  async violations({ verification: { ok, problems } }) {
    const found = problems.map(({ code, id, detail }) => `${code} ${id}: ${detail}`);
    return ok || found.length > 0 ? found : ["ledger verify reports ok: false without a problem"];
  },
};
