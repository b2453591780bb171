export { type MailFault, MailNotSentError } from "./mail-not-sent.ts";
export {
  createMailer,
  InvalidMailerOptionsError,
  type Mail,
  type Mailer,
  type MailerOptions,
  type SentMail,
} from "./mailer.ts";
export { type WhatsAppFault, WhatsAppNotSentError } from "./whatsapp-not-sent.ts";
export { createWhatsApp, type TemplateMessage, type WhatsApp, type WhatsAppOptions } from "./whatsapp.ts";
