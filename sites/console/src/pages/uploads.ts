import { type Html, html } from "../html.ts";
import { lenderField, listTable } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { uploadPath } from "../paths.ts";
import { FILE_FIELD } from "../received-form.ts";
import type { ImportOptions, UploadsPage } from "../reads/uploads.ts";
import { words } from "../words.ts";

/** The typed values of a form that was refused. */
interface SentUpload {
  readonly hidden: Html;
  readonly typed?: ImportOptions;
  readonly problem?: string;
}

/** The form that uploads a file of cases, and the uploads of a lender. */
export function uploadsPage(home: string, page: UploadsPage, { hidden, typed = {}, problem }: SentUpload): PageContent {
  const { lenderCodes, lenderCode, timeZone, uploads, mostBytes, encodings } = page;
  return {
    title: "Import",
    main: html`<h1>Import cases from a file</h1>
      <p class="about">
        A CSV file in any encoding, or an Excel workbook (.xlsx), of at most ${mebibytes(mostBytes)} MiB. The file is
        checked first, and changes nothing until you apply it. Import a larger file by the command
        <code>case import</code> or by the API.
      </p>
      ${lenderCode === undefined ? html`<p role="status" class="empty">There is no such lender.</p>` : ""}
      <form method="post" action="${home}/uploads" enctype="multipart/form-data" class="act upload">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        <div class="choice">${lenderField(lenderCodes, lenderCode)}</div>
        <label for="${FILE_FIELD}">File</label>
        <input id="${FILE_FIELD}" name="${FILE_FIELD}" type="file" accept=".csv,.txt,.tsv,.xlsx,text/csv" required />
        ${optionFields(typed, encodings)}
        <p class="buttons"><button type="submit">Upload and check</button></p>
      </form>
      <h2 class="next">Uploads of the last hours</h2>
      ${listTable({
        label: "Uploads",
        items: lenderCode === undefined ? [] : uploads,
        none: "There is no upload.",
        columns: [
          {
            label: "File",
            cell: ({ fileName, uploadId }) =>
              html`<a href="${home}${uploadPath({ lenderCode: lenderCode!, uploadId })}">${fileName}</a>`,
          },
          { label: "State", cell: ({ state }) => html`<span class="state">${words(state)}</span>` },
          { label: "By", cell: ({ uploadedBy }) => uploadedBy },
          { label: `At, ${timeZone ?? ""}`, cell: ({ createdAt }) => createdAt },
        ],
      })}`,
  };
}

/** Returns the size of a file as a number of MiB. */
export function mebibytes(bytes: number): string {
  return String(Math.round(bytes / 1_024 / 1_024));
}

/** Returns the fields of the options that the command has, with their names in the command. */
export function optionFields(typed: ImportOptions, encodings: readonly string[], isOpen = false): Html {
  const open = isOpen || Object.values(typed).some((text) => text !== undefined && text !== "");
  return html`<details ${open ? html`open` : html``}>
    <summary>Options for reading the file</summary>
    <div>
      <p class="about">Leave them empty unless the check asks for one of them. It names them as the command does.</p>
      ${textField(typed, { name: "asOf", option: "--as-of", label: "Moment of the balances, in the lender's local time: 2026-11-20 18:00" })}
      <label for="map">Columns, one a line: Column=field, or Column=- to ignore one <code>--map</code></label>
      <textarea id="map" name="map" rows="3" maxlength="2000">${typed["map"] ?? ""}</textarea>
      ${choiceField(typed, { name: "dateOrder", option: "--date-order", label: "Order of day and month", values: ["dmy", "mdy"] })}
      ${choiceField(typed, { name: "decimal", option: "--decimal", label: "Sign before decimals", values: ["point", "comma"] })}
      ${choiceField(typed, { name: "encoding", option: "--encoding", label: "Encoding", values: encodings })}
      ${textField(typed, { name: "separator", option: "--separator", label: "Character between cells, or the word tab" })}
      ${textField(typed, { name: "headerLine", option: "--header-line", label: "Line with the names of the columns" })}
      ${textField(typed, { name: "sheet", option: "--sheet", label: "Sheet of the workbook, by name or number" })}
      <label class="tick">
        <input
          type="checkbox"
          name="allowSimilarLoans"
          value="on"
          ${typed["allowSimilarLoans"] === undefined ? html`` : html`checked`}
        />
        Create loans whose numbers differ from open loans only in leading zeros <code>--allow-similar-loans</code>
      </label>
    </div>
  </details>`;
}

interface OptionField {
  readonly name: string;
  /** The option of the command. */
  readonly option: string;
  readonly label: string;
}

function textField(typed: ImportOptions, { name, option, label }: OptionField): Html {
  return html`<label for="${name}">${label} <code>${option}</code></label>
    <input id="${name}" name="${name}" maxlength="200" autocomplete="off" value="${typed[name] ?? ""}" />`;
}

function choiceField(
  typed: ImportOptions,
  { name, option, label, values }: OptionField & { readonly values: readonly string[] },
): Html {
  return html`<label for="${name}">${label} <code>${option}</code></label>
    <select id="${name}" name="${name}">
      <option value="">as the file shows</option>
      ${values.map((value) => (value === typed[name] ? html`<option selected>${value}</option>` : html`<option>${value}</option>`))}
    </select>`;
}
