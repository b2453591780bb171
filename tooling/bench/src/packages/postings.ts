import { randomUUID } from "node:crypto";
import type { Account, AccountKind, LedgerProgram, Transfer } from "./ledger-program.ts";

/** How the two transfers of a posting choose their accounts. */
export type Workload =
  /** A wallet pays a second one, which passes a share on to a third one. */
  | "spread"
  /** The bank pays into a wallet, which pays a fee. All postings have the bank and the account of fees in common. */
  | "shared"
  /** A purse pays two others, and may not fall below 0. */
  | "limited";

/** The text of the report for each workload. */
export const WORKLOADS: Readonly<Record<Workload, string>> = {
  spread: "postings between wallets",
  shared: "postings with a bank and a fee in common",
  limited: "postings between purses that stay above 0",
};

const AMOUNT = 100;
const SHARE = 3;
/** More than all postings of a run could take from a purse. */
const OPENING_AMOUNT = 1_000_000_000;
/** The number of transfers that one transaction posts when a ledger is filled. */
const FILL = 500;

/** Returns the two transfers of the next posting, between random accounts of `count` wallets and purses. */
export function postingOf(workload: Workload, count: number): Transfer[] {
  const [first, second, third] = threeBelow(count);
  const one = (kind: AccountKind, index = 0): Account => ({ kind, index });
  switch (workload) {
    case "spread":
      return [
        { from: one("wallet", first), to: one("wallet", second), amountMinor: AMOUNT },
        { from: one("wallet", second), to: one("wallet", third), amountMinor: SHARE },
      ];
    case "shared":
      return [
        { from: one("bank"), to: one("wallet", first), amountMinor: AMOUNT },
        { from: one("wallet", first), to: one("fees"), amountMinor: SHARE },
      ];
    case "limited":
      return [
        { from: one("purse", first), to: one("purse", second), amountMinor: AMOUNT },
        { from: one("purse", first), to: one("purse", third), amountMinor: SHARE },
      ];
  }
}

/** Pays the opening amount into each purse. Returns the number of transfers. */
export function fundPurses(program: LedgerProgram, count: number): Promise<number> {
  return fill(program, count, (index) => ({ kind: "purse", index }), OPENING_AMOUNT);
}

/** Posts transfers to the busy account. Returns their number. */
export function fillBusyAccount(program: LedgerProgram, transfers: number): Promise<number> {
  return fill(program, transfers, () => ({ kind: "busy", index: 0 }), AMOUNT);
}

async function fill(
  program: LedgerProgram,
  transfers: number,
  to: (index: number) => Account,
  amountMinor: number,
): Promise<number> {
  const from: Account = { kind: "bank", index: 0 };
  for (let first = 0; first < transfers; first += FILL) {
    const length = Math.min(FILL, transfers - first);
    await program.post(
      randomUUID(),
      Array.from({ length }, (_, place) => ({ from, to: to(first + place), amountMinor })),
    );
  }
  return transfers;
}

/** Returns three different numbers below `count`. */
function threeBelow(count: number): [number, number, number] {
  const first = Math.floor(Math.random() * count);
  const step = 1 + Math.floor(Math.random() * Math.floor((count - 1) / 2));
  return [first, (first + step) % count, (first + 2 * step) % count];
}
