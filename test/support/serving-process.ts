/** A server in a process of its own, with one large module. Tells its port and the token of an Admin on one line. */
import { createOrchestratorApp } from "../../adapters/h3/orchestrator-app.ts";
import { listenApp } from "../../adapters/h3/serve.ts";
import { systemCaller } from "../../lib/index.ts";
import { createTestOrchestrator } from "../../lib/testing/index.ts";

/** What the process tells when it listens. */
export interface Serving {
  port: number;
  token: string;
}

const { orchestrator, transport, signIn } = await createTestOrchestrator();
const content = `name: large\nresources: []\n#${"x".repeat(500_000)}\n`;
await orchestrator.modules.upload(systemCaller, { content });
const { token } = await signIn("Admin");
const { port } = await listenApp(createOrchestratorApp({ orchestrator, transport }), { port: 0 });
process.stdout.write(`${JSON.stringify({ port, token } satisfies Serving)}\n`);
