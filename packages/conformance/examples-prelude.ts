// What the examples in the docstrings take for granted; they are compiled with it.
import { writeFile } from "node:fs/promises";
import type * as own from "@collections/conformance";

declare const secret: string;
declare const settings: own.Settings;
declare const listener: own.Listener;
declare const report: own.Report;
