/**
 * The same files made by our running agent and by the tools that people use today: `npm run bench -- peers`.
 *
 * Each of N files has the same 1 KiB and mode 0640. A round is an empty folder, a first apply, an apply that finds nothing
 * to do, and a dry run. Ours is an operation over a transport in memory, from the command to the result, with the CPU time
 * of both ends; a peer is its program from start to end, as a timer or a person would start it. What is not installed is
 * named and left out. Ratios are the result: the machine may be busy. `BENCH_SLOW_ROUNDS` (default 3) is how often the
 * slow ones run.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "./use-build.ts";

const { createAgent } = await import("../../lib/agent/agent.ts");
const { systemClock } = await import("../../lib/clock.ts");
const { TestOrchestrator } = await import("../support/test-orchestrator.ts");
const { resource, uuid } = await import("../support/agent-commands.ts");

const modes = ["first apply", "no-op", "dry run"] as const;
type Mode = (typeof modes)[number];

/** What one run took, milliseconds. */
interface Cost {
  wallMs: number;
  cpuMs: number;
}

/** A tool that makes the files of a folder. */
interface Contender {
  name: string;
  rounds: number;
  run(mode: Mode, folder: string, count: number): Cost | Promise<Cost>;
}

const slowRounds = Number(process.env["BENCH_SLOW_ROUNDS"] ?? 3);
const work = mkdtempSync(join(tmpdir(), "fleetwright-peers-"));
const contentOf = (index: number): string => `${index} `.padEnd(1024, "x");

/** Runs a program to its end, with the CPU time of all that it starts. */
function timeProgram(command: string): Cost {
  const startedMs = performance.now();
  const script = `${command} >"${work}/output" 2>&1 || echo failed; times`;
  const { stdout } = spawnSync("/bin/sh", ["-c", script], { encoding: "utf8" });
  const wallMs = performance.now() - startedMs;
  if (stdout.startsWith("failed")) throw new Error(`${command}\n${readFileSync(`${work}/output`, "utf8")}`);
  const times = (stdout.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g);
  const cpuMs = [...times].reduce((sum, [, m, s]) => sum + (Number(m) * 60 + Number(s)) * 1000, 0);
  return { wallMs, cpuMs };
}

/** A file for a tool, which only we can write: some refuse others. */
function input(name: string, text: string): string {
  writeFileSync(join(work, name), text, { mode: 0o600 });
  return join(work, name);
}

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

function cfengine(mode: Mode, folder: string, count: number): Cost {
  const promises = indexes(count).map(
    (index) => `"${folder}/f${index}" create => "true", content => "${contentOf(index)}", perms => p;`,
  );
  const policy = `body common control { bundlesequence => { "main" }; }
body perms p { mode => "0640"; }
bundle agent main { files: ${promises.join("\n")} }
`;
  const dry = mode === "dry run" ? "-n" : "";
  return timeProgram(`cf-agent -K ${dry} -f "${input("policy.cf", policy)}"`);
}

function puppet(mode: Mode, folder: string, count: number): Cost {
  const resources = indexes(count).map(
    (index) =>
      `file { '${folder}/f${index}': ensure => file, mode => '0640', content => '${contentOf(index)}' }`,
  );
  const dry = mode === "dry run" ? "--noop" : "";
  const folders = `--confdir "${work}/puppet" --vardir "${work}/puppet-state"`;
  return timeProgram(`puppet apply ${folders} ${dry} "${input("site.pp", resources.join("\n"))}"`);
}

function ansible(mode: Mode, folder: string, count: number): Cost {
  const items = indexes(count).map((index) => ({ dest: `${folder}/f${index}`, content: contentOf(index) }));
  const copy = { dest: "{{ item.dest }}", content: "{{ item.content }}", mode: "0640" };
  const tasks = [{ copy, loop: items, loop_control: { label: "{{ item.dest }}" } }];
  const book = JSON.stringify([{ hosts: "all", gather_facts: false, tasks }]);
  const dry = mode === "dry run" ? "--check" : "";
  return timeProgram(`ansible-playbook -i localhost, -c local ${dry} "${input("book.yml", book)}"`);
}

