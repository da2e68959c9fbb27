/** The example of a fleet folder, as a continuous integration uses it. */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { systemCaller, toHex } from "fleetwright";
import { createKeyFile } from "fleetwright/client/node";
import { startCommandLine } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const example = fileURLToPath(new URL("../../examples/fleet", import.meta.url));
const program = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

it("checks a change, shows what it would do, makes it, and finds what was changed by hand", async () => {
  const { server, key: admin } = await startCommandLine();
  const { orchestrator } = server;
  const folder = join(temporaryFolder(), "fleet");
  cpSync(example, folder, { recursive: true });
  const viewer = join(temporaryFolder(), "viewer");
  const { publicKey } = createKeyFile(viewer);
  await orchestrator.operators.add(systemCaller, { username: "ci", public_key: publicKey, role: "Viewer" });
  const bin = temporaryFolder();
  writeFileSync(join(bin, "fleetwright"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(bin, "fleetwright"), 0o755);
  const ci = (work: string, key: string): Promise<Ended> =>
    new Promise((resolve) => {
      const env = {
        PATH: `${bin}:${process.env["PATH"]}`,
        FLEETWRIGHT_HOME: temporaryFolder(),
        FLEETWRIGHT_URL: server.url,
        FLEET_KEY_FILE: key,
        FLEET_ORCHESTRATOR_KEY: toHex(orchestrator.publicKey),
      };
      execFile(join(folder, "ci.sh"), [work, folder], { env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  expect(await ci("check", "none")).toMatchObject({ code: 0 });
  const planned = await ci("plan", viewer);
  expect(planned.code).toBe(0);
  expect(planned.stdout).toContain("6 to create");
  const refused = await ci("apply", viewer);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("module base: FORBIDDEN");
  const applied = await ci("apply", admin);
  expect(applied).toMatchObject({ code: 0 });
  expect(applied.stdout).toContain("Done: 6 created");
  expect((await ci("drift", viewer)).code).toBe(0);

  await orchestrator.assignments.update(systemCaller, { name: "web", selector: "role=shop" });
  const drifted = await ci("drift", viewer);
  expect(drifted.code).toBe(3);
  expect(drifted.stdout).toContain('selector: "role=shop" -> "role=web"');

  const file = join(folder, "assignments.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("selector:", "selektor:"));
  const faulty = await ci("check", "none");
  expect(faulty.code).toBe(1);
  expect(faulty.stderr).toContain(
    'assignments.yaml:4:5: VALIDATION_FAILED assignments.web.selektor: "selektor" is not known here',
  );
}, 180_000);
