/** A client that openapi-typescript makes of the served description: what any program in TypeScript can have. */
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { repository } from "../../architecture/source-tree.ts";
import { serve, type TestServer } from "../../support/server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const program = `import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

type Signer = { publicKey: string; sign(message: string): string };

export async function run(url: string, signer: Signer) {
  const client = createClient<paths>({ baseUrl: url + "/api/v1" });
  const challenge = await client.POST("/auth/challenge", { body: { public_key: signer.publicKey } });
  if (!challenge.data) throw new Error(challenge.error.detail);
  const { challenge_id, message } = challenge.data;
  const body = { challenge_id, signature: signer.sign(message) };
  const session = await client.POST("/auth/verify", { body });
  if (!session.data) throw new Error(session.error.detail);
  const role: "Viewer" | "Operator" | "Admin" = session.data.operator.role;
  const headers = { authorization: \`Bearer \${session.data.token}\` };

  const before = await client.GET("/agents", { headers, params: { query: { limit: 10, status: "pending" } } });
  const agents: components["schemas"]["Agent"][] = before.data?.items ?? [];
  const content = "name: web\\nresources:\\n  - { type: file, path: /etc/web, content: hi }\\n";
  const uploaded = await client.POST("/modules", { headers, body: { content } });
  const revision: number | undefined = uploaded.data?.revision;
  const refused = await client.POST("/modules", { headers, body: { content: "name: web\\nresources: 5\\n" } });
  const problem: components["schemas"]["Problem"] | undefined = refused.error;
  const missing = await client.GET("/modules/{name}", { headers, params: { path: { name: "none" } } });
  return { role, agents, revision, problem, missing: missing.error?.code };
}
`;

it("compiles under strict flags and talks to a server", async () => {
  await using product = await createTestOrchestrator();
  await using server = await serve(product.orchestrator);
  const folder = await generate(server, program);
  expect(typeErrors(join(folder, "program.ts"))).toEqual([]);

  const key = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const publicKey = toHex(key.publicKey);
  await product.orchestrator.operators.add(systemCaller, { username: "ada", public_key: publicKey });
  const { run } = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "program.ts")).href)) as {
    run(url: string, signer: object): Promise<object>;
  };
  const sign = (message: string): string => toHex(key.sign(new TextEncoder().encode(message)));
  expect(await run(server.url, { publicKey, sign })).toMatchObject({
    role: "Operator",
    agents: [],
    revision: 1,
    problem: { status: 400, code: "MODULE_INVALID", errors: [{ line: 2, message: expect.any(String) }] },
    missing: "NOT_FOUND",
  });
}, 600_000);

it("does not compile where it says what the description does not know", async () => {
  await using product = await createTestOrchestrator();
  await using server = await serve(product.orchestrator);
  const wrong = program.replace('"pending"', '"unheard"').replace('"/modules/{name}"', '"/module/{name}"');
  const folder = await generate(server, wrong);
  expect(typeErrors(join(folder, "program.ts")).length).toBeGreaterThanOrEqual(2);
}, 600_000);

/** A folder with the client that the server's description gives, and a program that uses it. */
async function generate(server: TestServer, text: string): Promise<string> {
  const folder = temporaryFolder();
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  const description = await server.call({ path: "/api/v1/openapi.json" });
  writeFileSync(join(folder, "api.ts"), astToString(await openapiTypescript(description.text)));
  writeFileSync(join(folder, "program.ts"), text);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

/** What the compiler says of a program under the flags of this repository, without leaving out declarations. */
function typeErrors(path: string): string[] {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  const compiled = ts.createProgram([path], {
    ...options,
    rootDir: "/",
    skipLibCheck: false,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    types: [],
  });
  return ts
    .getPreEmitDiagnostics(compiled)
    .map(
      (diagnostic) =>
        `${diagnostic.file?.fileName.split("/").at(-1)}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`,
    );
}
