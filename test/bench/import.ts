/**
 * What importing the package costs: files loaded, milliseconds and MiB of resident memory, of the built package.
 * `npm run build && tsx test/bench/import.ts [folder ...]`; a folder has a `package.json` of the package and a build of it, e.g. of an
 * older version to compare with. Default this one. Each figure is the median of BENCH_ROUNDS processes (default 15), in which
 * the folders take turns.
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { repository } from "../architecture/source-tree.ts";
import { loadedBy } from "../support/loaded-files.ts";

const entries = ["fleetwright", "fleetwright/agent", "fleetwright/client", "fleetwright/h3"];
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 15);
const given = process.argv.slice(2);
const folders = given.length > 0 ? given.map((folder) => resolve(folder)) : [repository];

/** What one import took: milliseconds, and bytes that the process became larger. */
interface Cost {
  ms: number;
  bytes: number;
}

function importOnce(entry: string, folder: string): Cost {
  const program = `
    const [startedAt, before] = [performance.now(), process.memoryUsage.rss()];
    await import(${JSON.stringify(entry)});
    const ms = performance.now() - startedAt;
    console.log(JSON.stringify({ ms, bytes: process.memoryUsage.rss() - before }));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(printed) as Cost;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

for (const entry of entries) {
  const costs = new Map<string, Cost[]>(folders.map((folder) => [folder, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [folder, list] of costs) list.push(importOnce(entry, folder));
  for (const [folder, list] of costs) {
    const ms = median(list.map((cost) => cost.ms)).toFixed(0);
    const mib = (median(list.map((cost) => cost.bytes)) / 2 ** 20).toFixed(1);
    const { files } = loadedBy(entry, "", folder);
    process.stdout.write(
      `${entry.padEnd(20)} ${String(files).padStart(5)} files ${ms.padStart(5)} ms ${mib.padStart(6)} MiB  ${folder}\n`,
    );
  }
}
