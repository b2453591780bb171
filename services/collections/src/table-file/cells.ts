import { isShortenedNumber, readIdentity } from "@collections/cases";
import { shown } from "./cell-text.ts";

/** The value of a cell, or a sentence that says what is wrong with the cell. */
export type CellReading<Value> = { readonly value: Value } | { readonly fault: string };

/** Reads yes or no. */
export function readYesCell(text: string): CellReading<boolean> {
  if (/^(?:y|yes|true|1)$/i.test(text)) return { value: true };
  if (/^(?:n|no|false|0)$/i.test(text)) return { value: false };
  return { fault: `${shown(text)} is neither yes nor no; write Y or N.` };
}

/** Reads a number such as 45, 18.52 or 18,52. */
export function readNumberCell(text: string): CellReading<number> {
  return /^-?\d+(?:[.,]\d+)?$/.test(text)
    ? { value: Number(text.replace(",", ".")) }
    : { fault: `${shown(text)} is not a number.` };
}

/** Reads a telephone number. Rejects a number such as 9.8E+9, in which a spreadsheet has lost digits. */
export function readPhoneCell(text: string): CellReading<string> {
  if (isShortenedNumber(text)) {
    return { fault: `${shown(text)} has lost digits in a spreadsheet: format the column as text and export it again.` };
  }
  return { value: text.replace(/^'(?=[+\d])/, "").replace(/(?<=\d)[.,]0+$/, "") };
}

/**
 * Reads a loan number or a reference. `isWhole`: each cell of the column is a whole number, so that an export has added
 * the `.0` of this one.
 */
export function readIdentityCell(text: string, isWhole: boolean | undefined): CellReading<string> {
  const reading = readIdentity(text);
  return isWhole && "value" in reading ? { value: reading.value.replace(WHOLE_DECIMALS, "") } : reading;
}

/** The decimals that some exports add to whole numbers. */
export const WHOLE_DECIMALS = /[.,]0+$/;
