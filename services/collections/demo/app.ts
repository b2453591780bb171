import { checkPort, DemoOptionError, readOptions } from "./app-options.ts";
import { inbox } from "./inbox.ts";
import { PHONE } from "./sample-cases.ts";
import { setUp, type Stage } from "./stage.ts";
import { TEMPLATES } from "./templates.ts";

/** Starts the demo with sample data, so that the app can be used in a browser until Ctrl-C. */
const stopping = new AbortController();
// A closed terminal sends SIGHUP. A second signal changes nothing: all processes are being ended then.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
const borrowers = inbox(say);
let stage: Stage | undefined;
try {
  const { port } = readOptions(process.argv.slice(2));
  await checkPort(port);
  say("Starting: a database, the service, and three lenders with thirty cases and a month of history …");
  stage = await setUp({
    port,
    signal: stopping.signal,
    templates: TEMPLATES,
    log: showCode,
    onWhatsApp: borrowers.whatsapp,
    onMail: borrowers.mail,
  });
  // Load the code of the service only now, so that a wrong option is reported at once.
  const { createSampleData } = await import("./sample-data.ts");
  const accessToken = await createSampleData(stage);
  borrowers.open();
  const { url: consoleUrl } = await stage.operator<{ url: string }>("operator", "link", "--name=Demo");
  const { url: portalUrl } = await stage.operator<{ url: string }>("lender", "portal-link", "ACME");
  say(tour({ serviceUrl: stage.serviceUrl, accessToken, consoleUrl, portalUrl }));
  if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener("abort", resolve));
} catch (error) {
  // After Ctrl-C, requests and commands under way fail, because the processes end.
  if (!stopping.signal.aborted) {
    process.stderr.write(`${error instanceof DemoOptionError ? error.message : String(error)}\n`);
    process.exitCode = error instanceof DemoOptionError ? 2 : 1;
  }
} finally {
  await stage?.close();
}
if (stopping.signal.aborted) say("Stopped. The demo's data are deleted.");

interface TourUrls {
  readonly serviceUrl: string;
  readonly accessToken: string;
  readonly consoleUrl: string;
  readonly portalUrl: string;
}

function tour({ serviceUrl, accessToken, consoleUrl, portalUrl }: TourUrls): string {
  return `
The field partner's app is at   ${serviceUrl}/app
Sign in with the phone          ${PHONE}, and the code that appears here
or with the access token        ${accessToken}

Make the window as narrow as a phone. Asha Rao has thirty cases of three lenders, and has worked for a month. Try this:

1. Today: Ravi Kumar has promised to pay today. Open his case and start a visit.
2. Request a payment link of ₹2,500. It is sent, and then read. The WhatsApp message that he receives appears here.
3. Open the link of the message in another tab, as the borrower, and pay. The case on the phone changes at once.
4. Do the same for रेखा गायकवाड (1013), who gets the message in Hindi, and for कविता जाधव (2001), who gets an e-mail in Hindi.
5. Request a link for Thomas D’Souza (3001). Beta Bank's gateway is broken, so the app shows the bank's own QR code.
6. Cases: filter by city or bucket, and sort. "Promised" has five promises. "Not now" has a case with a dispute, a borrower who
   may not be contacted, and five cases that have ended.
7. Money: the commission that was paid out, credited and is pending, and the payment of अमित शर्मा that bounced. The service
   dates all of it today, because the lenders have confirmed the month's payments today.
8. Switch the network off in the browser's developer tools, and end a visit. The app sends it when the network is back.

The operators' console is at    ${consoleUrl}
The portal of Acme Finance is   ${portalUrl}
Each link signs in once, within five minutes.

 9. Console, Today: the day's payments by hour, the funnel from visit to payment, and the outstanding amounts by days past due.
    A payment counts in the hour in which it was booked, so the payments of the month stand in the hour in which the demo started.
10. Search 1005: the payment of अमित शर्मा bounced. Open the case, and its payment: who was told, and what was reversed.
11. Field partners: Asha Rao's cases, promises and commission. Move all her cases to Kiran Shinde; the dry run comes first.
12. Lenders, Beta Bank: why its links are unavailable, and its deliveries.
13. Portal: the same pages, but only Acme Finance's.

Ctrl-C ends the demo and deletes its data.
`;
}

/** Shows only the sign-in codes from the log of the service. */
function showCode(line: string): void {
  const code = /sign-in code (\d{6})/.exec(line)?.[1];
  if (code !== undefined) say(`Code to sign in: ${code}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
