/** Version 3: the agent may bring an enrolment token. Versions 1 and 2 are as they were, byte for byte. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { toHex, toUtf8 } from "../../lib/crypto/encoding.ts";
import { createAgentHandshake, type AgentHandshakeOptions } from "../../lib/wire/agent-handshake.ts";
import type { Epoch } from "../../lib/wire/epoch.ts";
import { createOrchestratorHandshake } from "../../lib/wire/orchestrator-handshake.ts";
import { agentOptions, codeOf, establish, orchestratorOptions, orchestratorTime } from "./support/peers.ts";

const epoch: Epoch = { number: 1_893_456_000_001, id: "01b8dac6-40a0-7432-8e33-ef18f45fc15c" };
const enrolmentToken = `fwt_${"A1b-".repeat(10)}xyz`;
const followedEpoch = (): Epoch | null => null;
const knowing = { followedEpoch, enrolmentToken };

/** A handshake up to the end: the versions that were offered, the one that was agreed on, and who heard what of the token. */
function meet(agentChanges: Partial<AgentHandshakeOptions>, orchestratorKnows = true) {
  const agent = createAgentHandshake(agentOptions(agentChanges));
  const orchestrator = createOrchestratorHandshake(orchestratorOptions(orchestratorKnows ? { epoch } : {}));
  const hello = agent.hello();
  const welcome = orchestrator.receive(hello);
  if (welcome.kind !== "send") throw new Error("no welcome");
  const prove = agent.receive(welcome.frame);
  if (prove.kind !== "send") throw new Error("no proof");
  const proved = orchestrator.receive(prove.frame);
  if (proved.kind !== "proved") throw new Error("not proved");
  const accepted = agent.receive(orchestrator.accept("pending", orchestratorTime).frame);
  if (accepted.kind !== "accepted") throw new Error("not accepted");
  const { versions } = JSON.parse(hello) as { versions: number[] };
  const { version } = JSON.parse(welcome.frame) as { version: number };
  const heard = proved.agent.enrolment_token;
  return { versions, version, heard, sent: accepted.hasSentToken, frames: { hello, prove: prove.frame } };
}

describe("the enrolment token in the handshake", () => {
  test.each([
    ["both know tokens", knowing, true, { version: 3, heard: enrolmentToken, sent: true }],
    [
      "the agent has none",
      { followedEpoch },
      true,
      { versions: [2, 1], version: 2, heard: undefined, sent: false },
    ],
    [
      "the orchestrator is of an earlier version",
      knowing,
      false,
      { version: 1, heard: undefined, sent: false },
    ],
    [
      "no key is pinned",
      { ...knowing, pinnedKey: null },
      true,
      { versions: [2, 1], version: 2, heard: undefined, sent: false },
    ],
  ] as const)("where %s", (_, agent, orchestratorKnows, told) => {
    expect(meet(agent, orchestratorKnows)).toMatchObject(told);
  });

  test("of version 3 is what it was when it was first written", () => {
    const { frames } = establish({ agent: knowing, orchestrator: { epoch } });
    const made = Object.fromEntries(
      Object.entries(frames).map(([name, frame]) => [name, typeof frame === "string" ? frame : toHex(frame)]),
    );
    const path = new URL("./golden/v3/handshake.json", import.meta.url);
    if (!existsSync(path) && process.env["FLEETWRIGHT_WRITE_GOLDEN"] === "1")
      writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`);
    expect(made).toEqual(JSON.parse(readFileSync(path, "utf8")));
  });

  test("is in no frame in the clear", () => {
    const { frames } = meet(knowing);
    expect(frames.hello).not.toContain(enrolmentToken);
    expect(toHex(frames.prove)).not.toContain(toHex(toUtf8(enrolmentToken)));
  });

  test("is not sent to an orchestrator that proves another key than the pinned one", () => {
    const agent = createAgentHandshake(agentOptions({ ...knowing, pinnedKey: new Uint8Array(32).fill(7) }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch }));
    const welcome = orchestrator.receive(agent.hello());
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "ORCHESTRATOR_KEY_CHANGED",
    );
  });

  test("is not sent to one that only names the pinned key", () => {
    const agent = createAgentHandshake(agentOptions(knowing));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch }));
    const welcome = orchestrator.receive(agent.hello());
    const forged = JSON.parse(welcome.kind === "send" ? welcome.frame : "{}") as { signature: string };
    const frame = JSON.stringify({ ...forged, signature: "0".repeat(128) });
    expect(codeOf(() => agent.receive(frame))).toBe("SIGNATURE_INVALID");
  });

  test.each([
    ["the longest, of no form", "x".repeat(256), undefined],
    ["one that is longer", "x".repeat(257), "PROTOCOL_ERROR"],
    ["one that is empty", "", "PROTOCOL_ERROR"],
  ])("is read or refused: %s", (_, token, code) => {
    const agent = createAgentHandshake(agentOptions({ ...knowing, enrolmentToken: token }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch }));
    const welcome = orchestrator.receive(agent.hello());
    const prove = welcome.kind === "send" ? agent.receive(welcome.frame) : null;
    const outcome = codeOf(() => orchestrator.receive(prove?.kind === "send" ? prove.frame : ""));
    if (code !== undefined) expect(outcome).toBe(code);
    else expect(outcome).toMatchObject({ kind: "proved", agent: { enrolment_token: token } });
  });

  test("can't be had by whoever is between and brings the versions down", () => {
    const agent = createAgentHandshake(agentOptions(knowing));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch }));
    const hello = JSON.stringify({ ...(JSON.parse(agent.hello()) as object), versions: [2] });
    const welcome = orchestrator.receive(hello);
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "SIGNATURE_INVALID",
    );
  });
});
