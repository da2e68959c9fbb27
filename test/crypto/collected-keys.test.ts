/** Keys are made while memory is cleaned up: Node 20 stood still for ever where it exported one that it had just generated. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const built = new URL("../../dist/", import.meta.url);
const program = (lines: string): string => `
  import { mkdtempSync, rmSync } from "node:fs";
  import { tmpdir } from "node:os";
  import { join } from "node:path";
  const { nodeCrypto } = await import(${JSON.stringify(new URL("lib/crypto/node-crypto.js", built).href)});
  const { createKeyFile } = await import(${JSON.stringify(new URL("adapters/client/node-signer.js", built).href)});
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  for (let n = 0; n < 1000; n += 1) {
    ${lines}
  }
  rmSync(folder, { recursive: true });
  console.log("made");
`;

it.each([
  ["signing keys", "nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);"],
  [
    "exchange keys",
    "const pair = nodeCrypto.createExchangeKeyPair(); nodeCrypto.exchange(pair.secretKey, pair.publicKey);",
  ],
  ["key files", "if (n % 4 === 0) createKeyFile(join(folder, String(n)));"],
])(
  "%s are made whenever memory is cleaned up",
  (_what, lines) => {
    for (const interval of [13, 50]) {
      const options = [`--gc-interval=${interval}`, "--input-type=module", "-e", program(lines)];
      const run = spawnSync(process.execPath, options, {
        cwd: fileURLToPath(built),
        encoding: "utf8",
        timeout: 30_000,
      });
      expect([run.signal, run.stdout, run.stderr]).toEqual([null, "made\n", ""]);
    }
  },
  120_000,
);
