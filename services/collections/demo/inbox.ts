import type { CaughtMail, WhatsAppMessage } from "@collections/lender-twin";

/** Shows the messages that borrowers receive. */
export interface Inbox {
  readonly whatsapp: (message: WhatsAppMessage) => void;
  readonly mail: (mail: CaughtMail) => void;
  /** Shows the messages that arrive from now on. Those of the sample history are not shown. */
  open(): void;
}

/** Creates an inbox that is closed at first. `show` prints a text. */
export function inbox(show: (text: string) => void): Inbox {
  let isOpen = false;
  const received = (how: string, to: string, text: string) => {
    if (isOpen) show(`${how} to ${to}:\n${text.trim().replaceAll(/^/gm, "    ")}\n`);
  };
  return {
    whatsapp: ({ to, text = "" }) => received("WhatsApp", to, text),
    mail: ({ to, subject, text }) => received("E-mail", to.join(", "), `${subject}\n\n${text}`),
    open: () => (isOpen = true),
  };
}
