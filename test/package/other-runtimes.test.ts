/**
 * `createOrchestratorApp(...).fetch` of the built package on Bun and Deno: where `FLEETWRIGHT_BUN` and `FLEETWRIGHT_DENO` name their
 * programs, which the npm packages `bun` and `deno` have.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packedProject } from "../support/packed-project.ts";

const runtimes = [
  { name: "Node", program: process.execPath, options: [] },
  { name: "Bun", program: process.env["FLEETWRIGHT_BUN"], options: ["run"] },
  { name: "Deno", program: process.env["FLEETWRIGHT_DENO"], options: ["run", "--allow-all"] },
];

const program = `
import { MemoryStorage, MemoryTransport, Orchestrator } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createBrowserKey, createBrowserSigner } from "fleetwright/client/browser";
import { createOrchestratorApp } from "fleetwright/h3";

const key = await createBrowserKey();
const orchestrator = new Orchestrator({
  storage: new MemoryStorage(),
  transport: new MemoryTransport(),
  adminPublicKeys: [key.publicKey],
});
await orchestrator.start();
const app = createOrchestratorApp({ orchestrator });
const url = "http://localhost";
const statuses = {};
for (const path of ["/livez", "/readyz", "/docs", "/api/v1/openapi.json", "/api/v1/agents", "/nothing"]) {
  const response = await app.fetch(new Request(url + path));
  await response.arrayBuffer();
  statuses[path] = response.status;
}
const client = createClient({ url, signer: createBrowserSigner(key), fetch: (to, init) => app.fetch(new Request(to, init)) });
const text = "name: motd\\nresources:\\n  - type: file\\n    path: /etc/motd\\n    content: '{{ tags.site }}'\\n";
const events = client.events.stream({ types: ["module.*"] });
await events.next();
const module = await client.modules.upload({ content: text });
const { value: told } = await events.next();
await events.return();
const { items } = await client.modules.list();
await orchestrator.stop();
console.log(JSON.stringify({ statuses, streamed: told.event.event_type, uploaded: module.name, listed: items.map(({ name }) => name) }));
`;

for (const { name, program: runtime, options } of runtimes) {
  const reason =
    runtime === undefined ? ` (skipped: FLEETWRIGHT_${name.toUpperCase()} names no program)` : "";
  it.skipIf(runtime === undefined)(
    `serves operators through fetch on ${name}${reason}`,
    { timeout: 300_000 },
    () => {
      const folder = packedProject();
      writeFileSync(join(folder, "main.js"), program);
      const printed = execFileSync(runtime!, [...options, "main.js"], { cwd: folder, encoding: "utf8" });
      expect(JSON.parse(printed)).toEqual({
        statuses: {
          "/livez": 200,
          "/readyz": 200,
          "/docs": 200,
          "/api/v1/openapi.json": 200,
          "/api/v1/agents": 401,
          "/nothing": 404,
        },
        streamed: "module.uploaded",
        uploaded: "motd",
        listed: ["motd"],
      });
    },
  );
}
