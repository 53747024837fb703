/* What the pages of the site have beside their scripts: tools/try_it.py. */

/** What is used of Pyodide. */
declare module "*/pyodide.mjs" {
  export function loadPyodide(options: { indexURL: string; lockFileContents: string }): Promise<{
    unpackArchive(packed: ArrayBuffer, format: "zip", options: { extractDir: string }): void;
    registerJsModule(name: string, module: object): void;
    runPython(code: string): unknown;
    // biome-ignore lint/suspicious/noExplicitAny: a module of Python
    pyimport(name: string): any;
  }>;
}

/** What offline.js keeps, written above it. */
declare const KEPT: { version: string; first: string[] };
