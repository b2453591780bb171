import { caseByLoan } from "@collections/cases";
import type { Database, Tx } from "@collections/entities";
import { ensureFieldPartner, type FieldPartner } from "@collections/field-partners";
import type { LenderProfile } from "@collections/lenders";
import { assignCase } from "../case/change-case.ts";

/** The field partners who play scenes. Nobody else gets their cases, and no real phone has their numbers. */
export type Visitors = readonly [FieldPartner, FieldPartner];

/** Numbers that Ofcom reserves for fiction, so a sign-in code never reaches anybody. */
const PEOPLE = [
  { displayName: "Sandbox Visitor 1", phone: "+447700900001", timeZone: "UTC" },
  { displayName: "Sandbox Visitor 2", phone: "+447700900002", timeZone: "UTC" },
] as const;

/** Returns the sandbox visitors. All lenders of a sandbox share them. The first scene registers them. */
export async function sandboxVisitors(tx: Tx): Promise<Visitors> {
  const [first, second] = PEOPLE;
  return [await ensureFieldPartner(tx, first), await ensureFieldPartner(tx, second)];
}

/** The parts that a scene uses, and the loan on which it is played. */
export interface Stage {
  readonly database: Pick<Database, "em">;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  readonly mintTimeoutMs: number;
  readonly lender: LenderProfile;
  readonly loan: string;
  readonly caseId: string;
  /** Identifies this play: the id of its visit, and a part of the references of its payments. */
  readonly playId: string;
  readonly visitors: Visitors;
}

/** The scene ended early, for a reason that the lender's developer can read. The events so far remain. */
export class SceneStopped extends Error {
  override readonly name = "SceneStopped";
}

/** Assigns the case to the first visitor, unless a visitor has it already. Returns the visitor who has the case. */
export async function visitorWithCase(stage: Stage): Promise<FieldPartner> {
  const { visitors } = stage;
  const holderId = await holderOf(stage);
  const holder = visitors.find(({ id }) => id === holderId);
  return holder ?? give(stage, visitors[0]);
}

/** Assigns the case to the visitor who does not have it. */
export async function giveToOtherVisitor(stage: Stage): Promise<void> {
  const [first, second] = stage.visitors;
  const holder = await visitorWithCase(stage);
  await give(stage, holder.id === first.id ? second : first);
}

async function give({ database, environment, lender, loan }: Stage, visitor: FieldPartner): Promise<FieldPartner> {
  const order = { lender, loan, reason: "A scene of the sandbox", fieldPartnerId: visitor.id };
  const outcome = await assignCase(database.em(), order, environment);
  if (outcome.kind === "done") return visitor;
  throw new SceneStopped(
    outcome.kind === "refused" ? outcome.refusal.detail : `The case could not be assigned: ${outcome.kind}.`,
  );
}

async function holderOf({ database, lender, loan }: Stage): Promise<string | null> {
  return (await caseByLoan(database.em(), lender.id, loan))?.assignedFieldPartnerId ?? null;
}
