export { type ConsoleDesk, type Figures, type FiguresPage, type Finding, type OneDay, type Sum } from "./desk.ts";
export { CONSOLE_ROLES, type ConsoleAccess, type ConsoleOperator, type ConsoleRole } from "./access.ts";
export { CONSOLE_ROUTES, type ConsoleRoute } from "./routes.ts";
export { type ConsoleOptions, consoleSite } from "./site.ts";
