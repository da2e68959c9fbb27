/** What importing an entry of the built package loads. */
import { execFileSync } from "node:child_process";
import { repository } from "../architecture/source-tree.ts";

/** Files that were loaded, and whose they are. */
export interface Loaded {
  files: number;
  /** Name of a package -> files of it. */
  packages: Record<string, number>;
}

/**
 * Imports an entry in a process of its own, where the inspector is told of every script that is compiled, whichever of Node's two loaders
 * asked for it.
 *
 * @param use - Statements that then use `it`, what was imported.
 * @param folder - Has the package's `package.json` and its build.
 */
export function loadedBy(entry: string, use = "", folder: string = repository): Loaded {
  const program = `
    import { Session } from "node:inspector";
    const session = new Session();
    const urls = new Set();
    session.connect();
    session.on("Debugger.scriptParsed", ({ params: { url } }) => url.startsWith("file:") && urls.add(url));
    session.post("Debugger.enable");
    const it = await import(${JSON.stringify(entry)});
    ${use}
    console.log(JSON.stringify([...urls]));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    encoding: "utf8",
  });
  const urls = JSON.parse(printed) as string[];
  const packages: Record<string, number> = {};
  for (const url of urls) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? "fleetwright";
    packages[name] = (packages[name] ?? 0) + 1;
  }
  return { files: urls.length, packages };
}
