// What the examples in the docstrings take for granted; they are compiled with it.
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
/** Of a callback from Meta. */
declare const headers: Headers;
declare const url: URL;
declare const body: Uint8Array;
declare const appSecret: string;
declare const verifyToken: string;
