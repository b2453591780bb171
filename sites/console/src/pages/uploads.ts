import { type Html, html } from "../html.ts";
import { lenderField, listTable } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { uploadPath, withQuery } from "../paths.ts";
import { FILE_FIELD } from "../received-form.ts";
import { type TypedOptions, UPLOAD_KINDS, type UploadKind, type UploadsPage } from "../reads/uploads.ts";
import { words } from "../words.ts";

/** The typed values of a form that was refused. */
interface SentUpload {
  readonly hidden: Html;
  readonly typed?: TypedOptions;
  readonly problem?: string;
}

const TITLES: Readonly<Record<UploadKind, string>> = {
  cases: "Import cases from a file",
  payments: "Compare the payments of a day",
};

const ABOUT: Readonly<Record<UploadKind, string>> = {
  cases: "The file is checked first, and changes nothing until you apply it.",
  payments:
    "The file has all payments of the day. The page shows how they differ from the booked payments. It changes none of them.",
};

/** The form that uploads a file, and the uploads of a lender. */
export function uploadsPage(home: string, page: UploadsPage, { hidden, typed = {}, problem }: SentUpload): PageContent {
  const { lenderCodes, lenderCode, timeZone, kind, mostBytes, encodings } = page;
  const lender = lenderCode === undefined ? {} : { lender: lenderCode };
  return {
    title: "Import",
    main: html`<h1>${TITLES[kind]}</h1>
      <div class="choices" role="group" aria-label="Kind of file">
        ${UPLOAD_KINDS.map(
          (one) =>
            html`<a
              href="${home}${withQuery("/uploads", { kind: one, ...lender })}"
              aria-current="${one === kind ? "true" : "false"}"
              >${TITLES[one]}</a
            >`,
        )}
      </div>
      <p class="about">
        A CSV file in any encoding, or an Excel workbook (.xlsx), of at most
        ${String(Math.round(mostBytes / 1_048_576))} MiB. ${ABOUT[kind]} For a larger file, use the command or the API.
      </p>
      ${lenderCode === undefined ? html`<p role="status" class="empty">There is no such lender.</p>` : ""}
      <form method="post" action="${home}/uploads" enctype="multipart/form-data" class="act upload">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        <input type="hidden" name="kind" value="${kind}" />
        <div class="choice">${lenderField(lenderCodes, lenderCode)}</div>
        <label for="${FILE_FIELD}">File</label>
        <input id="${FILE_FIELD}" name="${FILE_FIELD}" type="file" accept=".csv,.txt,.tsv,.xlsx,text/csv" required />
        ${optionFields(kind, typed, { encodings })}
        <p class="buttons"><button type="submit">Upload and check</button></p>
      </form>
      <h2>Uploads of the last hours</h2>
      ${uploadsTable(home, page, timeZone ?? "")}`,
  };
}

function uploadsTable(home: string, { lenderCode, uploads }: UploadsPage, timeZone: string): Html {
  return listTable({
    label: "Uploads",
    items: lenderCode === undefined ? [] : uploads,
    none: "There is no upload yet. Choose a file above.",
    columns: [
      {
        label: "File",
        cell: ({ fileName, uploadId }) =>
          html`<a href="${home}${uploadPath({ lenderCode: lenderCode!, uploadId })}">${fileName}</a>`,
      },
      { label: "State", cell: ({ state }) => html`<span class="state">${words(state)}</span>` },
      { label: "By", cell: ({ uploadedBy }) => uploadedBy },
      { label: `At, ${timeZone}`, isShort: true, cell: ({ createdAt }) => createdAt },
    ],
  });
}

/** Returns the fields of the options that the command has, with their names in the command. */
export function optionFields(
  kind: UploadKind,
  typed: TypedOptions,
  { encodings, isOpen = false }: { readonly encodings: readonly string[]; readonly isOpen?: boolean },
): Html {
  const { day: _, ...others } = typed;
  const open = isOpen || Object.values(others).some((text) => text !== undefined && text !== "");
  return html`${kind === "payments" ? dayField(typed) : ""}
    <details ${open ? html`open` : html``}>
      <summary>Options for reading the file</summary>
      <div>
        <p class="about">Leave them empty unless the check asks for one of them. It names them as the command does.</p>
        ${kind === "payments" ? paymentFields(typed) : caseFields(typed)}
        <label for="map">Columns, one a line: Column=field, or Column=- to ignore one <code>--map</code></label>
        <textarea id="map" name="map" rows="3" maxlength="2000">${typed["map"] ?? ""}</textarea>
        ${choiceField(typed, { name: "dateOrder", option: "--date-order", label: "Order of day and month", values: ["dmy", "mdy"] })}
        ${choiceField(typed, { name: "decimal", option: "--decimal", label: "Sign before decimals", values: ["point", "comma"] })}
        ${choiceField(typed, { name: "encoding", option: "--encoding", label: "Encoding", values: encodings })}
        ${textField(typed, { name: "separator", option: "--separator", label: "Character between cells, or the word tab" })}
        ${textField(typed, { name: "headerLine", option: "--header-line", label: "Line with the names of the columns" })}
        ${textField(typed, { name: "sheet", option: "--sheet", label: "Sheet of the workbook, by name or number" })}
      </div>
    </details>`;
}

function dayField(typed: TypedOptions): Html {
  return html`<label for="day">Day of the payments, in the lender's time zone <code>--day</code></label>
    <input id="day" name="day" type="date" required value="${typed["day"] ?? ""}" />`;
}

function paymentFields(typed: TypedOptions): Html {
  return html`${textField(typed, { name: "paidTime", option: "--paid-time", label: "Time of payments that have only a date: 12:00" })}
  ${textField(typed, { name: "parts", option: "--parts", label: "Lines that are parts of one payment, with commas between them" })}`;
}

function caseFields(typed: TypedOptions): Html {
  return html`${textField(typed, {
      name: "asOf",
      option: "--as-of",
      label: "Moment of the balances, in the lender's local time: 2026-11-20 18:00",
    })}
    <label class="option">
      <input
        type="checkbox"
        name="allowSimilarLoans"
        value="on"
        ${typed["allowSimilarLoans"] === undefined ? html`` : html`checked`}
      />
      Create loans whose numbers differ from open loans only in leading zeros <code>--allow-similar-loans</code>
    </label>`;
}

interface OptionField {
  readonly name: string;
  /** The option of the command. */
  readonly option: string;
  readonly label: string;
}

function textField(typed: TypedOptions, { name, option, label }: OptionField): Html {
  return html`<label for="${name}">${label} <code>${option}</code></label>
    <input id="${name}" name="${name}" maxlength="200" autocomplete="off" value="${typed[name] ?? ""}" />`;
}

function choiceField(
  typed: TypedOptions,
  { name, option, label, values }: OptionField & { readonly values: readonly string[] },
): Html {
  return html`<label for="${name}">${label} <code>${option}</code></label>
    <select id="${name}" name="${name}">
      <option value="">As the file shows</option>
      ${values.map((value) =>
        value === typed[name] ? html`<option selected>${value}</option>` : html`<option>${value}</option>`,
      )}
    </select>`;
}
