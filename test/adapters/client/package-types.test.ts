/** The types of the package as it is published, for a project that is as strict as we are and checks declarations, too. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { repository } from "../../architecture/source-tree.ts";
import { packedProject } from "../../support/packed-project.ts";

const program = `import { createTRPCClient, httpBatchLink, type TRPCClient } from "@trpc/client";
import { MemoryStorage, Orchestrator, SocketTransport } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { ApiError, createClient } from "fleetwright/client";
import { createBrowserKey, createBrowserSigner } from "fleetwright/client/browser";
import { createKeyFile } from "fleetwright/client/node";
import { createOrchestratorApp } from "fleetwright/h3";
import type { AppRouter } from "fleetwright/trpc";

export const transport = new SocketTransport();
export const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport });
export const app = createOrchestratorApp({ orchestrator, transport, mountPath: "/fleet" });
export const client = createClient({ url: "http://127.0.0.1:4748", signer: createKeyFile("key.pem") });
export const trpc: TRPCClient<AppRouter> = createTRPCClient<AppRouter>({
  links: [httpBatchLink({ url: "http://127.0.0.1:4748/trpc" })],
});
export const agent = createAgent({ url: "ws://127.0.0.1:4748/agent/v1", stateDir: "state" });
export async function run() {
  const signer = createBrowserSigner(await createBrowserKey());
  const { items } = await trpc.modules.list.query({ limit: 10 });
  const found = await client.agents.get("0".repeat(32));
  // @ts-expect-error There is no such filter.
  await client.agents.list({ selektor: "role=web" });
  await client.state.apply(found.node_id, { when_offline: "queue", expires_in_seconds: 60 });
  const status: "pending" | "approved" | "rejected" = found.status;
  // @ts-expect-error A module has no such field.
  const none = items[0]?.colour;
  return { signer, items, status, none, version: found.version, isRefusal: (error: unknown) => error instanceof ApiError };
}
`;

it("type-checks in a project of its own, declarations included", () => {
  const folder = packedProject();
  writeFileSync(join(folder, "program.ts"), program);
  expect(typeErrors(join(folder, "program.ts"))).toEqual([]);
}, 120_000);

function typeErrors(path: string): string[] {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  const checked = ts.createProgram([path], {
    ...options,
    rootDir: "/",
    skipLibCheck: false,
    declaration: true,
    preserveSymlinks: true,
    typeRoots: [join(repository, "node_modules/@types")],
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  });
  const found = [...ts.getPreEmitDiagnostics(checked), ...checked.getDeclarationDiagnostics()];
  return found
    .filter(({ file }) => !withFaults.some((name) => file?.fileName.includes(`/node_modules/${name}/`)))
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.split("node_modules/").at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
}

/** Packages whose own declarations do not compile under these flags: h3's errors (`fleetwright/h3`; with `exactOptionalPropertyTypes`, or a `lib` before `esnext`). */
const withFaults = ["h3"];
