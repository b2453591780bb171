// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import type * as own from "@collections/messaging";
import type { Outbound } from "@collections/outbound";

declare const outbound: Outbound;
declare const mailer: own.Mailer;
declare const sms: own.SmsGateway;
declare const whatsApp: own.WhatsApp;
declare const template: own.TemplateMessage["template"];
declare const accessToken: string;
declare const alertId: string;
declare const subject: string;
declare const text: string;
declare function sendLater(): Promise<void>;
/** Values of a callback from Meta. */
declare const headers: Headers;
declare const url: URL;
declare const body: Uint8Array;
declare const appSecret: string;
declare const verifyToken: string;
