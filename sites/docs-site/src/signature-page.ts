import type { PageContent } from "./layout.ts";

/** The text fields have no names, so that no browser can send them anywhere, even without scripts. */
const FORM = `<form id="debugger" autocomplete="off" novalidate>
<div class="field">
<label for="paste">A curl command or an HTTP request, to fill the fields</label>
<textarea id="paste" rows="3" spellcheck="false" aria-describedby="said" placeholder="curl -X POST https://… -H 'X-Service-Signature: …' -d '…'"></textarea>
<p class="said" id="said" role="status"></p>
</div>
<div class="row">
<div class="field method">
<label for="method">Method</label>
<input id="method" list="methods" spellcheck="false" autocapitalize="characters" placeholder="POST">
<datalist id="methods"><option value="GET"><option value="POST"></datalist>
</div>
<div class="field">
<label for="path">Path</label>
<input id="path" spellcheck="false" autocapitalize="none" placeholder="/api/v1/partner/cases" aria-describedby="path-hint">
<p class="hint" id="path-hint">The path as it was requested, or the whole URL.</p>
</div>
</div>
<div class="field">
<label for="timestamp">Timestamp</label>
<input id="timestamp" spellcheck="false" inputmode="numeric" placeholder="1795167667000" aria-describedby="timestamp-hint">
<p class="hint" id="timestamp-hint">The value of the header <code>X-Service-Timestamp</code>.</p>
</div>
<div class="field">
<label for="signature">Signature</label>
<input id="signature" spellcheck="false" autocapitalize="none" placeholder="64 hexadecimal digits" aria-describedby="signature-hint">
<p class="hint" id="signature-hint">The value of the header <code>X-Service-Signature</code>, even if it is wrong.</p>
</div>
<fieldset class="field">
<legend>Body</legend>
<div class="choices">
<label><input type="radio" name="body" id="body-is-text" checked> Text</label>
<label><input type="radio" name="body" id="body-is-base64"> Base64</label>
<label><input type="radio" name="body" id="body-is-file"> File</label>
</div>
<div id="body-as-text">
<textarea id="body-text" rows="5" spellcheck="false" aria-label="Body as text" aria-describedby="body-hint"></textarea>
<p class="hint" id="body-hint">Exactly the body that was sent; empty for no body. Line ends count as LF: for others use base64 or a file.</p>
</div>
<div id="body-as-base64" hidden>
<textarea id="body-base64" rows="5" spellcheck="false" aria-label="Body in base64"></textarea>
</div>
<div id="body-as-file" hidden>
<input id="body-file" type="file" aria-label="File with the body">
</div>
</fieldset>
<div class="field">
<label for="secret">Secret</label>
<div class="with-button">
<input id="secret" class="secret" spellcheck="false" autocapitalize="none" placeholder="sk_sandbox_…" aria-describedby="secret-hint">
<button id="show-secret" type="button" aria-pressed="false">Show</button>
</div>
<p class="hint" id="secret-hint">It stays on this page.</p>
</div>
<details>
<summary>More details</summary>
<div class="field">
<label for="headers">Headers</label>
<textarea id="headers" rows="4" spellcheck="false" placeholder="Host: collections.example" aria-describedby="headers-hint"></textarea>
<p class="hint" id="headers-hint">One per line. <code>Host</code> and <code>Authorization</code> are useful, and <code>X-Service-Timestamp</code> if it differs from the signed one.</p>
</div>
<div class="field">
<label for="other-secrets">Other secrets that may have been used</label>
<textarea id="other-secrets" class="secret" rows="2" spellcheck="false" autocapitalize="none" aria-describedby="other-secrets-hint"></textarea>
<p class="hint" id="other-secrets-hint">One per line, such as older ones or those of other environments.</p>
</div>
</details>
<div class="actions">
<button type="submit" class="primary">Find the mistake</button>
<button type="button" id="example">Show an example</button>
<button type="reset">Clear</button>
</div>
</form>`;

const MAIN = `<h1>Signature debugger</h1>
<p class="lead">Does the service answer <code>BAD_SIGNATURE</code>? Describe the request as it was sent. This page makes every known mistake on purpose, alone and in pairs, until one gives exactly the signature that you sent. Then it tells you which mistake it was.</p>
<p class="promise">Everything happens in your browser. The page is not allowed to send anything, and stores nothing.</p>
<div class="bench">
${FORM}
<section id="result" aria-label="Result" aria-live="polite"></section>
</div>
<noscript><p class="fault">This page needs JavaScript, because the search runs in your browser.</p></noscript>`;

/** The content of the signature debugger. It works in the browser only (contract: Signature debugger). */
export const SIGNATURE_CONTENT: PageContent = {
  path: "/docs/signature",
  title: "Signature debugger",
  main: MAIN,
  scripts: ["pages/signature-debugger.ts"],
  styles: ["/docs/assets/forms.css", "/docs/assets/signature.css"],
  wide: true,
};
