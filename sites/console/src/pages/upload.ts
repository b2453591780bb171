import type { ConsoleOperator } from "../access.ts";
import { actForm } from "../act-form.ts";
import { type Html, html } from "../html.ts";
import { factList, listTable, withWholeDays } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { missingPath, uploadPath, withQuery } from "../paths.ts";
import type { UploadView } from "../reads/uploads.ts";
import { capitalized, countText, words } from "../words.ts";
import { messagePage } from "./message.ts";
import { linesOf, comparedPayments } from "./compared-payments.ts";
import { optionFields } from "./uploads.ts";

/** How often the page of a running check or import is loaded again. */
const RELOAD_SECONDS = 3;

/** A refused form of the page. */
export interface RefusedForm {
  readonly form: "check" | "apply";
  readonly problem: string;
  readonly reason?: string;
}

interface UploadParts {
  readonly operator: ConsoleOperator;
  /** Returns the hidden fields of one form. */
  readonly hidden: () => Html;
  readonly refused?: RefusedForm;
}

/** The page of an uploaded file: its check with a dry run, the question, the progress, or the result of the import. */
export function uploadPage(home: string, view: UploadView, parts: UploadParts): PageContent {
  const { lenderCode, fileName, state, timeZone, uploadedBy, createdAt, expiresAt, sha256 } = view;
  const isRunning = state === "waiting" || state === "applying";
  return {
    title: fileName,
    section: "Import",
    ...(isRunning && { reloadAfterSeconds: RELOAD_SECONDS }),
    main: html`<h1>${fileName} <span class="state">${words(state)}</span></h1>
      <p class="about">
        For ${lenderCode}. Uploaded by ${uploadedBy} at ${withWholeDays(createdAt)}, deleted after
        ${withWholeDays(expiresAt)}, times in ${timeZone}. SHA-256 <code>${sha256}</code>.
      </p>
      <div class="parts">${contentOf(home, view, parts)}</div>
      <p class="more">
        <a href="${home}${withQuery("/uploads", { kind: view.kind, lender: lenderCode })}"
          >${view.kind === "payments" ? "Compare another file" : "Import another file"}</a
        >
      </p>`,
  };
}

/** The page for an upload that does not exist, or that has expired. */
export function noUploadPage(): PageContent {
  return messagePage(
    "Upload not found",
    "There is no such upload any more. A file is deleted an hour after its upload or its import. Upload it again.",
  );
}

/** The page for a file that the form cannot take. */
export function refusedUploadPage(title: string, text: string): PageContent {
  return { ...messagePage(title, text), section: "Import" };
}

function contentOf(home: string, view: UploadView, { operator, hidden, refused }: UploadParts): Html {
  const problemIn = (form: "check" | "apply") => (refused?.form === form ? refused.problem : undefined);
  switch (view.state) {
    case "waiting":
    case "applying":
      return progressOf(home, view);
    case "refused":
      return html`<p class="problem lines" role="alert">${view.problem ?? ""}</p>
        ${checkForm(home, view, { hidden: hidden(), problem: problemIn("check"), isOpen: true })}`;
    case "checked":
      if (view.kind === "payments") {
        return html`${fileOf(view)}
          ${view.reconciliation ? comparedPayments(home, view.lenderCode, view.reconciliation) : ""}
          ${missingLink(home, view, operator)} ${rejectedLink(home, view)}
          <h2>Compare the file in another way</h2>
          ${checkForm(home, view, { hidden: hidden(), problem: problemIn("check"), isOpen: false })}`;
      }
      return html`${fileOf(view)} ${changesOf(view, "What the file would change")}
        <p class="about">Nothing was changed yet.</p>
        ${actForm({
          home,
          path: uploadPath(view, "apply"),
          hidden: hidden(),
          fields: html`<input type="hidden" name="version" value="${view.version}" />`,
          problem: problemIn("apply"),
          reason: refused?.reason,
          needsReason: false,
          reasonNote: "The audit keeps the reason. The lender gets an event for each changed case.",
          button: "Apply the file",
          back: "/uploads",
        })}
        <h2>Check the file in another way</h2>
        ${checkForm(home, view, { hidden: hidden(), problem: problemIn("check"), isOpen: false })}`;
    case "applied":
      return html`<p class="done" role="status">
          The file is applied${view.appliedBy === null ? "" : ` by ${view.appliedBy}`}.
        </p>
        ${changesOf(view, "What the file has changed")} ${rejectedLink(home, view)}`;
  }
}

