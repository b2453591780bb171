// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import { writeFile } from "node:fs/promises";
import type * as own from "@collections/conformance";

declare const secret: string;
declare const settings: own.Settings;
declare const listener: own.Listener;
declare const report: own.Report;
