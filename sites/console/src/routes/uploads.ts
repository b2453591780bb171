import { reasonIn } from "../act-form.ts";
import { formIdIn } from "../form-check.ts";
import { noUploadPage, uploadPage } from "../pages/upload.ts";
import { uploadsPage } from "../pages/uploads.ts";
import { uploadPath } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { UPLOAD_KINDS, type UploadKind } from "../reads/uploads.ts";
import { answerForm } from "./answer-form.ts";

const PATH = "/uploads/:lender/:upload";

function nameIn(params: Readonly<Record<string, string>>) {
  return { lenderCode: params["lender"]!, uploadId: params["upload"]! };
}

function kindIn(fields: URLSearchParams): UploadKind {
  return UPLOAD_KINDS.find((kind) => kind === fields.get("kind")) ?? "cases";
}

/** The pages and forms that import cases or compare payments from a file: the upload, its check, the import and the rejected rows. */
export const UPLOAD_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/uploads",
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, query }) {
      const wanted = { lender: query.get("lender") ?? undefined, kind: kindIn(query) };
      return { page: uploadsPage(home, await desk.uploads(wanted), { hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: "/uploads",
    roles: OPERATORS,
    isForLenders: true,
    takesFile: true,
    async answer(visit) {
      const { acts, desk, file, form, home, hiddenFields } = visit;
      const fields = Object.fromEntries(form);
      const name = { lenderCode: form.get("lender") ?? "", uploadId: formIdIn(form) ?? "" };
      return answerForm(visit, {
        problem: file ? undefined : "Choose a file.",
        perform: () => acts.storeFile({ ...name, kind: kindIn(form), fields, file: file! }),
        again: async (problem) => {
          const page = await desk.uploads({ lender: form.get("lender") ?? undefined, kind: kindIn(form) });
          return uploadsPage(home, page, { hidden: hiddenFields(), typed: fields, problem });
        },
        doneAt: home + uploadPath(name),
      });
    },
  },
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, operator, params }) {
      const view = await desk.upload(nameIn(params));
      if (!view) return { page: noUploadPage(), status: 404 };
      return { page: uploadPage(home, view, { hidden: hiddenFields, operator }) };
    },
  },
  {
    method: "get",
    path: `${PATH}/rejected.csv`,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, params }) {
      const download = await desk.rejectedRows(nameIn(params));
      return download ? { download } : { page: noUploadPage(), status: 404 };
    },
  },
  {
    method: "post",
    path: `${PATH}/check`,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, operator, params } = visit;
      const name = nameIn(params);
      const view = await desk.upload(name);
      if (!view) return { page: noUploadPage(), status: 404 };
      const fields = Object.fromEntries(form);
      return answerForm(visit, {
        problem: undefined,
        perform: () => acts.checkFile({ ...name, version: form.get("version") ?? "", fields }),
        again: (problem) => {
          const typed = { ...view, options: fields };
          return uploadPage(home, typed, { hidden: hiddenFields, operator, refused: { form: "check", problem } });
        },
        doneAt: home + uploadPath(name),
      });
    },
  },
  {
    method: "post",
    path: `${PATH}/apply`,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, operator, params } = visit;
      const name = nameIn(params);
      const view = await desk.upload(name);
      if (!view) return { page: noUploadPage(), status: 404 };
      const { reason, problem } = reasonIn(form, false);
      return answerForm(visit, {
        problem,
        perform: () => acts.applyFile({ ...name, version: form.get("version") ?? "", reason }),
        again: async (because) => {
          const now = (await desk.upload(name)) ?? view;
          const refused = { form: "apply", problem: because, reason } as const;
          return uploadPage(home, now, { hidden: hiddenFields, operator, refused });
        },
        doneAt: home + uploadPath(name),
      });
    },
  },
];
