import { FileNotReadableError } from "../file-text.ts";
import { type NumberKind, numberKind } from "./number-format.ts";
import { SharedTexts } from "./shared-texts.ts";
import { rowsOfSheet, type SheetRow } from "./sheet-rows.ts";
import { readWholeXml } from "./xml-events.ts";
import { type WorkbookLimits, ZipParts } from "./zip-parts.ts";

/** The sheet of a workbook that is read, and its rows. */
export interface OpenSheet {
  readonly name: string;
  /** The names of all sheets of the workbook, in their order. */
  readonly sheets: readonly string[];
  rows(): AsyncGenerator<SheetRow[]>;
}

interface NamedSheet {
  readonly name: string;
  readonly path: string;
  readonly isHidden: boolean;
}

const MAIN = "xl/workbook.xml";

/**
 * Opens a sheet of an Excel workbook: the one with the given name or number, or else the first that is not hidden. Throws
 * FileNotReadableError, which says what to do.
 */
export async function openSheet(bytes: Buffer, wanted: string | undefined, limits: WorkbookLimits): Promise<OpenSheet> {
  const parts = await ZipParts.open(bytes);
  if (!parts.has(MAIN)) {
    throw new FileNotReadableError(
      parts.has("xl/workbook.bin") || parts.has("content.xml")
        ? 'This is a spreadsheet in another format. Save it as an Excel workbook (.xlsx) or as "CSV UTF-8".'
        : "This is an archive without an Excel workbook. Unpack it, and give the file in it.",
    );
  }
  if (parts.has("xl/vbaProject.bin")) {
    throw new FileNotReadableError(
      'The workbook contains macros. Save it as an Excel workbook without macros (.xlsx) or as "CSV UTF-8".',
    );
  }
  const { partBytes, sheetBytes, columns } = limits;
  const targets = await targetsOf(parts, partBytes);
  const { sheets, dateSystem } = await readWorkbook(parts, targets, partBytes);
  const names = sheets.map(({ name }) => name);
  const sheet = chosenSheet(sheets, wanted);
  const texts = new SharedTexts();
  const sharedPath = [...targets.values()].find(({ type }) => type === "sharedStrings")?.path ?? "xl/sharedStrings.xml";
  if (parts.has(sharedPath)) await readWholeXml(parts.bytesOf(sharedPath, partBytes), texts.events());
  const stylesPath = [...targets.values()].find(({ type }) => type === "styles")?.path ?? "xl/styles.xml";
  const kinds = parts.has(stylesPath) ? await kindsOfStyles(parts, stylesPath, partBytes) : [];
  const context = { sheet: sheet.name, texts, kinds, dateSystem, mostColumns: columns };
  return { name: sheet.name, sheets: names, rows: () => rowsOfSheet(parts.bytesOf(sheet.path, sheetBytes), context) };
}

interface Target {
  readonly type: string;
  readonly path: string;
}

/** Returns the parts to which the workbook refers, by the ids of the references. */
async function targetsOf(parts: ZipParts, mostBytes: number): Promise<Map<string, Target>> {
  const targets = new Map<string, Target>();
  await readWholeXml(parts.bytesOf("xl/_rels/workbook.xml.rels", mostBytes), {
    open(name, { Id: id = "", Type: type = "", Target: target = "" }) {
      if (name !== "Relationship") return;
      const path = target.startsWith("/") ? target.slice(1) : `xl/${target}`;
      targets.set(id, { type: type.slice(type.lastIndexOf("/") + 1), path });
    },
  });
  return targets;
}

async function readWorkbook(
  parts: ZipParts,
  targets: ReadonlyMap<string, Target>,
  mostBytes: number,
): Promise<{ sheets: NamedSheet[]; dateSystem: 1900 | 1904 }> {
  const sheets: NamedSheet[] = [];
  let dateSystem: 1900 | 1904 = 1900;
  await readWholeXml(parts.bytesOf(MAIN, mostBytes), {
    open(element, attributes) {
      if (element === "workbookPr" && /^(?:1|true)$/.test(attributes["date1904"] ?? "")) dateSystem = 1904;
      if (element !== "sheet") return;
      const id = Object.entries(attributes).find(([name]) => name.endsWith(":id"))?.[1] ?? "";
      const target = targets.get(id);
      // A chart may be a sheet of its own, which has no rows.
      if (target?.type !== "worksheet") return;
      const isHidden = (attributes["state"] ?? "visible") !== "visible";
      sheets.push({ name: attributes["name"] ?? "", path: target.path, isHidden });
    },
  });
  return { sheets, dateSystem };
}

function chosenSheet(sheets: readonly NamedSheet[], wanted: string | undefined): NamedSheet {
  const names = sheets.map(({ name }) => `"${name}"`).join(", ");
  if (wanted === undefined) {
    const first = sheets.find(({ isHidden }) => !isHidden) ?? sheets[0];
    if (first) return first;
    throw new FileNotReadableError("The workbook has no sheet with rows.");
  }
  const same = (name: string) => name.trim().toLowerCase() === wanted.trim().toLowerCase();
  const sheet =
    sheets.find(({ name }) => same(name)) ?? (/^\d+$/.test(wanted) ? sheets[Number(wanted) - 1] : undefined);
  if (sheet) return sheet;
  throw new FileNotReadableError(`--sheet: the workbook has no sheet "${wanted}". Its sheets are ${names}.`);
}

/** Returns the kind of numbers of each cell style. */
async function kindsOfStyles(parts: ZipParts, path: string, mostBytes: number): Promise<NumberKind[]> {
  const codes = new Map<number, string>();
  const ids: number[] = [];
  let isOfCells = false;
  await readWholeXml(parts.bytesOf(path, mostBytes), {
    open(name, attributes) {
      if (name === "numFmt") codes.set(Number(attributes["numFmtId"]), attributes["formatCode"] ?? "");
      else if (name === "cellXfs") isOfCells = true;
      else if (name === "xf" && isOfCells) ids.push(Number(attributes["numFmtId"] ?? 0));
    },
    close(name) {
      if (name === "cellXfs") isOfCells = false;
    },
  });
  return ids.map((id) => numberKind(id, codes.get(id)));
}
