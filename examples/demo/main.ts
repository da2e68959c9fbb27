/**
 * The main job, to watch: a server, three agents in processes of their own, a module that is planned, applied, broken by
 * hand, found to have drifted, repaired and taken away in part. Everything is real; the machines are folders.
 *
 * `npm run demo` leaves the server up until Ctrl-C; `npm run demo -- --exit` ends by itself.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage, systemClock } from "fleetwright";
import type { ResourceResult, RolloutDetail } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import type { RunningServer } from "fleetwright/h3";
import { breakFile, listFiles, startMachine } from "./fleet.ts";
import { site, siteWithoutMotd } from "./modules.ts";

const names = ["web-1", "web-2", "db-1"];
const folder = mkdtempSync(join(tmpdir(), "fleetwright-demo-"));
const signer = createKeyFile(join(folder, "admin-key"));
const server = await startServer({
  storage: new FileStorage({ folder: join(folder, "data"), clock: systemClock }),
  adminPublicKeys: [signer.publicKey],
  listen: { port: 0 },
});
const client = createClient({ url: server.url, signer });
const machines: ReturnType<typeof startMachine>[] = [];
try {
  await watchTheJob();
  if (!process.argv.includes("--exit")) await untilInterrupted();
} finally {
  await Promise.all(machines.map((machine) => machine.stop()));
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

async function watchTheJob(): Promise<void> {
  title(`A server at ${server.url}, and three agents that nobody knows yet`);
  const byNode = await startMachines(server);
  const [first] = machines;
  if (!first) throw new Error("There is no machine.");

  title("An operator approves them and tags them");
  for (const [nodeId, name] of byNode) {
    await client.agents.setStatus(nodeId, { status: "approved", name });
    await client.tags.set(nodeId, { key: "role", value: name.startsWith("web") ? "web" : "db" });
    say(`${name} is approved, role=${name.startsWith("web") ? "web" : "db"}`);
  }

  title("A module says how web servers should be, an assignment which machines those are");
  await client.modules.upload({ content: site });
  const { matches } = await client.assignments.create({
    name: "web",
    selector: "role=web",
    modules: ["site"],
  });
  say(`role=web matches ${matches} of ${names.length} agents`);
  showFiles("before");

  title("The plan, and the apply, which does just that");
  await show(await client.assignments.plan("web"));
  await show(await client.assignments.apply("web"));
  showFiles("after");

  title("Applied again: nothing to do");
  await show(await client.assignments.apply("web"));

  title("Somebody changes a file by hand; a drift check finds it, an apply repairs it");
  breakFile(first, "srv/site/index.html", "<h1>Oops</h1>\n");
  const nodeId = [...byNode].find(([, name]) => name === first.name)?.[0] ?? "";
  const drift = await client.drift.check(nodeId);
  say(`${first.name} is ${drift.status}:`);
  drift.resources.filter(isNews).forEach(showResource);
  await show(await client.assignments.apply("web"));

  title("The module no longer has the message of the day: the apply takes it back");
  await client.modules.upload({ content: siteWithoutMotd });
  await show(await client.assignments.apply("web"));
  showFiles("after");

  title("All of it is in the audit log");
  const { valid, to_sequence } = await client.audit.verify();
  say(`${to_sequence} events, chained by hashes: ${valid ? "whole" : "damaged"}`);
}

/** Starts the agents and waits until each has come; node_id -> name. */
async function startMachines({ orchestrator, agentUrl }: RunningServer): Promise<Map<string, string>> {
  const byNode = new Map<string, string>();
  for (const name of names) {
    const arrived = new Promise<string>((resolve) => {
      const end = orchestrator.listen(({ event_type, target }) => {
        if (event_type !== "agent.connected" || !target) return;
        end();
        resolve(target.id);
      });
    });
    machines.push(startMachine(name, folder, agentUrl));
    byNode.set(await arrived, name);
    say(`an agent waits for approval: ${[...byNode.keys()].at(-1)}`);
  }
  return byNode;
}

async function show({ kind, operations }: RolloutDetail): Promise<void> {
  for (const { name, status, summary, operation_id } of operations) {
    say(`${kind} on ${name}: ${status} (${summary})`);
    if (status !== "succeeded") process.exitCode = 1;
    if (operation_id === undefined) continue;
    const { resources } = await client.operations.get(operation_id);
    resources.filter(isNews).forEach(showResource);
  }
}

function isNews({ outcome }: ResourceResult): boolean {
  return outcome !== "unchanged";
}

function showResource({ outcome, action, type, identity, message = "" }: ResourceResult): void {
  say(`  ${outcome === "would_change" ? "would" : "did"} ${action} ${type} ${identity} ${message}`.trimEnd());
}

function showFiles(when: string): void {
  for (const machine of machines) {
    say(`files of ${machine.name} ${when}:`);
    for (const line of listFiles(machine)) say(`  ${line}`);
  }
}

async function untilInterrupted(): Promise<void> {
  title(`The server stays up at ${server.url}; Ctrl-C ends it`);
  say(`npx --no-install fleetwright login --url ${server.url} --key ${join(folder, "admin-key")}`);
  await new Promise<void>((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
}

function title(text: string): void {
  console.log(`\n${text}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}
