/** Every measurement, one after the other: `npm run bench`, or `npm run build && tsx test/bench/main.ts [name ...]`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const all = [
  "import",
  "rest",
  "storage",
  "audit",
  "series",
  "metrics",
  "terminal",
  "state",
  "secrets",
  "fleet",
  "latency",
  "reconnect",
  "scale",
  "peers",
  "notifications",
];
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0)
  throw new Error(`There is no measurement ${unknown.join(", ")}; there are ${all.join(", ")}.`);

for (const name of asked.length > 0 ? asked : all) {
  process.stdout.write(`\n${name}\n`);
  const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", "--import", "tsx", script], { stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The measurement ${name} failed (${code ?? "killed"}).`);
}
