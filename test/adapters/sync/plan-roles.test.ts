/** What a plan of a fleet folder shows of values that are secret: to each role as much as it may see. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createClient, type Client } from "fleetwright/client";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { applyPlan } from "../../../adapters/sync/apply-plan.ts";
import { planFolder } from "../../../adapters/sync/plan-folder.ts";
import { startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { clientOf, makeFolder, putFile } from "../../support/fleet-folder.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const assignmentOf = (token: string, size: number): string =>
  `assignments:\n  web:\n    selector: role=web\n    modules: [web]\n    params: { token: ${token}, size: ${size} }\n`;

const folderTexts = {
  "fleet.yaml": "label: shop\n",
  "modules/web.yaml":
    "name: web\nparams:\n  token: { type: string, sensitive: true }\n  size: { type: integer }\nresources: []\n",
  "assignments.yaml": assignmentOf("one", 1),
};

async function signIn({ server }: CommandLine, role: "Viewer" | "Operator" | "Admin"): Promise<Client> {
  const key = join(temporaryFolder(), "key");
  const { publicKey: public_key } = createKeyFile(key);
  await server.orchestrator.operators.add(systemCaller, { username: role.toLowerCase(), public_key, role });
  return createClient({ url: server.url, signer: readSigner(key) });
}

it.each([
  ["Viewer", false],
  ["Operator", true],
  ["Admin", true],
] as const)(
  "a plan of one with the role %s is made, and shows that a secret value differs: %s",
  async (role, seesSecrets) => {
    const line = await startCommandLine();
    const folder = makeFolder(folderTexts);
    const asked = { takeOver: false, prune: true, allowEmpty: false };
    const admin = clientOf(line);
    const { failed } = await applyPlan(admin, await planFolder(admin, folder, asked), {
      prune: true,
      onDone: () => {},
    });
    expect(failed).toBeNull();
    const client = await signIn(line, role);
    const planned = async (): Promise<string[]> => {
      const { steps, faults } = await planFolder(client, folder, asked);
      expect(faults).toEqual([]);
      return steps.map(({ action, kind, name }) => `${action} ${kind} ${name}`);
    };
    expect(await planned()).toEqual([]);
    putFile(folder, "assignments.yaml", assignmentOf("two", 1));
    expect(await planned()).toEqual(seesSecrets ? ["change assignments web"] : []);
    putFile(folder, "assignments.yaml", assignmentOf("one", 2));
    expect(await planned()).toEqual(["change assignments web"]);
  },
);