/** Returns the link to the form that books the missing payments. A lender's staff does not have it. */
function missingLink(home: string, view: UploadView, { lenderCode, roles }: ConsoleOperator): Html {
  const { missing = 0 } = view;
  if (missing === 0 || lenderCode !== null || !roles.includes("money")) return html``;
  const label = missing === 1 ? "Book the missing payment" : `Book the ${countText(missing)} missing payments`;
  return html`<p class="acts"><a href="${home}${missingPath(view)}">${label}</a></p>`;
}

function progressOf(home: string, view: UploadView): Html {
  const { state, rows, rowsDone } = view;
  const what = state === "waiting" ? "The file is being checked" : "The file is being applied";
  return html`<p role="status">${what}${rows === null ? "" : `: ${countText(rowsDone)} of ${countText(rows)} rows`}.</p>
    ${rows === null ? "" : html`<progress max="${rows}" value="${rowsDone}" aria-label="${what}"></progress>`}
    <p class="about">
      This page loads again every ${RELOAD_SECONDS} seconds until the work has ended. You may leave it.
      <a href="${home}${uploadPath(view)}">Load it now</a>
    </p>`;
}

function checkForm(
  home: string,
  view: UploadView,
  {
    hidden,
    problem,
    isOpen,
  }: { readonly hidden: Html; readonly problem: string | undefined; readonly isOpen: boolean },
): Html {
  return html`<form method="post" action="${home}${uploadPath(view, "check")}" class="check upload">
    ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
    <input type="hidden" name="version" value="${view.version}" />
    ${optionFields(view, view.options, isOpen)}
    <p class="buttons"><button type="submit" class="plain">Check the file again</button></p>
  </form>`;
}

function fileOf({ file, notes = [] }: UploadView): Html {
  if (!file) return html``;
  return html`<h2>How the file is read</h2>
    <p>${file.headline}</p>
    ${listTable({
      label: "Columns",
      items: file.columns,
      none: "No column is read.",
      columns: [
        { label: "Column", cell: ([column]) => column },
        { label: "Field", cell: ([, field]) => field },
      ],
    })}
    ${linesOf(file.ignored)}
    ${
      file.ranges.length === 0
        ? ""
        : listTable({
            label: "Days and amounts",
            items: file.ranges,
            none: "",
            columns: [
              { label: "Column", cell: ([column]) => column },
              { label: "From", isNumber: true, cell: ([, from]) => from },
              { label: "To", isNumber: true, cell: ([, , to]) => to },
              { label: "Sum", isNumber: true, cell: ([, , , sum]) => sum || "–" },
              { label: "Read with", cell: ([, , , , readWith]) => capitalized(readWith) || "–" },
            ],
          })
    }
    ${linesOf([...file.notices, ...notes])}`;
}

function changesOf({ changes }: UploadView, title: string): Html {
  if (!changes) return html``;
  const { counts, changed, rejected, leftOut, warnings } = changes;
  return html`<h2>${title}</h2>
    ${factList(counts.map(([name, count]) => [words(name), count]))}
    ${changed.map(({ kind, lines }) => group(`The first ${kind} cases`, lines))}
    ${group("The first rejected rows", rejected)} ${group("The first rows imported without a field", leftOut)}
    ${warnings.length === 0 ? "" : html`<p>Warnings: ${warnings.join("; ")}.</p>`}`;
}

function group(title: string, lines: readonly string[]): Html {
  return lines.length === 0
    ? html``
    : html`<h3>${title}</h3>
        ${linesOf(lines)}`;
}

function rejectedLink(home: string, view: UploadView): Html {
  if (!hasRejected(view)) return html``;
  return html`<p>
    <a href="${home}${uploadPath(view, "rejected.csv")}">Download all rejected rows with the reasons</a>. Correct them,
    and upload that file.
  </p>`;
}

function hasRejected({ changes, reconciliation }: UploadView): boolean {
  const counts = [...(changes?.counts ?? []), ...(reconciliation?.counts ?? [])];
  return counts.some(([name, count]) => (name === "rejected" || name === "notAssigned") && count !== "0");
}
