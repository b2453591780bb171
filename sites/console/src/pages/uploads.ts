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
  const { lenderCodes, lenderCode, timeZone, kind, mostBytes } = page;
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
        ${String(Math.round(mostBytes / 1_048_576))} MiB. ${ABOUT[kind]} For a larger file, use the API.
      </p>
      ${lenderCode === undefined ? html`<p role="status" class="empty">There is no such lender.</p>` : ""}
      <form method="post" action="${home}/uploads" enctype="multipart/form-data" class="act upload">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        <input type="hidden" name="kind" value="${kind}" />
        <div class="choice">${lenderField(lenderCodes, lenderCode)}</div>
        <label for="${FILE_FIELD}">File</label>
        <input id="${FILE_FIELD}" name="${FILE_FIELD}" type="file" accept=".csv,.txt,.tsv,.xlsx,text/csv" required />
        ${optionFields(page, typed)}
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

/** What the fields of the options need. */
type OptionsOf = Pick<UploadsPage, "kind" | "encodings" | "labels">;

/** Returns the fields of the options that the command has. */
export function optionFields(of: OptionsOf, typed: TypedOptions, isOpen = false): Html {
  const { day: _, ...others } = typed;
  const open = isOpen || Object.values(others).some((text) => text !== undefined && text !== "");
  const choice = (name: string, values: readonly (readonly [value: string, label: string])[]) =>
    choiceField(of, typed, { name, values });
  return html`${of.kind === "payments" ? dayField(of, typed) : ""}
    <details ${open ? html`open` : html``}>
      <summary>Options for reading the file</summary>
      <div>
        <p class="about">Leave them empty unless the check asks for one of them.</p>
        ${of.kind === "payments" ? paymentFields(of, typed) : caseFields(of, typed)}
        <label for="map">${of.labels["map"]}</label>
        <textarea id="map" name="map" rows="3" maxlength="2000" aria-describedby="map-note">
${typed["map"] ?? ""}</textarea>
        <p id="map-note" class="about">One a line: Column=field, or Column=- to ignore a column.</p>
        ${choice("dateOrder", [
          ["dmy", "Day first (dmy)"],
          ["mdy", "Month first (mdy)"],
        ])}
        ${choice("decimal", [
          ["point", "Point"],
          ["comma", "Comma"],
        ])}
        ${choice(
          "encoding",
          of.encodings.map((one) => [one, one]),
        )}
        ${textField(of, typed, { name: "separator", note: "One character, or the word tab." })}
        ${textField(of, typed, { name: "headerLine", note: "The number of the line with the names of the columns." })}
        ${textField(of, typed, { name: "sheet", note: "Its name or number." })}
      </div>
    </details>`;
}

function dayField({ labels }: OptionsOf, typed: TypedOptions): Html {
  return html`<label for="day">${labels["day"]}, in the lender's time zone</label>
    <input id="day" name="day" type="date" required value="${typed["day"] ?? ""}" />`;
}

function paymentFields(of: OptionsOf, typed: TypedOptions): Html {
  return html`${textField(of, typed, { name: "paidTime", note: "Such as 12:00, in the lender's local time." })}
  ${textField(of, typed, { name: "parts", note: "A line of each payment whose lines are its parts, with commas between them." })}`;
}

function caseFields(of: OptionsOf, typed: TypedOptions): Html {
  return html`${textField(of, typed, {
      name: "asOf",
      note: "The balances include payments up to then. In the lender's local time, such as 2026-11-20 18:00.",
    })}
    <label class="option">
      <input
        type="checkbox"
        name="allowSimilarLoans"
        value="on"
        ${typed["allowSimilarLoans"] === undefined ? html`` : html`checked`}
      />
      ${of.labels["allowSimilarLoans"]}
    </label>`;
}

function textField(
  { labels }: OptionsOf,
  typed: TypedOptions,
  { name, note }: { readonly name: string; readonly note: string },
): Html {
  return html`<label for="${name}">${labels[name]}</label>
    <input
      id="${name}"
      name="${name}"
      maxlength="200"
      autocomplete="off"
      aria-describedby="${name}-note"
      value="${typed[name] ?? ""}"
    />
    <p id="${name}-note" class="about">${note}</p>`;
}

function choiceField(
  { labels }: OptionsOf,
  typed: TypedOptions,
  { name, values }: { readonly name: string; readonly values: readonly (readonly [value: string, label: string])[] },
): Html {
  return html`<label for="${name}">${labels[name]}</label>
    <select id="${name}" name="${name}">
      <option value="">As the file shows</option>
      ${values.map(([value, label]) =>
        value === typed[name]
          ? html`<option value="${value}" selected>${label}</option>`
          : html`<option value="${value}">${label}</option>`,
      )}
    </select>`;
}
