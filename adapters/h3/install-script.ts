/** The script that `GET /install.sh` answers: it brings the agent onto a machine and starts it for this server. */
import type { AgentArtifact } from "./agent-artifacts.ts";
import { installTemplate } from "./install-template.ts";

/** What is written into the script. */
export interface InstallFacts {
  /** Where the script and the agent come from, without a slash at the end. */
  baseUrl: string;
  /** Where the agent connects. */
  agentUrl: string;
  /** Key of the orchestrator, hex. */
  orchestratorKey: string;
  /** Version of the agent. */
  version: string;
  artifacts: readonly AgentArtifact[];
}

/**
 * Writes the script.
 *
 * @param facts - Whatever they hold is a text to the shell and never a command.
 */
export function renderInstallScript({
  baseUrl,
  agentUrl,
  orchestratorKey,
  version,
  artifacts,
}: InstallFacts): string {
  const lines = artifacts
    .filter(({ platform }) => /^(?:linux-[a-z0-9]+|node)$/.test(platform))
    .map(({ platform, sha256 }) => `    ${platform}) sha256=${shellText(sha256)} ;;`);
  return installTemplate
    .replace("@SERVER@", () => shellText(baseUrl))
    .replace("@AGENT_URL@", () => shellText(agentUrl))
    .replace("@KEY@", () => shellText(orchestratorKey))
    .replace("@VERSION@", () => shellText(version))
    .replace("@ARTIFACTS@", () => lines.join("\n"));
}

/**
 * Writes a script that does nothing but say why there is no agent: whoever pipes it into a shell reads the reason, and not the status of an
 * answer that curl keeps to itself.
 */
export function renderRefusal(reason: string): string {
  return `#!/bin/sh\nprintf '%s\\n' ${shellText(`install.sh: ${reason}`)} >&2\nexit 1\n`;
}

/** A text as one word of the shell. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
