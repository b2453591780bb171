import type { Remedy } from "./remedy.ts";

/** Explains a status outside of 2xx and 3xx. An unknown status is explained by its class. */
export function remedyForStatus(status: number | null): Remedy {
  if (status === null) return { cause: "Your server did not acknowledge the event.", remedy: "Answer 2xx." };
  const [cause, remedy] = BY_STATUS[status] ?? wordsOfClass(status);
  return { cause: `${cause} (${status}).`, remedy };
}

type Words = readonly [cause: string, remedy: string];

function wordsOfClass(status: number): Words {
  if (status >= 400 && status < 500) {
    return [
      "Your server refused the request",
      "Look in your server's log for the reason, and answer 2xx to every signed event.",
    ];
  }
  if (status >= 500 && status < 600) {
    return ["Your server failed", "Look in the logs of the receiver, and of the proxies in front of it, at that time."];
  }
  return ["Your server answered with a status that HTTP does not have", "Answer 200 or 204."];
}

const SLOW_WORK = "Store the event and answer 2xx first, then work on it.";
const PROCESS =
  "Check that the receiver's process runs, and that it listens on the address and port that the gateway uses.";

const BY_STATUS: Readonly<Record<number, Words>> = {
  400: [
    "Your server could not read the request",
    "Take the body as it is, JSON in UTF-8 of up to 20 KB, and ignore kinds and fields that you do not know.",
  ],
  401: [
    "Your server did not accept the signature, or asked for a login",
    "Verify the signature over the raw bytes of the body, with the secret of the key in X-Service-Key-Id. Check your clock. Ask for no other authentication.",
  ],
  403: [
    "Your server, or a firewall in front of it, forbade the request",
    "Let POST requests of PartnerCollections-Webhooks pass the firewall, the bot protection and the CSRF check: their signature authenticates them.",
  ],
  404: [
    "There is nothing at the path of the callback URL",
    "Compare the registered URL with the route of your receiver, letter by letter, including a slash at the end.",
  ],
  405: [
    "Your server takes no POST at the callback URL",
    "Route POST to the receiver, or register a URL that accepts POST.",
  ],
  406: [
    "Your server could not answer in a format that the request accepts",
    "Answer 2xx without a body, whatever Accept says.",
  ],
  407: [
    "A proxy in front of your server asked for a login",
    "Let requests from the internet reach the callback without proxy credentials.",
  ],
  408: [
    "Your server gave up waiting for the request",
    "Raise the time that your server or its proxy waits for a request's body.",
  ],
  409: [
    "Your server says that the event contradicts what it has stored",
    "Answer 2xx to an event that you have already, or whose sequence is not above the last one that you have for the loan. Skip such an event, but do not refuse it.",
  ],
  410: [
    "Your server says that the callback is gone for good",
    "Register the URL of your current callback, or answer 2xx at the registered URL again.",
  ],
  411: [
    "Your server asked for a Content-Length",
    "The service sends one. Find the proxy in front of your server that removes this header, or accept chunked bodies.",
  ],
  413: [
    "The body is too large for your server",
    "Accept bodies of at least 20 KB, also in the proxy in front of your server.",
  ],
  414: ["The callback URL is too long for your server", "Register a shorter URL."],
  415: [
    "Your server does not take this type of body",
    "Accept Content-Type: application/json. Check the signature over the raw bytes, before any parser reads them.",
  ],
  421: [
    "The server that was reached does not serve this host name",
    "Check which server the host name leads to in the DNS. That server and its certificate must be set up for this host name.",
  ],
  422: [
    "Your server did not accept what the event says",
    "Answer 2xx to every signed event, and handle any problem afterwards; ignore kinds and fields that you do not know.",
  ],
  425: [
    "Your server does not want the request this early",
    "Answer 2xx, not 425: events are never sent as TLS early data.",
  ],
  426: ["Your server wants another protocol", "Serve the callback over HTTP/1.1 with TLS."],
  429: [
    "Your server got more requests than it allows",
    "Raise the limit for the callback, or send Retry-After: the next attempt waits that long, up to an hour.",
  ],
  431: [
    "The headers are too large for your server",
    "Allow at least 8 KB of headers, also in the proxy in front of your server.",
  ],
  451: ["Your server refused for legal reasons", "Exempt the callback from blocking by country or content."],
  495: [
    "Your server did not accept a client certificate",
    "Ask for no client certificate at the callback: the signature authenticates the request.",
  ],
  496: [
    "Your server asked for a client certificate",
    "Ask for no client certificate at the callback: the signature authenticates the request.",
  ],
  497: ["Your server got plain HTTP where it expects TLS", "Register the callback with https."],
  500: [
    "Your receiver failed while it worked on the event",
    `Look for an exception in the receiver's log at that time. ${SLOW_WORK}`,
  ],
  501: ["Your server does not know the method POST", "Register the URL of a receiver that takes POST."],
  502: ["A gateway in front of your receiver got no proper answer from the receiver", PROCESS],
  503: [
    "Your server is overloaded or under maintenance",
    "Restore your server or add capacity. To set the time of the next attempt, send Retry-After of up to an hour.",
  ],
  504: ["A gateway in front of your receiver gave up waiting for the receiver's answer", SLOW_WORK],
  505: ["Your server does not take this version of HTTP", "Serve the callback over HTTP/1.1."],
  507: ["Your server has no storage left", "Make room on its disk or in its database."],
  508: ["Your server's proxies forward the request in a loop", "Check where the proxy forwards the callback to."],
  511: [
    "A network in front of your server asked for a login",
    "Let requests from the internet reach the callback directly.",
  ],
  520: ["Cloudflare did not understand your server's answer", "Look at your server's log at that time."],
  521: [
    "Your server refused the connection from Cloudflare",
    "Check that your server runs, and that its firewall admits Cloudflare's addresses.",
  ],
  522: [
    "Cloudflare could not connect to your server in time",
    "Check that your server runs, and that its firewall admits Cloudflare's addresses.",
  ],
  523: ["Cloudflare could not reach your server", "Check the origin's address in your Cloudflare settings."],
  524: ["Cloudflare gave up waiting for your server's answer", SLOW_WORK],
  525: [
    "Cloudflare could not establish a TLS connection to your server",
    "Check the certificate and TLS settings of your own server.",
  ],
  526: [
    "Cloudflare does not trust your server's certificate",
    "Install a valid certificate on your own server, or choose another mode of encryption in Cloudflare.",
  ],
  529: ["Your server is overloaded", "Add capacity, or answer 503 with Retry-After of up to an hour."],
  530: ["Cloudflare could not find your server", "Check the origin's host name in your Cloudflare settings."],
};
