/** Ports that somebody else implements against the published package: they compile, declarations included, and keep their promises. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { repository } from "../architecture/source-tree.ts";
import { packedProject } from "../support/packed-project.ts";

const sources = fileURLToPath(new URL("project", import.meta.url));
const compilers = { "6.0": "typescript", "5.9": "typescript-5.9" };

it("of one's own compile with each TypeScript, with and without Node's types, and pass the suites", () => {
  const folder = packedProject();
  cpSync(sources, join(folder, "src"), { recursive: true });
  for (const [version, name] of Object.entries(compilers)) {
    const tsc = join(repository, "node_modules", name, "bin/tsc");
    expect(run(folder, tsc, "--version")).toContain(`Version ${version}.`);
    for (const types of [["node"], []]) {
      writeConfig(folder, types);
      expect(
        run(folder, tsc, "--project", "tsconfig.json"),
        `TypeScript ${version}, types ${types.join()}`,
      ).toBe("");
    }
  }
  expect(existsSync(join(folder, "out/own-storage.d.ts"))).toBe(true);
  writeFileSync(
    join(folder, "run.js"),
    'import { runSuites } from "./out/own-ports.js";\nconsole.log(JSON.stringify(await runSuites()));\n',
  );
  const report = JSON.parse(run(folder, "run.js")) as Record<string, { kept: number; broken: string[] }>;
  expect(Object.keys(report)).toEqual(["storage", "transport", "host", "resource type"]);
  for (const { kept, broken } of Object.values(report)) {
    expect(broken).toEqual([]);
    expect(kept).toBeGreaterThan(10);
  }
}, 600_000);

function writeConfig(folder: string, types: string[]): void {
  const compilerOptions = {
    target: "ES2023",
    lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable"],
    module: "NodeNext",
    types,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    declaration: true,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: true,
    preserveSymlinks: true,
    rootDir: "src",
    outDir: "out",
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"] }));
}

/** What a program prints that Node runs; with what it complains about, where it does. */
function run(cwd: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  return stdout + stderr;
}