const orchestrator = new TestOrchestrator(systemClock);
await orchestrator.start();
const dial = async (): ReturnType<NonNullable<Parameters<typeof createAgent>[0]["dial"]>> =>
  orchestrator.transport.connect();
const agent = createAgent({ stateDir: join(work, "agent"), dial });
let operations = 0;

async function ours(mode: Mode, folder: string, count: number): Promise<Cost> {
  const resources = indexes(count).map((index) =>
    resource({ type: "file", path: `${folder}/f${index}`, content: contentOf(index), mode: "0640" }),
  );
  operations += 1;
  const operation_id = uuid(operations);
  const kind = mode === "dry run" ? { type: "plan" as const } : { type: "apply" as const, allow_empty: true };
  const startedCpu = process.cpuUsage();
  const startedMs = performance.now();
  await orchestrator.send(agent.nodeId, { ...kind, operation_id, resources, timeout_seconds: 600 });
  const result = await orchestrator.take("result", (message) => message.operation_id === operation_id);
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(startedCpu);
  if (result.status !== "succeeded") throw new Error(`The agent's ${mode} ended ${result.status}.`);
  await orchestrator.send(agent.nodeId, { type: "ack", operation_id });
  return { wallMs, cpuMs: (user + system) / 1000 };
}

const us: Contender = { name: "fleetwright agent", rounds: 9, run: ours };
const peers: (Contender & { program: string })[] = [
  { name: "cfengine", program: "cf-agent", rounds: 5, run: cfengine },
  { name: "puppet", program: "puppet", rounds: slowRounds, run: puppet },
  { name: "ansible", program: "ansible-playbook", rounds: slowRounds, run: ansible },
];
const isInstalled = (program: string): boolean =>
  spawnSync("/bin/sh", ["-c", `command -v ${program}`]).status === 0;

function assertMade(name: string, folder: string, count: number): void {
  for (const index of indexes(count)) {
    const path = `${folder}/f${index}`;
    const isRight =
      readFileSync(path, "utf8") === contentOf(index) && (statSync(path).mode & 0o777) === 0o640;
    if (!isRight) throw new Error(`${name} did not make ${path} as it should be.`);
  }
}

async function measure(contender: Contender, count: number): Promise<Record<Mode, Cost>> {
  const costs: Record<Mode, Cost[]> = { "first apply": [], "no-op": [], "dry run": [] };
  for (let round = 0; round < contender.rounds; round += 1) {
    const folder = mkdtempSync(join(work, "files-"));
    for (const mode of modes) costs[mode].push(await contender.run(mode, folder, count));
    assertMade(contender.name, folder, count);
    rmSync(folder, { recursive: true });
  }
  const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  const middle = (list: Cost[]): Cost => ({
    wallMs: median(list.map(({ wallMs }) => wallMs)),
    cpuMs: median(list.map(({ cpuMs }) => cpuMs)),
  });
  return {
    "first apply": middle(costs["first apply"]),
    "no-op": middle(costs["no-op"]),
    "dry run": middle(costs["dry run"]),
  };
}

function report(name: string, found: Record<Mode, Cost>, baseline: Record<Mode, Cost>): void {
  const cells = modes.map((mode) => {
    const [{ wallMs, cpuMs }, own] = [found[mode], baseline[mode]];
    const times = `${wallMs.toFixed(0)} ms (${(wallMs / own.wallMs).toFixed(0)}x)`;
    return `${mode} ${times}, CPU ${cpuMs.toFixed(0)} ms (${(cpuMs / own.cpuMs).toFixed(0)}x)`;
  });
  console.log(`  ${name}: ${cells.join("; ")}`);
}

try {
  mkdirSync(join(work, "puppet"));
  await agent.start();
  await orchestrator.happened("connected");
  // An agent runs for months.
  await measure({ ...us, rounds: 20 }, 100);
  for (const count of [10, 100]) {
    console.log(`${count} files of 1 KiB, wall clock and CPU time, as a multiple of ours`);
    const baseline = await measure(us, count);
    report(us.name, baseline, baseline);
    for (const peer of peers) {
      if (isInstalled(peer.program)) report(peer.name, await measure(peer, count), baseline);
      else console.log(`  ${peer.name}: not installed`);
    }
  }
} finally {
  await agent.stop();
  rmSync(work, { recursive: true, force: true });
}
