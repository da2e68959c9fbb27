import { expect, test } from "vitest";
import { concatBytes, toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { orchestratorMessageSchema } from "../../lib/wire/messages.ts";
import { parseMessage } from "../../lib/wire/parse-json.ts";
import { signCommand, verifyCommand } from "../../lib/wire/signed-command.ts";
import { orchestratorExamples } from "./support/examples.ts";
import { agentSigner, codeOf, nodeId, orchestratorSigner } from "./support/peers.ts";

const peers = { orchestratorKey: orchestratorSigner.publicKey, nodeId };
const openCommand = (...[crypto, from, signed]: Parameters<typeof verifyCommand>) =>
  parseMessage(orchestratorMessageSchema, verifyCommand(crypto, from, signed));
const cancel = orchestratorExamples.find((message) => message.type === "cancel") ?? orchestratorExamples[0];
if (!cancel) throw new Error("no example");

test("a command is read by the agent that it was signed for", () => {
  expect(openCommand(nodeCrypto, peers, signCommand(orchestratorSigner, nodeId, cancel))).toEqual(cancel);
});

test.each([
  ["signed by another key", signCommand(agentSigner, nodeId, cancel)],
  ["signed for another agent", signCommand(orchestratorSigner, "0".repeat(32), cancel)],
  ["without a signature", toUtf8(JSON.stringify(cancel))],
  ["shorter than a signature", new Uint8Array(10)],
  ["nothing at all", new Uint8Array()],
  [
    "with the signature of the same text under another label",
    concatBytes(orchestratorSigner.sign(toUtf8(`fleetwright/1 agent\0${nodeId}\0{}`)), toUtf8("{}")),
  ],
])("refuses a command %s", (_, signed) => {
  expect(codeOf(() => openCommand(nodeCrypto, peers, signed))).toBe("SIGNATURE_INVALID");
});

test("refuses a command with any bit changed", () => {
  const signed = signCommand(orchestratorSigner, nodeId, cancel);
  for (let bit = 0; bit < signed.length * 8; bit += 7) {
    const changed = signed.slice();
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(codeOf(() => openCommand(nodeCrypto, peers, changed))).toBe("SIGNATURE_INVALID");
  }
});

test("refuses a well-signed command that this version does not know", () => {
  const signed = signCommand(orchestratorSigner, nodeId, { ...cancel, type: "dance" } as never);
  expect(codeOf(() => openCommand(nodeCrypto, peers, signed))).toBe("PROTOCOL_ERROR");
});
