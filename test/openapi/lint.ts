/** Writes the OpenAPI description to a temporary file and has Redocly judge it: `npm run check:openapi`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { appRouter } from "../../adapters/trpc/router.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "fleetwright-openapi-"));
try {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(await createOpenApiDocument(appRouter), null, 2));
  const redocly = at("../../node_modules/@redocly/cli/bin/cli.js");
  const options = ["lint", file, "--config", at("redocly.yaml")];
  const { status } = spawnSync(process.execPath, [redocly, ...options], {
    stdio: "inherit",
    // It judges a file: nothing of that needs the network.
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
