import { spawnSync } from "node:child_process";

/** Whether these programs are on this machine; where not, says which tests are left out for it. */
export function hasPrograms(what: string, ...names: string[]): boolean {
  const missing = names.filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  if (missing.length > 0) process.stderr.write(`Left out, there is no ${missing.join(", ")} here: ${what}\n`);
  return missing.length === 0;
}
