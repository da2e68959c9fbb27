/**
 * The command line and the server as few files, in `dist/program`: a start reads twenty files in place of a thousand. The packages that it
 * uses stay beside it, as a library's do.
 */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { repository } from "./tools.ts";

const { dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(repository, "package.json"), "utf8"),
) as Record<"dependencies" | "optionalDependencies", Record<string, string>>;

const outdir = join(repository, "dist/program");
// Files are named by what is in them: those of the last build would stay.
rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: repository,
  entryPoints: ["dist/adapters/cli/main.js"],
  outdir,
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node20.19",
  external: Object.keys({ ...dependencies, ...optionalDependencies }),
  logLevel: "warning",
});
chmodSync(join(outdir, "main.js"), 0o755);
