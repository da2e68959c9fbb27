/** The script of `GET /install.sh`, for a shell that runs parts of it on folders of a test. */
import { renderInstallScript } from "../../adapters/h3/install-script.ts";

/** The key of the orchestrator in it. */
export const orchestratorKey = "0123456789abcdef".repeat(4);
/** Where the agent connects. */
export const agentUrl = "wss://fleet.example/agent/v1";

/** The script, as a server with one artifact answers it. */
export function renderedScript(url: string = agentUrl): string {
  return renderInstallScript({
    baseUrl: "https://fleet.example",
    agentUrl: url,
    orchestratorKey,
    version: "1.2.3",
    artifacts: [{ platform: "linux-x64", file: "a", sha256: "b".repeat(64), size: 1 }],
  });
}

/** The script with a folder of a test for its settings, and something else in place of what it does. */
export function scriptOf(etc: string, does: string, url?: string): string {
  return renderedScript(url).replace("etc=/etc/fleetwright-agent", `etc='${etc}'`).replace('main "$@"', does);
}
