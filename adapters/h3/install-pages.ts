/** `GET /install.sh`, which brings the agent onto a machine, and `GET /agent/{platform}`, which the script fetches. */
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import type { H3Event } from "h3";
import { OrchestratorError, toHex, type Orchestrator } from "fleetwright";
import { readAgentArtifacts } from "./agent-artifacts.ts";
import { Downloads, type DownloadLimits } from "./downloads.ts";
import { isHost } from "./hosts.ts";
import { renderInstallScript, renderRefusal } from "./install-script.ts";
import { mountRead, type PageMount } from "./pages.ts";
import { createNetworkCheck, createSourceAddress } from "./source-address.ts";

/** What the pages say and serve. */
export interface InstallPages {
  orchestrator: Pick<Orchestrator, "publicKey">;
  /** Folder that `npm run build:agent` filled; null: none. */
  agentDir: string | null;
  /** Where agents connect; null: at the host that was asked. */
  agentUrl: string | null;
  /** Where agents connect below that host. */
  agentPath: string;
  /** Whose `X-Forwarded-Proto` is believed. */
  trustedProxies: readonly string[];
  /** What downloads may take. Default `downloadLimits`. */
  downloadLimits?: DownloadLimits;
}

const notBuilt =
  "No agent was built on this server: `npm run build:agent` in a checkout makes it, and FLEETWRIGHT_AGENT_DIR names the folder.";

/** Mounts both. */
export function mountInstallPages(mount: PageMount, pages: InstallPages): void {
  const { mountPath } = mount;
  const isTrusted = createNetworkCheck(pages.trustedProxies);
  mountRead(mount, "/install.sh", async (event) => {
    const built = await readAgentArtifacts(pages.agentDir);
    const place = built && placeOf(event, { ...pages, mountPath, isTrusted });
    const text =
      built === null || place === null
        ? renderRefusal(notBuilt)
        : renderInstallScript({ ...place, ...built, orchestratorKey: toHex(pages.orchestrator.publicKey) });
    // What it says depends on how the server was called: nobody in between may keep it for others.
    return new Response(text, {
      headers: { "content-type": "text/x-shellscript; charset=utf-8", "cache-control": "no-store" },
    });
  });
  const downloads = new Downloads(pages.downloadLimits);
  const sourceAddress = createSourceAddress(pages.trustedProxies);
  mountRead(mount, "/agent/:platform", async (event) => {
    const built = await readAgentArtifacts(pages.agentDir);
    if (built === null) throw new OrchestratorError("NOT_FOUND", { message: notBuilt });
    const { platform } = event.context.params ?? {};
    const artifact = built.artifacts.find((each) => each.platform === platform);
    if (artifact === undefined) {
      const names = built.artifacts.map((each) => each.platform).join(", ");
      throw new OrchestratorError("NOT_FOUND", {
        message: `There is an agent for ${names}, and for nothing else.`,
      });
    }
    const { method, headers, ip = null } = event.req;
    const address = sourceAddress(ip, headers.get("x-forwarded-for") ?? undefined);
    const path = join(pages.agentDir ?? "", artifact.file);
    return downloads.answer({ method, headers, address }, { ...artifact, path });
  });
}

/** Where a machine that asked reaches the server: the address that was set, else the one that it used. */
function placeOf(
  event: H3Event,
  {
    agentUrl,
    agentPath,
    mountPath,
    isTrusted,
  }: InstallPages & { mountPath: string; isTrusted: (address: string | null) => boolean },
): { baseUrl: string; agentUrl: string } {
  if (agentUrl !== null) {
    const { origin, pathname } = new URL(agentUrl.replace(/^ws/, "http"));
    const below = /^(.*)\/agent\/v1\/?$/.exec(pathname)?.[1] ?? mountPath;
    return { baseUrl: origin + below, agentUrl };
  }
  const host = event.req.headers.get("host") ?? event.url.host;
  // It is written into a script that root runs.
  if (!isHost(host)) throw new OrchestratorError("VALIDATION_FAILED", { message: "The Host is none." });
  const scheme = isOverTls(event, isTrusted) ? "https" : "http";
  return {
    baseUrl: `${scheme}://${host}${mountPath}`,
    agentUrl: `${scheme.replace("http", "ws")}://${host}${agentPath}`,
  };
}

function isOverTls(event: H3Event, isTrusted: (address: string | null) => boolean): boolean {
  const socket = event.runtime?.node?.req.socket;
  if (socket === undefined) return event.url.protocol === "https:";
  if (socket instanceof TLSSocket) return true;
  const told = event.req.headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
  return isTrusted(socket.remoteAddress ?? null) && told === "https";
}
