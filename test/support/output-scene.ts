/** A server with something of every kind, for what commands print of it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import { startSignedIn, startSocketAgent, type CommandLine } from "./command-line.ts";

/** Where commands are tried. */
export interface OutputScene extends CommandLine {
  /** Ids and files, by what they are of. */
  known: Readonly<Record<string, string>>;
}

const motd = "name: motd\nresources:\n  - { type: file, path: /motd, content: hi }\n";

/** Starts a server with an Admin, a machine `web-1` that a module was applied to, and one of each that has a list. */
export async function startOutputScene(): Promise<OutputScene> {
  const line = await startSignedIn();
  const { agent } = await startSocketAgent(line);
  await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
  await line.print("tags", "set", "web-1", "role=web");
  const file = join(line.folder, "motd.yml");
  writeFileSync(file, motd);
  const sync = join(line.folder, "sync");
  mkdirSync(join(sync, "modules"), { recursive: true });
  writeFileSync(join(sync, "fleet.yaml"), "label: shop\n");
  writeFileSync(join(sync, "modules", "web.yaml"), motd.replace("motd", "web"));
  await line.print("modules", "upload", file);
  await line.print("assignments", "create", "motd", "--selector", "role=web", "--module", "motd");
  await line.print("assignments", "apply", "motd");
  const plan = await line.run("assignments", "plan", "motd", "--json");
  const { rollout_id: rollout } = JSON.parse(plan.stdout) as { rollout_id: string };
  const apply = JSON.parse(await line.print("apply", "web-1", "--json")) as { operation_id: string };
  const run = JSON.parse(await line.print("run", "--agent", "web-1", "--json", "--", "true")) as {
    rollout_id: string;
  };
  await line.print("drift", "web-1");
  const { thresholds, maintenanceWindows, channels, enrolmentTokens, operators } = line.server.orchestrator;
  const limit = { name: "hot", metric: "cpu.percent", condition: "above", value: 90 } as const;
  const { id: threshold } = await thresholds.create(systemCaller, limit);
  const mute = {
    selector: "role=none",
    reason: "quiet",
    mode: "mute",
    ends_at: "2100-01-01T00:00:00Z",
  } as const;
  const { id: window } = await maintenanceWindows.create(systemCaller, mute);
  const config = { host: "192.0.2.1", port: 514 };
  await channels.create(systemCaller, { name: "ops", type: "syslog", config, enabled: false });
  const { id: token } = await enrolmentTokens.create(systemCaller, {});
  const [operator] = (await operators.list(systemCaller)).items;
  const ids = { rollout, operation: apply.operation_id, run: run.rollout_id, threshold, window, token };
  const folder = join(line.folder, "local");
  mkdirSync(folder);
  return { ...line, known: { ...ids, file, sync, folder, operator: operator!.username } };
}
