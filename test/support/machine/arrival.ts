/** A machine without an agent, a server outside that has one for it, and what is left when the agent is gone again. */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { eventually, startServerProcess, type ServerProcess } from "../processes.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import type { ThrowawayMachine } from "./throwaway-machine.ts";

/** What `npm run build:agent` made. */
export const builtAgent = fileURLToPath(new URL("../../../dist/agent", import.meta.url));

/** The list of it. */
export const agentManifest = join(builtAgent, "manifest.json");

/** Where the agent is, whatever brought it. */
export const agentHome = "/opt/fleetwright-agent";

/** The service, where there is systemd. */
export const agentUnit = "fleetwright-agent.service";

/** What a test of arrival on a machine with systemd needs. */
export const arrivalNeeds = {
  paths: ["/lib/systemd/systemd", agentManifest],
  programs: ["curl"],
  machine: { init: "systemd", network: "shared" },
} as const;

/** `active`, `inactive` or `failed`, as systemd says. */
export function activityOf(machine: ThrowawayMachine): string {
  return machine.run("systemctl", "is-active", agentUnit).stdout.trim();
}

/** The process that systemd runs. */
export function pidOf(machine: ThrowawayMachine): string {
  return machine.output("systemctl", "show", "--property=MainPID", "--value", agentUnit).trim();
}

/** Fetches a package of the agent onto the machine; answers with its path there. */
export function fetchPackage(
  machine: ThrowawayMachine,
  { server }: ArrivalScene,
  kind: "deb" | "rpm",
): string {
  const path = `/tmp/agent.${kind}`;
  machine.output("curl", "-fsS", "-o", path, `${server.url}/agent/linux-x64.${kind}`);
  return path;
}

/** Runs apt, which asks nothing. */
export function apt(machine: ThrowawayMachine, ...args: string[]): string {
  return machine.output("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", ...args);
}

/** Runs rpm, whose database knows nothing of what dpkg has installed, /bin/sh among it. */
export function rpm(machine: ThrowawayMachine, ...args: string[]): string {
  return machine.output("rpm", "--nodeps", ...args);
}

/** Lets packages start services: an image of a container may not. */
export function allowStarts(machine: ThrowawayMachine): void {
  machine.output("rm", "-f", "/usr/sbin/policy-rc.d");
}

const module = `name: site
resources:
  - { type: file, path: /srv/arrived, content: "here\\n" }
`;

/** A server that lets machines in by a token, with a module for all that come. */
export interface ArrivalScene extends AsyncDisposable {
  server: ServerProcess;
  /** Approves any number of machines, and tags them `role=web`. */
  token: string;
  /** Where the artifacts are served from, to be changed. */
  agentDir: string;
  /** The file of a platform. */
  artifact(platform: string): string;
}

/**
 * Starts the server; artifacts are a copy where `isCopied`, so that a test can change them.
 *
 * @param options - `dataDir`: for a test that starts the server again. Default a new one.
 */
export async function startArrivalScene({
  isCopied = false,
  dataDir = join(temporaryFolder(), "data"),
} = {}): Promise<ArrivalScene> {
  const agentDir = isCopied ? join(temporaryFolder(), "agent") : builtAgent;
  if (isCopied) cpSync(builtAgent, agentDir, { recursive: true });
  const server = await startServerProcess(dataDir, 0, {}, ["--agent-dir", agentDir]);
  const { client } = server;
  const { token } = await client.enrolmentTokens.create({ uses: 50, tags: { role: "web" } });
  await client.modules.upload({ content: module });
  await client.assignments.create({ name: "site", selector: "role=web", modules: ["site"] });
  const { artifacts } = JSON.parse(readFileSync(agentManifest, "utf8")) as {
    artifacts: { platform: string; file: string }[];
  };
  return {
    server,
    token,
    agentDir,
    artifact: (platform) => join(agentDir, artifacts.find((each) => each.platform === platform)?.file ?? ""),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Waits for the one agent of the server, approved and connected; resolves with its node_id. */
export async function arrived({ client }: ServerProcess, version?: string): Promise<string> {
  let nodeId = "";
  await eventually("the agent is there", async () => {
    const { items } = await client.agents.list({ status: "approved", connected: true });
    nodeId =
      items.find(({ agent_version }) => version === undefined || agent_version === version)?.node_id ?? "";
    return nodeId !== "";
  });
  return nodeId;
}

/** What a new operator types on the machine. */
export function install(
  machine: ThrowawayMachine,
  { server }: ArrivalScene,
  more = "",
): ReturnType<ThrowawayMachine["run"]> {
  return machine.run("sh", "-c", `curl -fsS ${server.url}/install.sh | sh -s -- ${more}`);
}

/** Applies what is assigned to it to the agent. */
export async function applied({ server }: ArrivalScene, nodeId: string): Promise<void> {
  const { tags } = await server.client.agents.get(nodeId);
  const { status } = await server.client.state.apply(nodeId);
  expect([tags, status]).toEqual([{ role: "web" }, "succeeded"]);
}

/** What comes and goes by itself: journals, caches, locks and lists of package managers. */
const restless = [
  // They are emptied when the machine is made; systemd makes one anew where it enables the first unit, and leaves it.
  /^-\/etc\/systemd\/system\/[\w.-]+\.wants(?:\/|$)/,
  /^\/etc\/systemd\/system\/[\w.-]+\.wants$/,
  /^-?\/var\/(?:log\/journal|tmp|cache|lib\/(?:systemd|PackageKit|rpm|dnf|apt|fleetwright-test|private))(?:\/|$)/,
  /^-?\/var\/lib\/dpkg\/(?:status-old|lock|lock-frontend|triggers\/Lock)$/,
  /^-?\/root\/\.(?:rpmdb|gnupg)(?:\/|$)/,
];

/** Every file that a machine has more or less than it had when it was made, but what comes and goes by itself. */
export function filesOf(machine: ThrowawayMachine): string[] {
  return machine
    .differences()
    .filter((path) => !restless.some((each) => each.test(path)))
    .toSorted();
}
