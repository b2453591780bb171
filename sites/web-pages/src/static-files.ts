import { fileURLToPath } from "node:url";
import express, { type RequestHandler, type Response } from "express";

/** Serves the files of a folder. Browsers cache them and revalidate them each time. */
export function staticFiles(folder: URL, setHeaders?: (response: Response) => void): RequestHandler {
  return express.static(fileURLToPath(folder), {
    index: false,
    redirect: false,
    cacheControl: false,
    setHeaders(response: Response) {
      response.setHeader("Cache-Control", "no-cache");
      setHeaders?.(response);
    },
  });
}
