/** A server with something of every kind, for what commands print of it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryStorage, systemCaller } from "fleetwright";
import { startCommandLine, startSocketAgent, type CommandLine } from "./command-line.ts";

/** Where commands are tried. */
export interface OutputScene extends CommandLine {
  /** Ids and files, by what they are of. */
  known: Readonly<Record<string, string>>;
}

const motd = "name: motd\nresources:\n  - { type: file, path: /motd, content: hi }\n";
const longSeries = "network.receive_bytes_per_second{interface=enp129s0f0np0}";
/** Names as long as some fleets have them: what is printed of them has to fit. */
const [longModule, longPath] = [
  `settings-${"of-the-shop-".repeat(5)}`.slice(0, 60),
  `/${"settings-".repeat(9)}`,
];
const settings = `name: ${longModule}\nresources:\n  - { type: file, path: ${longPath}, content: hi }\n`;

/** Starts a server with an Admin, a machine `web-1` that a module was applied to, and one of each that has a list. */
export async function startOutputScene(): Promise<OutputScene> {
  const storage = new MemoryStorage();
  const line = await startCommandLine({ storage });
  await line.print("login", "--key", line.key);
  const { agent } = await startSocketAgent(line);
  await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
  await line.print("tags", "set", "web-1", "role=web");
  const file = join(line.folder, "motd.yml");
  writeFileSync(file, motd);
  const sync = join(line.folder, "sync");
  mkdirSync(join(sync, "modules"), { recursive: true });
  writeFileSync(join(sync, "fleet.yaml"), "label: shop\n");
  writeFileSync(join(sync, "modules", "web.yaml"), motd.replace("motd", "web"));
  writeFileSync(join(line.folder, "settings.yml"), settings);
  await line.print("modules", "upload", file, join(line.folder, "settings.yml"));
  await line.print(
    "assignments",
    "create",
    "motd",
    "--selector",
    "role=web",
    "--module",
    "motd",
    "--module",
    longModule,
  );
  await line.print("assignments", "apply", "motd");
  const plan = await line.run("assignments", "plan", "motd", "--json");
  const { rollout_id: rollout } = JSON.parse(plan.stdout) as { rollout_id: string };
  const apply = JSON.parse(await line.print("apply", "web-1", "--json")) as { operation_id: string };
  const run = JSON.parse(await line.print("run", "--agent", "web-1", "--json", "--", "true")) as {
    rollout_id: string;
  };
  await line.print("drift", "web-1");
  const measured = [2, 1].map((ago) => ({
    at: Date.now() - ago * 60_000,
    values: { [longSeries]: 2_345_678 * ago },
  }));
  await storage.series.append(agent.nodeId ?? "", measured);
  const { thresholds, maintenanceWindows, channels, enrolmentTokens, operators } = line.server.orchestrator;
  const limit = { name: "hot", metric: "cpu.percent", condition: "above", value: 90 } as const;
  const { id: threshold } = await thresholds.create(systemCaller, limit);
  const mute = {
    selector: "role=none",
    reason: "The machines of the second hall move to the third one, rack by rack",
    mode: "mute",
    ends_at: "2100-01-01T00:00:00Z",
  } as const;
  const { id: window } = await maintenanceWindows.create(systemCaller, mute);
  const config = { host: "192.0.2.1", port: 514 };
  const { id: channel } = await channels.create(systemCaller, {
    name: "ops",
    type: "syslog",
    config,
    enabled: false,
  });
  const { id: token } = await enrolmentTokens.create(systemCaller, {});
  const [operator] = (await operators.list(systemCaller)).items;
  const ids = {
    rollout,
    operation: apply.operation_id,
    run: run.rollout_id,
    threshold,
    window,
    token,
    channel,
  };
  const folder = join(line.folder, "local");
  mkdirSync(folder);
  return { ...line, known: { ...ids, file, sync, folder, operator: operator!.username } };
}
