import { query, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import { UsedFormEntity } from "./schema.ts";

const forms = tableOf(UsedFormEntity);
const COLUMNS = ["id", "usedAt"] as const;

const insertForm = statement(
  "operators.use-form",
  `insert into ${forms.name} (${forms.columnList(COLUMNS)}) values ($1, $2)
   on conflict do nothing
   returning id`,
);

/**
 * Records that a form was sent. `formId` is a UUID that the page of the form has made. Returns false if the same form was
 * sent before, so that a repeat of the request changes nothing. Commit before the change that the form asks for: the change
 * is then made once at most.
 *
 * @example
 * const isFirst = await transaction(em, (tx) => useForm(tx, formId, now));
 */
export async function useForm(tx: Tx, formId: string, now: Date): Promise<boolean> {
  return (await query(tx, insertForm, [formId, now])).length > 0;
}
